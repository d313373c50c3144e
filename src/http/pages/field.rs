//! Forms and their fields: labels, hints, errors beside the field, what was typed kept. A password and a code are
//! never written back.
//!
//! Ids are made of the form's id and the field's name, so that two forms on one page do not meet.

use askama::Template;
use askama::filters::HtmlSafe;

use super::text::Text;

/// What is typed into a field, or chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Email,
    /// The password that the user has.
    Password,
    /// One that is chosen now.
    NewPassword,
    /// From an authenticator; a recovery code too, so letters are taken.
    Code,
    Search,
    /// `YYYY-MM-DD`.
    Date,
    /// In naira.
    Amount,
    Url,
    /// Of so many lines.
    Area(u8),
    Select(Vec<Choice>),
    /// Sends `1`.
    Checkbox,
    /// From the browser's machine; its form is sent in parts.
    File,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub value: String,
    pub text: Text,
}

impl Choice {
    pub fn new(value: impl Into<String>, text: impl Into<Text>) -> Choice {
        Choice { value: value.into(), text: text.into() }
    }
}

#[derive(Clone, Debug, Template)]
#[template(path = "kit/field.html")]
pub struct Field {
    form: String,
    name: &'static str,
    label: Text,
    kind: Kind,
    value: Text,
    hint: Option<Text>,
    error: Option<Text>,
    is_required: bool,
    has_cursor: bool,
    /// What is often typed; anything else may be.
    often: Vec<String>,
    /// The key that leads to it, where keys are on.
    key: Option<&'static str>,
}

impl Field {
    /// A field of the form with this id. Every kind but a checkbox and a search has to be filled in, unless it is
    /// `optional`.
    pub fn new(form: impl Into<String>, name: &'static str, label: impl Into<Text>, kind: Kind) -> Field {
        let is_required = !matches!(kind, Kind::Checkbox | Kind::Search);
        Field {
            form: form.into(),
            name,
            label: label.into(),
            kind,
            value: Text::default(),
            hint: None,
            error: None,
            is_required,
            has_cursor: false,
            often: Vec::new(),
            key: None,
        }
    }

    /// What was typed or chosen before; `1` for a checkbox that is ticked.
    pub fn value(self, value: impl Into<Text>) -> Field {
        Field { value: value.into(), ..self }
    }

    pub fn hint(self, hint: impl Into<Text>) -> Field {
        Field { hint: Some(hint.into()), ..self }
    }

    /// What is wrong with it, and what to do. The cursor goes there.
    pub fn error(self, error: Option<impl Into<Text>>) -> Field {
        let error = error.map(Into::into);
        Field { has_cursor: self.has_cursor || error.is_some(), error, ..self }
    }

    pub fn optional(self) -> Field {
        Field { is_required: false, ..self }
    }

    /// A key that leads here, where scripts run and keys are on.
    pub fn key(self, key: &'static str) -> Field {
        Field { key: Some(key), ..self }
    }

    /// Offers what is often typed.
    pub fn often(self, often: impl IntoIterator<Item = impl Into<String>>) -> Field {
        Field { often: often.into_iter().map(Into::into).collect(), ..self }
    }

    /// The cursor is there when the page opens.
    pub fn focused(self) -> Field {
        Field { has_cursor: true, ..self }
    }

    fn id(&self) -> String {
        format!("{}-{}", self.form, self.name)
    }

    fn is_tick(&self) -> bool {
        self.kind == Kind::Checkbox
    }

    fn is_code(&self) -> bool {
        self.kind == Kind::Code
    }

    fn is_set(&self) -> bool {
        !self.value.is_empty()
    }

    fn input_type(&self) -> &'static str {
        match self.kind {
            Kind::Email => "email",
            Kind::Password | Kind::NewPassword => "password",
            Kind::Search => "search",
            Kind::Date => "date",
            Kind::Url => "url",
            Kind::File => "file",
            _ => "text",
        }
    }

    fn completes(&self) -> &'static str {
        match self.kind {
            Kind::Email => "username",
            Kind::Password => "current-password",
            Kind::NewPassword => "new-password",
            Kind::Code => "one-time-code",
            _ => "off",
        }
    }

    /// Which keyboard a phone shows.
    fn keyboard(&self) -> &'static str {
        match self.kind {
            Kind::Amount => "decimal",
            Kind::Email => "email",
            Kind::Url => "url",
            _ => "text",
        }
    }

    /// May stand in the page again. What is secret may not.
    fn kept(&self) -> &str {
        match self.kind {
            Kind::Password | Kind::NewPassword | Kind::Code | Kind::File => "",
            _ => self.value.as_str(),
        }
    }

    /// The ids of what tells about the field.
    fn told_by(&self) -> String {
        let id = self.id();
        let error = self.error.as_ref().map(|_| format!("{id}-error"));
        let hint = self.hint.as_ref().map(|_| format!("{id}-hint"));
        error.into_iter().chain(hint).collect::<Vec<_>>().join(" ")
    }
}

/// How a button looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// What most people came for: one a page.
    #[default]
    Primary,
    Plain,
    /// What cannot be taken back.
    Danger,
}

impl Look {
    pub fn class(self) -> &'static str {
        match self {
            Look::Primary => "primary",
            Look::Plain => "plain",
            Look::Danger => "danger",
        }
    }
}

/// The field with the mark of a form that counts once.
pub const MARK: &str = "once";

