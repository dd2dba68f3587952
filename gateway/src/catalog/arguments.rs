//! A tool's arguments: brought into the advertised spelling, then held against its schema.
//!
//! What is mended: the camelCase spelling of a top-level argument, `null` for an optional one
//! (its default), `2.0` for an integer. Everything else is told, all of it at once, so that an
//! agent needs one more try and not five.

use std::collections::HashMap;

use archway_proto::{failure::Failure, fault::Fault};
use jsonschema::{ValidationError, Validator, error::ValidationErrorKind};
use serde_json::{Map, Value, json};

use crate::error::quoted;

/// Violations listed; a hostile list of a million bad items gets an answer of some kilobytes.
const MOST_VIOLATIONS: usize = 50;
/// A longer name is like none of ours, and distances cost the product of two lengths.
const LONGEST_NAME: usize = 64;

/// Why a tool's input schema is of no use.
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
    /// The advertised names, and whether the argument is an integer.
    properties: HashMap<String, bool>,
    /// The camelCase spelling, where it differs, and the advertised one.
    camel: HashMap<String, String>,
}

impl ArgumentRules {
    pub(crate) fn compile(schema: &Map<String, Value>) -> Result<Self, SchemaError> {
        let schema = Value::Object(schema.clone());
        let validator = jsonschema::draft202012::new(&schema)
            .map_err(|error| SchemaError::Compile(Box::new(error)))?;
        let (mut properties, mut camel) = (HashMap::new(), HashMap::new());
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let integer = has_type(property, "integer") && !has_type(property, "number");
            properties.insert(name.clone(), integer);
            let spelling = camel_case(name);
            if spelling != *name && camel.insert(spelling, name.clone()).is_some() {
                return Err(SchemaError::Ambiguous(name.clone()));
            }
        }
        Ok(ArgumentRules {
            schema,
            validator,
            properties,
            camel,
        })
    }

    /// Whether there is an argument of this name, in the advertised spelling.
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.properties.contains_key(name)
    }

    /// The arguments in the advertised spelling; a failure that lists every violation.
    pub(crate) fn check(&self, given: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
        let mut violations = Vec::new();
        let arguments = Value::Object(self.normalise(given, &mut violations));
        for error in self.validator.iter_errors(&arguments) {
            if violations.len() > MOST_VIOLATIONS {
                break;
            }
            let violation = self.violation(&error);
            // A name that was refused above has its own, better words.
            if !violations
                .iter()
                .any(|earlier: &Violation| earlier.path == violation.path)
            {
                violations.push(violation);
            }
        }
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
        for (spelling, value) in given {
            let name = self.camel.get(&spelling).unwrap_or(&spelling);
            let Some(integer) = self.properties.get(name) else {
                if violations.len() <= MOST_VIOLATIONS {
                    violations.push(self.unknown(&spelling));
                }
                continue;
            };
            if arguments.contains_key(name) {
                violations.push(Violation {
                    path: name.clone(),
                    problem: format!("is given twice, as {name} and as {}", camel_case(name)),
                    allowed: json!("one spelling"),
                });
            } else if value.is_null() {
                // Absent, but remembered until the other spelling was seen too.
                arguments.insert(name.clone(), Value::Null);
            } else {
                let value = if *integer { as_integer(value) } else { value };
                arguments.insert(name.clone(), value);
            }
        }
        arguments.retain(|_name, value| !value.is_null());
        arguments
    }

    fn unknown(&self, name: &str) -> Violation {
        let mut names: Vec<&str> = self.properties.keys().map(String::as_str).collect();
        names.sort_unstable();
        let reach = (name.chars().count() / 2).max(3);
        let nearest = names
            .iter()
            .filter(|_| name.len() <= LONGEST_NAME)
            .map(|known| (strsim::osa_distance(&name.to_lowercase(), known), known))
            .min()
            .filter(|(distance, _)| *distance <= reach);
        let problem = match nearest {
            Some((_, nearest)) => format!("is not an argument: did you mean {nearest}?"),
            None if names.is_empty() => "is not an argument: the tool takes none".to_owned(),
            None => format!("is not an argument: there are {}", names.join(", ")),
        };
        Violation {
            path: quoted(name),
            problem,
            allowed: json!(names),
        }
    }

    fn violation(&self, error: &ValidationError<'_>) -> Violation {
        let mut path = dotted(error.instance_path().as_str());
        let keyword = error.schema_path().as_str();
        let place = keyword
            .rsplit_once('/')
            .map_or("", |(place, _keyword)| place);
        let mut schema = self.schema.pointer(place).unwrap_or(&Value::Null);
        let problem = match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                path = if path.is_empty() {
                    name.to_owned()
                } else {
                    format!("{path}.{name}")
                };
                schema = &schema["properties"][name];
                "is required".to_owned()
            }
            // Masked: the value itself may be long, or somebody's secret.
            _ => error.masked_with("it").to_string(),
        };
        Violation {
            path,
            problem,
            allowed: allowed(&self.schema, schema),
        }
    }
}

