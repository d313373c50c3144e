//! What is wrong with the fields of a request, as an answer tells it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
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

    /// What an answer tells people of each field.
    pub fn messages(&self) -> ByField<'_> {
        ByField(self, |problem| &problem.message)
    }

    /// What it tells programs.
    pub fn codes(&self) -> ByField<'_> {
        ByField(self, |problem| problem.code.word())
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

/// For each field a list: of each problem what the function tells.
pub struct ByField<'a>(&'a Problems, fn(&Problem) -> &str);

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

impl JsonSchema for ByField<'_> {
    fn schema_name() -> Cow<'static, str> {
        "ByField".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(of: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, Vec<String>>::json_schema(of)
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
        let written = |by_field| serde_json::to_string(&by_field).unwrap();
        assert_eq!(written(problems.messages()), r#"{"amount":["First.","Third."],"name":["Second."]}"#);
        assert_eq!(written(problems.codes()), r#"{"amount":["too_small","too_large"],"name":["required"]}"#);
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
