//! Of which business a page is, and whether it shows live or test data: the address says it, and links go on saying it.
//!
//! A business that is not the user's is told like one that there is not.

use super::layout::link;
use crate::domain::merchant::Mode;
use crate::domain::user::MemberRight;
use crate::ops::people::sessions::AtBusiness;

/// The business of a page, with the user's place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    pub at: AtBusiness,
    /// The user's other businesses.
    pub others: Vec<AtBusiness>,
    pub mode: Mode,
}

impl Here {
    /// What the address's `business` and `mode` choose among the businesses of a user; the first where it names none.
    /// `None`: there is no such business among them.
    pub fn choose(all: Vec<AtBusiness>, business: Option<&str>, mode: Option<&str>) -> Option<Here> {
        let wanted = match business {
            Some(text) => Some(text.parse::<i64>().ok()?),
            None => None,
        };
        let is_meant = |one: &AtBusiness| wanted.is_none_or(|id| id == one.business_id);
        let place = all.iter().position(is_meant)?;
        let mut others = all;
        let at = others.remove(place);
        // Of one that waits for the operator there are test data alone, until somebody asks for others.
        let usual = if at.is_live { Mode::Live } else { Mode::Test };
        let mode = mode.and_then(Mode::parse).unwrap_or(usual);
        Some(Here { at, others, mode })
    }

    pub fn id(&self) -> i64 {
        self.at.business_id
    }

    pub fn may(&self, right: MemberRight) -> bool {
        self.at.may(right)
    }

    pub fn is_test(&self) -> bool {
        self.mode == Mode::Test
    }

    /// New payments and corrected amounts: whoever tries the programs out may make test payments too.
    pub fn may_write_payments(&self) -> bool {
        self.may(MemberRight::WritePayments) || (self.is_test() && self.may(MemberRight::Integrate))
    }

    /// The address of a page of this business, in the same mode.
    pub fn link(&self, path: &str, query: &[(&str, &str)]) -> String {
        self.link_in(self.mode, path, query)
    }

    /// The same in a mode.
    pub fn link_in(&self, mode: Mode, path: &str, query: &[(&str, &str)]) -> String {
        let id = self.id().to_string();
        let is_told = mode == Mode::Test || !self.at.is_live;
        let mode = if is_told { mode.as_str() } else { "" };
        link(path, &[&[("business", id.as_str()), ("mode", mode)], query].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::user::MemberRole;

    fn at(business_id: i64, role: MemberRole) -> AtBusiness {
        AtBusiness { business_id, business: format!("Shop {business_id}"), role, is_live: business_id != 9 }
    }

    #[test]
    fn the_address_chooses_among_ones_own_alone() {
        let all = || vec![at(3, MemberRole::Owner), at(7, MemberRole::Developer)];
        let here = Here::choose(all(), None, None).unwrap();
        assert_eq!((here.id(), here.others.len(), here.mode), (3, 1, Mode::Live));
        let waits = || vec![at(9, MemberRole::Owner)];
        let here = Here::choose(waits(), None, None).unwrap();
        assert_eq!((here.mode, here.link("/x", &[])), (Mode::Test, "/x?business=9&mode=test".into()));
        let here = Here::choose(waits(), None, Some("live")).unwrap();
        assert_eq!((here.mode, here.link("/x", &[])), (Mode::Live, "/x?business=9&mode=live".into()));
        let here = Here::choose(all(), Some("7"), Some("test")).unwrap();
        assert_eq!((here.id(), here.others[0].business_id, here.mode), (7, 3, Mode::Test));
        assert_eq!(here.link("/x", &[("q", "a b")]), "/x?business=7&mode=test&q=a+b");
        assert!(here.may_write_payments(), "in test mode");
        for other in ["4", "", "x", "-1", "99999999999999999999"] {
            assert_eq!(Here::choose(all(), Some(other), None), None, "{other}");
        }
        assert_eq!(Here::choose(Vec::new(), None, None), None);
        let live = Here::choose(all(), Some("7"), Some("live")).unwrap();
        assert!(!live.may_write_payments());
        assert_eq!(live.link("/x", &[]), "/x?business=7");
    }
}
