//! A tool's arguments: converted to the advertised spelling, then validated against its schema.
//!
//! Accepted besides, of top-level arguments: other spellings ([`Spellings`]), `null` for an optional one (its
//! default), `2.0` and `"2"` for an integer, and `"true"` for true. Everything else is reported, all of it at once,
//! so that an agent needs one retry rather than five.

use std::collections::HashMap;

use archway_proto::failure::Failure;
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value, json};

use super::{
    nearest,
    spellings::Spellings,
    violation::{MOST_VIOLATIONS, Violation, failure, has_type},
};
use crate::error::{MAX_QUOTED_BYTES, quoted};

/// Unknown names reported one by one; a client that sends more does not mean this tool.
const MOST_NAMES: usize = 10;
/// From here on a double, and so a JSON number (RFC 8259, 6), is not an exact integer.
const EXACT: i64 = 1 << 53;

/// Why a tool's input schema is unusable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchemaError {
    #[error("it does not compile")]
    Compile(#[source] Box<ValidationError<'static>>),
    #[error("{0} and another argument have the same camelCase spelling")]
    Ambiguous(String),
}

/// The compiled input schema of one tool.
pub(crate) struct ArgumentRules {
    schema: Value,
    validator: Validator,
    /// By the advertised name.
    properties: HashMap<String, Kind>,
    spellings: Spellings,
}

/// What an argument is, as far as it may be written in other ways.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Boolean,
    Other,
}

impl ArgumentRules {
    pub(crate) fn compile(schema: &Map<String, Value>) -> Result<Self, SchemaError> {
        let schema = Value::Object(schema.clone());
        let validator = jsonschema::draft202012::new(&schema)
            .map_err(|error| SchemaError::Compile(Box::new(error)))?;
        let properties = schema["properties"].as_object().into_iter().flatten();
        let properties: HashMap<String, Kind> = properties
            .map(|(name, property)| (name.clone(), Kind::of(property)))
            .collect();
        let spellings = Spellings::of(properties.keys()).map_err(SchemaError::Ambiguous)?;
        Ok(ArgumentRules {
            schema,
            validator,
            properties,
            spellings,
        })
    }

    /// Whether there is an argument of this name, in the advertised spelling.
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.properties.contains_key(name)
    }

    /// The arguments in the advertised spelling. The failure lists every violation.
    pub(crate) fn check(&self, given: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
        let mut violations = Vec::new();
        let arguments = Value::Object(self.normalise(given, &mut violations));
        let refused: Vec<String> = violations.iter().map(|early| early.path.clone()).collect();
        let found = self.validator.iter_errors(&arguments);
        let found = found.map(|error| Violation::of(&self.schema, &error));
        // An argument that was refused before is reported already.
        let found = found.filter(|violation| !refused.contains(&violation.path));
        violations.extend(found.take(MOST_VIOLATIONS + 1));
        match arguments {
            Value::Object(arguments) if violations.is_empty() => Ok(arguments),
            _ => Err(failure(violations)),
        }
    }

    fn normalise(
        &self,
        given: Map<String, Value>,
        violations: &mut Vec<Violation>,
    ) -> Map<String, Value> {
        let mut arguments = Map::new();
        let mut unknown = Vec::new();
        let mut spelled: HashMap<&String, String> = HashMap::new();
        for (spelling, value) in given {
            let name = self.spellings.advertised(&spelling).unwrap_or(&spelling);
            let Some((name, kind)) = self.properties.get_key_value(name) else {
                unknown.push(spelling);
                continue;
            };
            if let Some(before) = spelled.get(name) {
                violations.push(Violation {
                    path: name.clone(),
                    problem: format!("is given twice, as {before} and as {spelling}"),
                    allowed: json!("one spelling"),
                });
                continue;
            }
            spelled.insert(name, spelling);
            // Null is absent, but recorded until another spelling was seen as well.
            let value = kind.plain(value);
            if *kind == Kind::Integer && is_beyond(&value) {
                violations.push(Violation::beyond(&self.schema, name, EXACT - 1));
            }
            arguments.insert(name.clone(), value);
        }
        arguments.retain(|_name, value| !value.is_null());
        violations.extend(self.unknown(&unknown));
        arguments
    }

    /// A violation for each unknown name, as far as an answer may repeat client text.
    fn unknown(&self, unknown: &[String]) -> Vec<Violation> {
        let mut names: Vec<&str> = self.properties.keys().map(String::as_str).collect();
        names.sort_unstable();
        let mut repeated = 0;
        let reported = unknown.iter().take(MOST_NAMES).take_while(|name| {
            let first = repeated == 0;
            repeated += name.len();
            first || repeated <= MAX_QUOTED_BYTES
        });
        let mut violations: Vec<_> = reported.map(|name| unknown_name(name, &names)).collect();
        if let more @ 1.. = unknown.len() - violations.len() {
            violations.push(Violation {
                path: "…".to_owned(),
                problem: format!("is not an argument: {more} more names"),
                allowed: json!(names),
            });
        }
        violations
    }
}

