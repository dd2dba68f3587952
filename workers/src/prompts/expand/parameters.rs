//! Describes a tool and its parameters as text.

use std::fmt::Write as _;

use archway_proto::catalog::ToolEntry;
use serde_json::Value;

/// The tool's name, description and parameters, one line each.
pub(super) fn described(tool: &ToolEntry) -> String {
    let mut text = format!("Tool: {}\nDescription: {}\n", tool.name, tool.description);
    let schema = &tool.input_schema;
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    let parameters = schema.get("properties").and_then(Value::as_object);
    let Some(parameters) = parameters.filter(|all| !all.is_empty()) else {
        text += "Parameters: none";
        return text;
    };
    text += "Parameters:";
    let (required_ones, others): (Vec<_>, Vec<_>) =
        parameters.iter().partition(|(name, _)| is_required(name));
    for (name, schema) in required_ones.into_iter().chain(others) {
        let requirement = if is_required(name) {
            "required"
        } else {
            "optional"
        };
        let description = schema.get("description").and_then(Value::as_str);
        // Writing to a String never fails.
        _ = write!(
            text,
            "\n  - {name} ({requirement}): {}",
            description.unwrap_or("see the schema")
        );
        if let Some(bounds) = bounds(schema) {
            _ = write!(text, " ({bounds})");
        }
    }
    text
}

/// The allowed values, as far as the schema limits them.
fn bounds(schema: &Value) -> Option<String> {
    let number = |name: &str| schema.get(name).filter(|it| it.is_number());
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        return Some(format!("one of {}", values.join(", ")));
    }
    match (number("maxLength"), number("minimum"), number("maximum")) {
        (Some(most), _, _) => Some(format!("max {most} chars")),
        (None, Some(least), Some(most)) => Some(format!("{least} to {most}")),
        (None, Some(least), None) => Some(format!("at least {least}")),
        (None, None, Some(most)) => Some(format!("at most {most}")),
        (None, None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use archway_proto::catalog::Scope;
    use serde_json::json;

    use super::*;

    fn tool(schema: Value) -> ToolEntry {
        let Value::Object(input_schema) = schema else {
            panic!("no object");
        };
        ToolEntry {
            name: "validate_pattern".to_owned(),
            title: String::new(),
            description: "Checks code.".to_owned(),
            input_schema,
            output_schema: serde_json::Map::new(),
            read_only: true,
            idempotent: true,
            once: false,
            family: "architecture".to_owned(),
            scope: Scope::ToolsRead,
            per_minute: None,
            weight: 1,
        }
    }

    #[test]
    fn a_tool_is_described_with_its_parameters_and_their_bounds() {
        let tool = tool(json!({
            "properties": {
                "code": { "description": "Code to check", "maxLength": 50_000 },
                "language": { "description": "Its language" },
                "limit": { "description": "Most", "minimum": 1, "maximum": 20 },
                "kind": { "description": "Which", "enum": ["a", "b"] },
            },
            "required": ["code", "kind"],
        }));
        let expected = "Tool: validate_pattern\nDescription: Checks code.\nParameters:\n  \
            - code (required): Code to check (max 50000 chars)\n  \
            - kind (required): Which (one of a, b)\n  \
            - language (optional): Its language\n  \
            - limit (optional): Most (1 to 20)";
        assert_eq!(described(&tool), expected);
    }

    #[test]
    fn a_tool_without_parameters_says_so() {
        let text = described(&tool(json!({ "properties": {} })));
        assert!(text.ends_with("Parameters: none"));
    }
}
