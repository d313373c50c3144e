//! What the address of a look asks for: the form for a code, the question before cancelling, or the sealed
//! result of another form (`outcome`).
//!
//! Forms redirect there with 303, so that the back button sends none of them again.

use url::form_urlencoded;

/// Fields of an address that are read; messengers append some of their own.
const LOOK_FIELDS_MAX: usize = 16;

/// The part of a link that a look asks for. Whoever wrote the address, the page shows only what is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    Payment,
    /// The form for a code that was sent, if there is one.
    Code,
    /// Whether to cancel, if it can be cancelled.
    Cancel,
}

/// The field of an address that holds the result of a form.
const TOLD: &str = "told";

/// The query of an address that tells it.
pub fn telling(sealed: &str) -> String {
    format!("?{TOLD}={sealed}")
}

/// What the address tells, unchecked: whether it is ours is not known here.
pub fn told(query: Option<&str>) -> Option<String> {
    let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    pairs.take(LOOK_FIELDS_MAX).find(|(name, _)| name == TOLD).map(|(_, value)| value.into_owned())
}

impl Look {
    pub fn of(query: Option<&str>) -> Look {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let known = pairs.take(LOOK_FIELDS_MAX).find_map(|(name, value)| match (&*name, &*value) {
            ("code", "1") => Some(Look::Code),
            ("cancel", "1") => Some(Look::Cancel),
            _ => None,
        });
        known.unwrap_or(Look::Payment)
    }

    pub fn query(self) -> &'static str {
        match self {
            Look::Payment => "",
            Look::Code => "?code=1",
            Look::Cancel => "?cancel=1",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_asks_for_what_is_known() {
        for (query, look) in [
            ("", Look::Payment),
            ("cancel=1", Look::Cancel),
            ("fbclid=x&code=1", Look::Code),
            ("cancel=sure", Look::Payment),
            ("code", Look::Payment),
        ] {
            assert_eq!(Look::of(Some(query)), look, "{query}");
        }
        assert_eq!(Look::of(None), Look::Payment);
        for look in [Look::Code, Look::Cancel] {
            assert_eq!(Look::of(look.query().strip_prefix('?')), look);
        }
        assert_eq!(told(telling("aB-_9").strip_prefix('?')).as_deref(), Some("aB-_9"));
        assert_eq!(told(Some("fbclid=x&told=y&told=z")).as_deref(), Some("y"));
        assert_eq!((told(Some("code=1")), told(None)), (None, None));
    }
}