/// The violation of an unknown name, with the nearest known name if one is near.
fn unknown_name(name: &str, names: &[&str]) -> Violation {
    let problem = match nearest::argument(name, names) {
        Some(nearest) => format!("is not an argument: did you mean {nearest}?"),
        None if names.is_empty() => "is not an argument: the tool has no arguments".to_owned(),
        None => format!("is not an argument: the arguments are {}", names.join(", ")),
    };
    Violation {
        path: quoted(name),
        problem,
        allowed: json!(names),
    }
}

impl Kind {
    fn of(property: &Value) -> Kind {
        // A text that may be anything stays one.
        if has_type(property, "string") && property["enum"].is_null() {
            return Kind::Other;
        }
        match (has_type(property, "integer"), has_type(property, "boolean")) {
            (true, false) if !has_type(property, "number") => Kind::Integer,
            (false, true) => Kind::Boolean,
            _ => Kind::Other,
        }
    }

    /// A value as the schema has it, if it was written in another way.
    fn plain(self, value: Value) -> Value {
        match self {
            Kind::Integer => match value.as_str().map(str::parse::<i64>) {
                Some(Ok(number)) => number.into(),
                Some(Err(_no_number)) => value,
                None => as_integer(value),
            },
            Kind::Boolean => match value.as_str().map(str::parse::<bool>) {
                Some(Ok(truth)) => truth.into(),
                Some(Err(_)) | None => value,
            },
            Kind::Other => value,
        }
    }
}

/// `2.0` is the integer 2 (JSON Schema 2020-12, 6.1.1).
fn as_integer(value: Value) -> Value {
    match value.as_f64() {
        Some(number) if value.is_f64() && number.fract() == 0.0 && !is_beyond(&value) =>
        {
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
            Value::from(number as i64)
        }
        _ => value,
    }
}

