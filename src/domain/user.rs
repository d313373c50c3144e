//! People who sign in: the operator's staff and members of businesses, what each may do, and what is asked of a
//! password. Pure; how passwords and sessions are kept is `store`'s, how tries are counted `ops::people`'s.
//!
//! Pages name rights, never roles: which role has which right is told here alone.

use super::time::Span;

/// A sign-in that nobody uses ends after this.
pub const SESSION_IDLE: Span = Span::minutes(30);
/// A sign-in ends after this, however it is used.
pub const SESSION_LIFE: Span = Span::hours(12);
/// So long after the password was asked for, keys, payouts, the team and the like ask for it again.
pub const CHECK_LIFE: Span = Span::minutes(10);
/// Between the password and the code.
pub const CODE_STAGE: Span = Span::minutes(10);
/// Between what a passkey is asked and its answer.
pub const CHALLENGE_LIFE: Span = Span::minutes(5);
/// Passkeys of one user.
pub const PASSKEYS_MAX: usize = 20;
/// A link to a first password.
pub const WELCOME_LIFE: Span = Span::hours(72);
/// A link to a new password that somebody asked for himself.
pub const FORGOT_LIFE: Span = Span::hours(1);
/// A link that opens a business which somebody registered.
pub const REGISTRATION_LIFE: Span = Span::hours(24);
/// Characters of a password.
pub const PASSWORD_MIN: usize = 12;
pub const PASSWORD_MAX: usize = 256;
/// A password that is found within so many guesses is among the commonest, or made of one of them.
const COMMON_GUESSES: u64 = 1_000_000;
/// Characters of an e-mail address, RFC 5321 4.5.3.1.
const EMAIL_MAX: usize = 254;
const LOCAL_MAX: usize = 64;
/// A first part of an e-mail address this long makes a password that holds it easy to guess.
const TELLING_LOCAL: usize = 5;

/// The operator's people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StaffRole {
    Admin,
    Reviewer,
    Viewer,
}

/// People of a business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberRole {
    Owner,
    Developer,
    Finance,
    Cashier,
    Viewer,
}

/// What somebody of the staff may do at the operator's desk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StaffRight {
    /// Look at everything but people.
    Look,
    /// Decide alerts, payments, wallets, webhooks.
    Decide,
    /// Users, businesses, charges, accounts, payouts.
    Administer,
}

/// What a member may do in the dashboard of a business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberRight {
    /// The first page, which says what is there for whom.
    Enter,
    /// The till alone.
    UseTill,
    /// The overview and payments.
    ReadPayments,
    /// New payments and corrected amounts.
    WritePayments,
    /// Balance, statement, payouts, exports.
    ReadMoney,
    /// Ask for a payout.
    AskPayout,
    /// Where payouts go to.
    SetPayoutAccounts,
    /// Keys, websites, webhooks, refused requests.
    Integrate,
    /// Look at webhooks.
    ReadWebhooks,
    /// Members and what they did, settings.
    Manage,
}

impl StaffRole {
    pub const ALL: [StaffRole; 3] = [StaffRole::Admin, StaffRole::Reviewer, StaffRole::Viewer];

    pub fn as_str(self) -> &'static str {
        match self {
            StaffRole::Admin => "admin",
            StaffRole::Reviewer => "reviewer",
            StaffRole::Viewer => "viewer",
        }
    }

    pub fn parse(word: &str) -> Option<StaffRole> {
        StaffRole::ALL.into_iter().find(|role| role.as_str() == word)
    }

    pub fn may(self, right: StaffRight) -> bool {
        match right {
            StaffRight::Look => true,
            StaffRight::Decide => matches!(self, StaffRole::Admin | StaffRole::Reviewer),
            StaffRight::Administer => self == StaffRole::Admin,
        }
    }
}

impl StaffRight {
    /// Who has it, for a person who has not.
    pub fn roles(self) -> Vec<&'static str> {
        StaffRole::ALL.into_iter().filter(|role| role.may(self)).map(StaffRole::as_str).collect()
    }
}

