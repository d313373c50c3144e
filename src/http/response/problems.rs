//! What is wrong with the fields of a request, as an answer tells it.

use serde::{Serialize, Serializer};

use super::code::{Code, FieldCode};

/// Everything wrong with a request, in the order it was found.
#[derive(Debug, Default)]
pub struct Problems {
    fields: Vec<(&'static str, Vec<Problem>)>,
}

#[derive(Debug)]
struct Problem {
    code: FieldCode,
    message: String,
}

impl Problems {
    pub fn add(&mut self, field: &'static str, code: FieldCode, message: String) {
        let problem = Problem { code, message };
        match self.fields.iter_mut().find(|(name, _)| *name == field) {
            Some((_, problems)) => problems.push(problem),
            None => self.fields.push((field, vec![problem])),
        }
    }

    /// The same, with the field's name in front of the words.
    pub fn complain(&mut self, field: &'static str, code: FieldCode, what: &str) {
        self.add(field, code, format!("The {} {what}.", label(field)));
    }

    /// The same for a parameter, which is named as it is sent.
    pub fn complain_of_parameter(&mut self, name: &'static str, code: FieldCode, what: &str) {
        self.add(name, code, format!("{name} {what}."));
    }

    pub fn require(&mut self, field: &'static str) {
        self.complain(field, FieldCode::Required, "field is required");
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    pub fn count(&self) -> usize {
        self.fields.iter().map(|(_, problems)| problems.len()).sum()
    }

    fn all(&self) -> impl Iterator<Item = &Problem> {
        self.fields.iter().flat_map(|(_, problems)| problems)
    }

    /// The code of the answer: a lone problem may have one of its own.
    pub fn code(&self) -> Code {
        let mut all = self.all();
        match (all.next(), all.next()) {
            (Some(problem), None) => problem.code.alone(),
            _ => Code::InvalidFields,
        }
    }

    /// The first problem, and how many more there are.
    pub fn summary(&self) -> String {
        let mut all = self.all();
        let first = all.next().map_or("The request is not valid", |problem| problem.message.as_str());
        match all.count() {
            0 => first.to_owned(),
            1 => format!("{first} (and 1 more error)"),
            n => format!("{first} (and {n} more errors)"),
        }
    }
}

/// The members `errors` and `error_codes` of an answer.
impl Serialize for Problems {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let errors = ByField(self, |problem| &problem.message);
        let error_codes = ByField(self, |problem| problem.code.word());
        to.collect_map([("errors", errors), ("error_codes", error_codes)])
    }
}

/// For each field a list: of each problem what the function tells.
struct ByField<'a>(&'a Problems, fn(&Problem) -> &str);

impl Serialize for ByField<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let ByField(all, told) = self;
        to.collect_map(
            all.fields
                .iter()
                .map(|(field, problems)| (field, problems.iter().map(told).collect::<Vec<&str>>())),
        )
    }
}

/// `webhook_url` as people read it: `webhook URL`.
fn label(field: &str) -> String {
    let words = field.split('_').map(|word| match word {
        "id" => "ID",
        "url" => "URL",
        "bvn" => "BVN",
        "fname" => "first name (fname)",
        "lname" => "last name (lname)",
        word => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_problem_speaks_for_all() {
        let mut problems = Problems::default();
        problems.add("amount", FieldCode::TooSmall, "First.".into());
        assert_eq!(problems.summary(), "First.");
        problems.add("name", FieldCode::Required, "Second.".into());
        assert_eq!(problems.summary(), "First. (and 1 more error)");
        problems.add("amount", FieldCode::TooLarge, "Third.".into());
        assert_eq!(problems.summary(), "First. (and 2 more errors)");
        assert_eq!(
            serde_json::to_string(&problems).unwrap(),
            r#"{"errors":{"amount":["First.","Third."],"name":["Second."]},"error_codes":{"amount":["too_small","too_large"],"name":["required"]}}"#
        );
    }

    #[test]
    fn a_lone_problem_may_have_a_code_of_its_own() {
        let mut problems = Problems::default();
        problems.add("transaction_id", FieldCode::TransactionIdTaken, "Taken.".into());
        assert_eq!(problems.code(), Code::TransactionIdTaken);
        problems.require("amount");
        assert_eq!(problems.code(), Code::InvalidFields);
        let mut problems = Problems::default();
        problems.require("amount");
        assert_eq!(problems.code(), Code::InvalidFields);
    }
}