/// Whether a number is too large to be an exact integer.
fn is_beyond(value: &Value) -> bool {
    match value.as_i64() {
        Some(number) => number.unsigned_abs() >= EXACT.unsigned_abs(),
        None => value
            .as_f64()
            .is_some_and(|number| number.abs() >= EXACT as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> ArgumentRules {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "minLength": 1, "maxLength": 4096 },
                "max_depth": { "type": ["integer", "null"], "minimum": 1, "maximum": 10 },
                "include_hidden": { "type": ["boolean", "null"] },
                "encoding": { "anyOf": [{ "$ref": "#/$defs/Encoding" }, { "type": "null" }] },
                "entry": { "type": "object", "required": ["event"] },
            },
            "$defs": { "Encoding": { "type": "string", "enum": ["utf-8", "base64"] } },
            "required": ["path"],
            "additionalProperties": false,
        });
        ArgumentRules::compile(schema.as_object().unwrap()).unwrap()
    }

    fn check(given: Value) -> Result<Value, Failure> {
        rules()
            .check(given.as_object().unwrap().clone())
            .map(Value::Object)
    }

    #[test]
    fn both_spellings_are_accepted_and_become_the_advertised_one() {
        let snake = check(json!({ "path": "a", "max_depth": 2, "include_hidden": true }));
        let camel = check(json!({ "path": "a", "maxDepth": 2, "includeHidden": true }));
        assert_eq!(snake.unwrap(), camel.unwrap());
    }

    #[test]
    fn both_spellings_at_once_are_an_error_even_if_one_is_null() {
        for given in [json!(2), Value::Null] {
            let failure = check(json!({ "path": "a", "maxDepth": 2, "max_depth": given }));
            assert!(failure.unwrap_err().message.contains("given twice"));
        }
    }

    #[test]
    fn null_is_absent_if_optional_and_a_violation_if_required() {
        let arguments = check(json!({ "path": "a", "max_depth": null, "entry": null })).unwrap();
        assert_eq!(arguments, json!({ "path": "a" }));
        let failure = check(json!({ "path": null })).unwrap_err();
        assert!(
            failure.message.contains("path: is required"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn a_whole_double_is_an_integer_and_a_broken_one_is_not() {
        let arguments = check(json!({ "path": "a", "max_depth": 2.0 })).unwrap();
        assert_eq!(arguments["max_depth"], json!(2));
        assert!(check(json!({ "path": "a", "max_depth": 2.5 })).is_err());
        assert!(check(json!({ "path": "a", "max_depth": 1e300 })).is_err());
    }

    #[test]
    fn numbers_and_truths_may_be_written_as_text() {
        let arguments = check(json!({ "path": "a", "max_depth": "5", "include_hidden": "true" }));
        let plain = json!({ "path": "a", "max_depth": 5, "include_hidden": true });
        assert_eq!(arguments.unwrap(), plain);
        for (name, value) in [
            ("max_depth", "5 "),
            ("max_depth", "5.0"),
            ("include_hidden", "yes"),
        ] {
            let failure = check(json!({ "path": "a", name: value })).unwrap_err();
            assert!(failure.message.contains(name), "{}", failure.message);
        }
        let failure = check(json!({ "path": "a", "max_depth": "99999999999999999999" }));
        assert!(failure.is_err());
        let path = check(json!({ "path": "5" })).unwrap();
        assert_eq!(path["path"], "5", "a text stays one");
    }

    #[test]
    fn another_tools_name_of_the_argument_is_taken_once() {
        assert_eq!(
            check(json!({ "file_path": "a" })).unwrap(),
            json!({ "path": "a" })
        );
        let failure = check(json!({ "file_path": "a", "path": "b" })).unwrap_err();
        let message = failure.message;
        assert!(
            message.contains("given twice, as file_path and as path"),
            "{message}"
        );
    }

    #[test]
    fn a_number_too_large_for_an_integer_is_reported_with_the_range() {
        let schema = json!({
            "type": "object",
            "properties": { "line": { "type": "integer", "minimum": 1 } },
        });
        let open = ArgumentRules::compile(schema.as_object().unwrap()).unwrap();
        let told = |given: Value| {
            let checked = open.check(given.as_object().unwrap().clone());
            checked.unwrap_err().details["violations"][0]["allowed"].clone()
        };
        for line in [
            json!(1e18),
            json!(u64::MAX),
            json!(-1e300),
            json!(1_u64 << 53),
        ] {
            let range = "an integer, 1 to 9007199254740991";
            assert_eq!(told(json!({ "line": line })), range, "{line}");
        }
        let last = json!({ "line": (1_u64 << 53) - 1 });
        assert!(open.check(last.as_object().unwrap().clone()).is_ok());
        let bound = check(json!({ "path": "a", "max_depth": 1e18 })).unwrap_err();
        let listed = bound.details["violations"].as_array().unwrap();
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert_eq!(listed[0]["allowed"], "an integer, 1 to 10");
    }

    #[test]
    fn every_violation_is_listed_with_what_is_allowed() {
        let given = json!({
            "max_depth": 11, "encoding": "utf-16", "includeHidden": "yes",
            "entry": {}, "pth": "a",
        });
        let failure = check(given).unwrap_err();
        let listed = failure.details["violations"].as_array().unwrap();
        let allowed = |path: &str| {
            let violation = listed.iter().find(|violation| violation["path"] == path);
            violation.unwrap_or_else(|| panic!("{path} is not in {listed:?}"))["allowed"].clone()
        };
        assert_eq!(allowed("path"), "a string, 1 to 4096 characters");
        assert_eq!(allowed("max_depth"), "an integer, 1 to 10");
        assert_eq!(allowed("encoding"), json!(["utf-8", "base64"]));
        assert_eq!(allowed("include_hidden"), "true or false");
        assert_eq!(allowed("entry.event"), Value::Null);
        assert!(
            allowed("\"pth\"")
                .as_array()
                .unwrap()
                .contains(&json!("path"))
        );
        assert_eq!(listed.len(), 6);
        assert!(
            failure.message.contains(r#"allowed: ["utf-8","base64"]"#),
            "{}",
            failure.message
        );
        assert!(
            failure.message.contains("did you mean path?"),
            "{}",
            failure.message
        );
        assert!(
            !failure.message.contains("utf-16"),
            "values are not repeated"
        );
    }

    #[test]
    fn a_name_near_no_argument_lists_all_arguments() {
        let failure = check(json!({ "path": "a", "zzzzzz": 1 })).unwrap_err();
        assert!(
            failure.message.contains("encoding, entry, include_hidden"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn two_faults_of_one_argument_are_two_violations() {
        let schema = json!({
            "type": "object",
            "properties": { "name": { "type": "string", "minLength": 3, "pattern": "^a" } },
        });
        let rules = ArgumentRules::compile(schema.as_object().unwrap()).unwrap();
        let given = json!({ "name": "b" }).as_object().unwrap().clone();
        let failure = rules.check(given).unwrap_err();
        assert_eq!(failure.details["violations"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn many_unknown_names_are_cut_short() {
        let given = (0..1000)
            .map(|index| (format!("x{index}"), Value::Null))
            .collect();
        let failure = rules().check(given).unwrap_err();
        assert!(
            failure.message.contains(" more names"),
            "{}",
            failure.message
        );
        assert!(failure.details["violations"].as_array().unwrap().len() < 60);
    }
}
