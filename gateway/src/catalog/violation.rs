//! Violations of a tool's schema, reported so that an agent can correct all of them at once.

use archway_proto::{failure::Failure, fault::Fault, misleading::on_one_line};
use jsonschema::{ValidationError, error::ValidationErrorKind};
use serde_json::{Value, json};

use crate::error::quoted;

/// Violations listed: an answer to a million bad items still has only some kilobytes.
pub(super) const MOST_VIOLATIONS: usize = 50;

/// One violation.
pub(super) struct Violation {
    /// Path of the argument: `limit`, `entry.event`.
    pub(super) path: String,
    /// What is wrong.
    pub(super) problem: String,
    /// What is allowed: a description, or the values of an enum.
    pub(super) allowed: Value,
}

impl Violation {
    /// Translates an error of the validator. `root` is the tool's schema.
    pub(super) fn of(root: &Value, error: &ValidationError<'_>) -> Violation {
        let mut path = dotted(error.instance_path().as_str());
        let keyword = error.schema_path().as_str();
        let parent = keyword
            .rsplit_once('/')
            .map_or("", |(parent, _keyword)| parent);
        let mut schema = root.pointer(parent).unwrap_or(&Value::Null);
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
            // Masked, because the value may be long or secret.
            _ => error.masked_with("it").to_string(),
        };
        Violation {
            path,
            problem,
            allowed: allowed(root, schema),
        }
    }
}

impl Violation {
    /// The integer argument `name` of the schema `root` is further from zero than `most`.
    pub(super) fn beyond(root: &Value, name: &str, most: i64) -> Violation {
        let mut schema = root["properties"][name].clone();
        for (keyword, bound) in [("minimum", json!(-most)), ("maximum", json!(most))] {
            if schema[keyword].is_null() {
                schema[keyword] = bound;
            }
        }
        Violation {
            path: name.to_owned(),
            problem: "is too large for an integer".to_owned(),
            allowed: allowed(root, &schema),
        }
    }
}

/// The failure that lists all violations, as text for the model and as data for programs.
pub(super) fn failure(violations: Vec<Violation>) -> Failure {
    let mut sentences: Vec<String> = Vec::new();
    let mut listed = Vec::new();
    let cut_short = violations.len() > MOST_VIOLATIONS;
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
    if cut_short {
        sentences.push("and more".to_owned());
    }
    Failure::new(
        Fault::InvalidArguments,
        sentences.join("; "),
        "correct the listed arguments and call again; the tool's input schema has all rules",
    )
    .detail("violations", listed)
}

/// What a schema allows: an enum's values, or a description.
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

/// `/entry/event` → `entry.event`, with JSON Pointer's `~1` and `~0` decoded.
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
        on_one_line(&path).into_owned()
    }
}

/// Whether a schema names this type, alone or among others.
pub(super) fn has_type(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::String(one) => one == name,
        Value::Array(several) => several.iter().any(|one| one == name),
        _ => false,
    }
}