impl MemberRole {
    pub const ALL: [MemberRole; 5] = [
        MemberRole::Owner,
        MemberRole::Developer,
        MemberRole::Finance,
        MemberRole::Cashier,
        MemberRole::Viewer,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            MemberRole::Owner => "owner",
            MemberRole::Developer => "developer",
            MemberRole::Finance => "finance",
            MemberRole::Cashier => "cashier",
            MemberRole::Viewer => "viewer",
        }
    }

    pub fn parse(word: &str) -> Option<MemberRole> {
        MemberRole::ALL.into_iter().find(|role| role.as_str() == word)
    }

    pub fn may(self, right: MemberRight) -> bool {
        use MemberRight as R;
        use MemberRole as M;
        match right {
            R::Enter => true,
            R::UseTill => matches!(self, M::Owner | M::Finance | M::Cashier),
            R::ReadPayments => self != M::Cashier,
            R::WritePayments | R::AskPayout => matches!(self, M::Owner | M::Finance),
            R::ReadMoney => matches!(self, M::Owner | M::Finance | M::Viewer),
            R::SetPayoutAccounts | R::Manage => self == M::Owner,
            R::Integrate => matches!(self, M::Owner | M::Developer),
            R::ReadWebhooks => !matches!(self, M::Cashier),
        }
    }
}

impl MemberRight {
    /// Who has it, for a person who has not.
    pub fn roles(self) -> Vec<&'static str> {
        MemberRole::ALL.into_iter().filter(|role| role.may(self)).map(MemberRole::as_str).collect()
    }
}

/// What is wrong with a new password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordProblem {
    #[error("use at least {PASSWORD_MIN} characters")]
    Short,
    #[error("use at most {PASSWORD_MAX} characters")]
    Long,
    #[error("this password is among those that are tried first; make it longer or less usual")]
    Common,
    #[error("the password must not be your e-mail address or a part of it")]
    Email,
}

/// Checks a new password of somebody with this e-mail address.
pub fn check_password(password: &str, email: &str) -> Result<(), PasswordProblem> {
    let length = password.chars().count();
    if length < PASSWORD_MIN {
        return Err(PasswordProblem::Short);
    }
    if length > PASSWORD_MAX {
        return Err(PasswordProblem::Long);
    }
    let (lower, local) = (password.to_lowercase(), email.split('@').next().unwrap_or_default());
    let is_of_email = lower.contains(email)
        || local.chars().count() >= TELLING_LOCAL && lower.contains(local)
        || email.contains(&lower);
    if is_of_email {
        return Err(PasswordProblem::Email);
    }
    // Longer than anybody guesses: what is repeated in it is found in its beginning.
    let beginning: String = password.chars().take(64).collect();
    match zxcvbn::zxcvbn(&beginning, &[email, local]).guesses() < COMMON_GUESSES {
        true => Err(PasswordProblem::Common),
        false => Ok(()),
    }
}