/// A form that is posted: hidden inputs, fields one below the other, one button.
#[derive(Clone, Debug, Template)]
#[template(path = "kit/form.html")]
pub struct Form {
    id: String,
    action: String,
    csrf: String,
    hidden: Vec<(&'static str, Text)>,
    fields: Vec<Field>,
    button: Text,
    look: Look,
    /// A way out beside the button.
    cancel: Option<String>,
    /// In a row of a list: the button alone.
    is_small: bool,
    /// The key that presses the button, where keys are on.
    key: Option<&'static str>,
    passkey: Option<Passkey>,
}

/// What the browser asks an authenticator for before a form goes. Such a form is hidden where no script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passkey {
    Make,
    Use,
}

impl Passkey {
    fn word(self) -> &'static str {
        match self {
            Passkey::Make => "make",
            Passkey::Use => "use",
        }
    }

    /// Where no answer came.
    fn untold(self) -> &'static str {
        match self {
            Passkey::Make => {
                "No passkey was made. You may have one on this device already. Try again if not."
            }
            Passkey::Use => "No passkey came. Try again, or take another way.",
        }
    }
}

impl Form {
    pub fn new(
        id: impl Into<String>,
        action: impl Into<String>,
        csrf: impl Into<String>,
        button: impl Into<Text>,
    ) -> Form {
        Form {
            id: id.into(),
            action: action.into(),
            csrf: csrf.into(),
            hidden: Vec::new(),
            fields: Vec::new(),
            button: button.into(),
            look: Look::Primary,
            cancel: None,
            is_small: false,
            key: None,
            passkey: None,
        }
    }

    /// What the form is about, such as the row it stands in.
    pub fn hidden(mut self, name: &'static str, value: impl Into<Text>) -> Form {
        self.hidden.push((name, value.into()));
        self
    }

    /// It makes something, and counts once however often it is sent. `mark`: of the page that it stands on.
    pub fn once(self, mark: String) -> Form {
        self.hidden(MARK, mark)
    }

    pub fn field(mut self, field: Field) -> Form {
        self.fields.push(field);
        self
    }

    pub fn look(self, look: Look) -> Form {
        Form { look, ..self }
    }

    pub fn cancel(self, href: impl Into<String>) -> Form {
        Form { cancel: Some(href.into()), ..self }
    }

    /// A key for the button: it is shown on it, and works where scripts run and keys are on. If a field has to be
    /// filled in first, the key leads there; a digit always leads to the button alone.
    pub fn key(self, key: &'static str) -> Form {
        Form { key: Some(key), ..self }
    }

    /// An authenticator's answer goes with it.
    pub fn passkey(self, passkey: Passkey) -> Form {
        Form { passkey: Some(passkey), ..self }
    }

    /// Whether it is sent in parts, as a file is.
    fn has_file(&self) -> bool {
        self.fields.iter().any(|field| field.kind == Kind::File)
    }

    /// Whether a field of it is wrong.
    pub fn is_wrong(&self) -> bool {
        self.fields.iter().any(|field| field.error.is_some())
    }

    /// For a row of a list.
    pub fn small(self) -> Form {
        Form {
            is_small: true,
            look: if self.look == Look::Primary { Look::Plain } else { self.look },
            ..self
        }
    }
}

/// A question before something that cannot be taken back, without scripts: one tap opens it, the next one acts.
#[derive(Clone, Debug, Template)]
#[template(path = "kit/confirm.html")]
pub struct Confirm {
    /// On the button that opens it.
    pub button: Text,
    pub question: Text,
    pub form: Form,
}

impl Confirm {
    pub fn new(button: impl Into<Text>, question: impl Into<Text>, form: Form) -> Confirm {
        Confirm { button: button.into(), question: question.into(), form: form.look(Look::Danger) }
    }
}

/// The filters of a list. They are the query of its address, so that a view can be kept and sent to a colleague.
#[derive(Clone, Debug, Template)]
#[template(path = "kit/filters.html")]
pub struct Filters {
    pub action: String,
    /// What the address keeps besides, such as the business.
    pub hidden: Vec<(&'static str, Text)>,
    pub fields: Vec<Field>,
    /// Behind `More filters`, open while one of them is set.
    pub more: Vec<Field>,
    /// The address without filters, while one is set.
    pub reset: Option<String>,
    /// The same list as CSV.
    pub csv: Option<String>,
}

impl Filters {
    fn set_of_more(&self) -> usize {
        self.more.iter().filter(|field| field.is_set()).count()
    }
}

macro_rules! html_safe {
    ($($part:ty),*) => { $(impl HtmlSafe for $part {})* };
}
// Their templates escape every text.
html_safe!(Field, Form, Confirm, Filters);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_names_its_error_and_hint_and_keeps_what_was_typed() {
        let field = Field::new("invite", "email", "E-mail", Kind::Email)
            .value("ada\"@<b>")
            .hint("We send a link.")
            .error(Some("That is no address."));
        let html = field.to_string();
        for part in [
            r#"<label for="invite-email">E-mail</label>"#,
            r#"aria-invalid="true""#,
            r#"aria-describedby="invite-email-error invite-email-hint""#,
            r#"id="invite-email-error""#,
            "ada&#34;@&#60;b&#62;",
            "autofocus",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn secrets_are_never_written_back() {
        for kind in [Kind::Password, Kind::NewPassword, Kind::Code] {
            let html = Field::new("sign-in", "password", "Password", kind).value("correct horse").to_string();
            assert!(!html.contains("correct horse"), "{html}");
        }
    }

    #[test]
    fn a_choice_and_a_tick_are_kept() {
        let choices = vec![Choice::new("", "Any"), Choice::new("approved", "Approved")];
        let html = Field::new("f", "status", "Status", Kind::Select(choices)).value("approved").to_string();
        assert!(html.contains(r#"<option value="approved" selected>Approved</option>"#), "{html}");
        let html = Field::new("f", "late", "Late", Kind::Checkbox).value("1").to_string();
        assert!(html.contains(" checked"), "{html}");
    }
}