/// One thing that is wrong with the arguments.
struct Violation {
    /// Where: `limit`, `entry.event`.
    path: String,
    /// What is wrong there.
    problem: String,
    /// What would be right: words, or the list of an enum.
    allowed: Value,
}

fn failure(violations: Vec<Violation>) -> Failure {
    let mut sentences: Vec<String> = Vec::new();
    let mut listed = Vec::new();
    for violation in violations.into_iter().take(MOST_VIOLATIONS) {
        let Violation {
            path,
            problem,
            allowed,
        } = violation;
        sentences.push(match &allowed {
            Value::String(words) => format!("{path}: {problem} (allowed: {words})"),
            Value::Array(_) if !problem.starts_with("is not an argument") => {
                format!("{path}: {problem} (allowed: {allowed})")
            }
            _ => format!("{path}: {problem}"),
        });
        listed.push(json!({ "path": path, "problem": problem, "allowed": allowed }));
    }
    Failure::new(
        Fault::InvalidArguments,
        sentences.join("; "),
        "mend what is listed and call again; the tool's input schema has the whole",
    )
    .detail("violations", listed)
}

/// `max_depth` → `maxDepth`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut spelling = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        spelling.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        spelling.push_str(letters.as_str());
    }
    spelling
}

/// `2.0` is the integer 2 (JSON Schema 2020-12, 6.1.1); beyond 2^53 a double names no one integer.
fn as_integer(value: Value) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value.as_f64() {
        Some(number) if value.is_f64() && number.fract() == 0.0 && number.abs() < EXACT =>
        {
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
            Value::from(number as i64)
        }
        _ => value,
    }
}

fn has_type(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::String(one) => one == name,
        Value::Array(several) => several.iter().any(|one| one == name),
        _ => false,
    }
}

/// What a schema allows: an enum's values, or words.
fn allowed(root: &Value, schema: &Value) -> Value {
    if let Some(target) = schema["$ref"]
        .as_str()
        .and_then(|link| link.strip_prefix('#'))
    {
        return root
            .pointer(target)
            .map_or(Value::Null, |schema| allowed(root, schema));
    }
    if let Some(values) = schema["enum"].as_array() {
        return values
            .iter()
            .filter(|value| !value.is_null())
            .cloned()
            .collect();
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(branches) = schema[keyword].as_array() else {
            continue;
        };
        if let Some(values) = branches.iter().map(|branch| branch.get("const")).collect() {
            let values: Vec<&Value> = values;
            return json!(values);
        }
        let mut real = branches.iter().filter(|branch| !has_type(branch, "null"));
        if let (Some(only), None) = (real.next(), real.next()) {
            return allowed(root, only);
        }
    }
    words(schema).map_or(Value::Null, Value::String)
}

fn words(schema: &Value) -> Option<String> {
    let range = |low: &str, high: &str| match (&schema[low], &schema[high]) {
        (Value::Null, Value::Null) => None,
        (Value::Null, high) => Some(format!("at most {high}")),
        (low, Value::Null) => Some(format!("at least {low}")),
        (low, high) => Some(format!("{low} to {high}")),
    };
    let kinds = [
        ("integer", "an integer", "minimum", "maximum", ""),
        ("number", "a number", "minimum", "maximum", ""),
        (
            "string",
            "a string",
            "minLength",
            "maxLength",
            " characters",
        ),
        ("array", "a list", "minItems", "maxItems", " items"),
        (
            "object",
            "an object",
            "minProperties",
            "maxProperties",
            " members",
        ),
    ];
    let kind = kinds.into_iter().find(|(name, ..)| has_type(schema, name));
    match kind {
        Some((_, noun, low, high, unit)) => Some(match range(low, high) {
            Some(range) => format!("{noun}, {range}{unit}"),
            None => noun.to_owned(),
        }),
        None => has_type(schema, "boolean").then(|| "true or false".to_owned()),
    }
}

/// `/entry/event` → `entry.event` (JSON Pointer's `~1` and `~0` undone).
fn dotted(pointer: &str) -> String {
    let steps = pointer
        .split('/')
        .skip(1)
        .map(|step| step.replace("~1", "/").replace("~0", "~"));
    let path: Vec<String> = steps.collect();
    let path = path.join(".");
    if path.len() > 200 {
        quoted(&path)
    } else {
        path
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
    fn either_spelling_is_taken_and_the_advertised_one_comes_out() {
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
    fn null_is_absent_for_an_optional_argument_and_wrong_for_a_required_one() {
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
    fn a_name_like_none_gets_all_names() {
        let failure = check(json!({ "path": "a", "zzzzzz": 1 })).unwrap_err();
        assert!(
            failure.message.contains("encoding, entry, include_hidden"),
            "{}",
            failure.message
        );
    }

    #[test]
    fn many_violations_are_cut_short() {
        let mut given = Map::new();
        for index in 0..1000 {
            given.insert(format!("x{index}"), Value::Null);
        }
        let failure = rules().check(given).unwrap_err();
        assert_eq!(
            failure.details["violations"].as_array().unwrap().len(),
            MOST_VIOLATIONS
        );
    }
}