/// An e-mail address as it is kept: lower case, so that one person is one user. `None` if it is none that mail can be
/// sent to: one `@`, a host with a dot or `localhost`, no space, no control character, ASCII alone.
pub fn normal_email(text: &str) -> Option<String> {
    let text = text.trim();
    let (local, host) = text.split_once('@')?;
    let is_local = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c);
    let is_host = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let is_label = |label: &str| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-');
    let is_good = text.len() <= EMAIL_MAX
        && (1..=LOCAL_MAX).contains(&local.len())
        && local.chars().all(is_local)
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !local.contains("..")
        && host.chars().all(is_host)
        && host.split('.').all(is_label)
        && (host.contains('.') || host == "localhost");
    is_good.then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL_RIGHTS: [MemberRight; 10] = [
        MemberRight::Enter,
        MemberRight::UseTill,
        MemberRight::ReadPayments,
        MemberRight::WritePayments,
        MemberRight::ReadMoney,
        MemberRight::AskPayout,
        MemberRight::SetPayoutAccounts,
        MemberRight::Integrate,
        MemberRight::ReadWebhooks,
        MemberRight::Manage,
    ];

    #[test]
    fn staff_do_what_their_role_says() {
        let may = |role: StaffRole| {
            [StaffRight::Look, StaffRight::Decide, StaffRight::Administer].map(|right| role.may(right))
        };
        assert_eq!(may(StaffRole::Admin), [true, true, true]);
        assert_eq!(may(StaffRole::Reviewer), [true, true, false]);
        assert_eq!(may(StaffRole::Viewer), [true, false, false]);
        assert_eq!(StaffRight::Decide.roles(), ["admin", "reviewer"]);
    }

    #[test]
    fn members_do_what_their_role_says() {
        use MemberRight as R;
        for (role, rights) in [
            (MemberRole::Owner, ALL_RIGHTS.into()),
            (MemberRole::Developer, vec![R::Enter, R::ReadPayments, R::Integrate, R::ReadWebhooks]),
            (
                MemberRole::Finance,
                vec![
                    R::Enter,
                    R::UseTill,
                    R::ReadPayments,
                    R::WritePayments,
                    R::ReadMoney,
                    R::AskPayout,
                    R::ReadWebhooks,
                ],
            ),
            (MemberRole::Cashier, vec![R::Enter, R::UseTill]),
            (MemberRole::Viewer, vec![R::Enter, R::ReadPayments, R::ReadMoney, R::ReadWebhooks]),
        ] {
            let has: Vec<R> = ALL_RIGHTS.into_iter().filter(|right| role.may(*right)).collect();
            assert_eq!(has, rights, "{role:?}");
            assert_eq!(MemberRole::parse(role.as_str()), Some(role));
        }
        assert_eq!(R::Manage.roles(), ["owner"]);
        assert_eq!(MemberRole::parse("admin"), None);
    }

    #[test]
    fn passwords_are_long_unusual_and_not_the_e_mail() {
        let of = |password: &str| check_password(password, "halima.garba@kudu.example");
        assert_eq!(of("elevenchars"), Err(PasswordProblem::Short));
        assert_eq!(of("Ọ̀ṣun river "), Ok(()), "characters are counted, not bytes");
        assert_eq!(of(&"ab1-".repeat(65)), Err(PasswordProblem::Long));
        for common in [
            "password1234",
            "Password123!",
            "qwertyuiop12",
            "111111111111",
            "aaaaaaaaaaaaaaa",
            "123456789012",
        ] {
            assert_eq!(of(common), Err(PasswordProblem::Common), "{common}");
        }
        for own in ["halima.garba@kudu.example", "halima.garba2026", "HALIMA.GARBA!!", "garba@kudu.example"] {
            assert_eq!(of(own), Err(PasswordProblem::Email), "{own}");
        }
        assert_eq!(
            check_password("adaobi-sells-yam", "ada@kudu.example"),
            Ok(()),
            "three letters tell nothing"
        );
        for good in ["correct horse battery", "Yam7!lagoon-kite", "seventeen goats walk"] {
            assert_eq!(of(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn an_e_mail_address_is_one_person_whatever_its_case() {
        assert_eq!(normal_email(" Halima.Garba@Kudu.Example ").as_deref(), Some("halima.garba@kudu.example"));
        assert_eq!(normal_email("till+1@localhost").as_deref(), Some("till+1@localhost"));
        for wrong in [
            "",
            "a",
            "@b.c",
            "a@",
            "a@b",
            "a b@c.d",
            "a@b..c",
            "a@-b.c",
            ".a@b.c",
            "a.@b.c",
            "a..b@c.d",
            "a@b@c.d",
            "ä@b.c",
            "a@b.c\r\nBcc: x@y.z",
            "a@b_c.d",
        ] {
            assert_eq!(normal_email(wrong), None, "{wrong}");
        }
        assert_eq!(normal_email(&format!("{}@b.c", "a".repeat(65))), None);
    }
}
