//! A changed field: its value before and after, and whether the file leaves it out.

use archway_proto::misleading::on_one_line;
use serde::Serialize;
use serde_json::Value;

/// Fields that narrow what callers see. A file that leaves one out may show more than before.
const HIDING: [&str; 4] = ["allow", "close", "projects", "families"];
/// Settings of a connection that do the same. An empty one counts as left out.
const HIDING_SETTINGS: [&str; 2] = ["exclude", "permissions"];
/// The most characters of a value, and items of a list, that the text shows.
const MOST_CHARACTERS: usize = 100;
const MOST_ITEMS: usize = 10;

/// A changed field.
#[derive(Debug, Serialize)]
pub(super) struct FieldChange {
    pub(super) field: &'static str,
    /// Absent for a secret.
    #[serde(flatten)]
    values: Option<Values>,
    /// Whether the file leaves it out, which resets it.
    left_out: bool,
}

#[derive(Debug, Serialize)]
struct Values {
    before: Value,
    after: Value,
}

impl FieldChange {
    /// The change of a field; `None` if it stays as it is.
    pub(super) fn of<T: PartialEq + Serialize>(
        field: &'static str,
        before: &T,
        after: &T,
    ) -> Option<Self> {
        (before != after).then(|| FieldChange {
            field,
            values: Some(Values {
                before: serde_json::to_value(before).unwrap_or_default(),
                after: serde_json::to_value(after).unwrap_or_default(),
            }),
            left_out: false,
        })
    }

    /// The same of objects, with the members that differ only.
    pub(super) fn of_members(field: &'static str, before: &Value, after: &Value) -> Option<Self> {
        let mut change = FieldChange::of(field, before, after)?;
        if let Some(Values { before, after }) = &mut change.values {
            let old = before.take();
            *before = without(&old, after);
            *after = without(after, &old);
        }
        Some(change)
    }

    /// The change of a secret, which is not shown.
    pub(super) fn of_secret(field: &'static str) -> Self {
        FieldChange {
            field,
            values: None,
            left_out: false,
        }
    }

    /// Notes that the file leaves the field out, if it is among these.
    pub(super) fn among(mut self, left_out: &[&'static str]) -> Self {
        self.left_out = left_out.contains(&self.field);
        self
    }

    /// `close: [private/] → [] (left out, so reset)`.
    pub(super) fn text(&self) -> String {
        let field = self.field;
        let Some(Values { before, after }) = &self.values else {
            return format!("{field}: changed, and not shown");
        };
        let (before, after) = (shown(field, before), shown(field, after));
        let why = match self.left_out {
            true => " (left out, so reset)",
            false => "",
        };
        format!("{field}: {before} → {after}{why}")
    }

    /// What to say of each field that hid something, and hides nothing because the file leaves it out.
    pub(super) fn warnings(&self) -> Vec<String> {
        let Some(Values { before, after }) = &self.values else {
            return Vec::new();
        };
        let (field, null) = (self.field, Value::Null);
        if self.left_out && HIDING.contains(&field) {
            return vec![warning(field, before, after)];
        }
        let members = HIDING_SETTINGS.into_iter().filter(|_| field == "settings");
        let members = members.map(|name| (name, before.get(name), after.get(name)));
        let lost = members.filter(|(_, before, after)| is_set(*before) && !is_set(*after));
        lost.map(|(name, before, after)| {
            warning(name, before.unwrap_or(&null), after.unwrap_or(&null))
        })
        .collect()
    }
}

fn warning(field: &str, before: &Value, after: &Value) -> String {
    let (before, after) = (shown(field, before), shown(field, after));
    format!(
        "{field} is left out, so {before} becomes {after}, and callers may see more: write it to keep it"
    )
}

/// Whether a setting of a connection has a value.
fn is_set(value: Option<&Value>) -> bool {
    value.is_some_and(|value| {
        !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty())
    })
}

/// The members of an object that another one has not, or has otherwise.
fn without(object: &Value, other: &Value) -> Value {
    let Value::Object(members) = object else {
        return object.clone();
    };
    let absent = Value::Null;
    let differ = members
        .iter()
        .filter(|(name, value)| **value != *other.get(name).unwrap_or(&absent));
    differ
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// A value on one line, cut if it is long.
fn shown(field: &str, value: &Value) -> String {
    match value {
        Value::Null => default_of(field).to_owned(),
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => cut(text),
        Value::Array(items) => {
            let mut listed: Vec<_> = items
                .iter()
                .take(MOST_ITEMS)
                .map(|it| shown("", it))
                .collect();
            if items.len() > MOST_ITEMS {
                listed.push(format!("… {} more", items.len() - MOST_ITEMS));
            }
            format!("[{}]", listed.join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value)| format!("{name}: {}", shown("", value));
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{{}}}", members.join(", "))
        }
        other => other.to_string(),
    }
}

fn cut(text: &str) -> String {
    let text = on_one_line(text);
    let mut rest = text.chars();
    let first: String = rest.by_ref().take(MOST_CHARACTERS).collect();
    match rest.next() {
        None => first,
        Some(_) => format!("{first}…"),
    }
}

/// What a field means without a value.
fn default_of(field: &str) -> &'static str {
    match field {
        "name" => "the slug",
        "allow" => "the built-in list",
        "projects" | "families" => "all",
        "expires" => "never",
        "git" => "a folder",
        _ => "none",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(field: &'static str, before: Value, after: Value) -> String {
        FieldChange::of_members(field, &before, &after)
            .unwrap()
            .text()
    }

    #[test]
    fn long_values_are_cut_and_absent_ones_have_words() {
        let many: Vec<String> = (0..12).map(|number| format!("d{number}/")).collect();
        let shown = text("close", json!(many), json!(["a\nb", "x".repeat(200)]));
        assert!(shown.contains("d9/, … 2 more] → [a\\nb, xxx"), "{shown}");
        assert!(shown.ends_with("x…]") && shown.len() < 250, "{shown}");
        assert_eq!(
            text("allow", Value::Null, json!([])),
            "allow: the built-in list → []"
        );
        assert_eq!(
            text("name", json!(""), Value::Null),
            "name: \"\" → the slug"
        );
        let (one, other) = (
            json!({ "url": "a", "ref": "x" }),
            json!({ "url": "b", "ref": "x" }),
        );
        assert_eq!(text("git", one, other), "git: {url: a} → {url: b}");
        assert_eq!(
            FieldChange::of_secret("hash").text(),
            "hash: changed, and not shown"
        );
    }

    #[test]
    fn only_a_hiding_field_that_is_left_out_warns() {
        let change = |field| FieldChange::of(field, &Some(["a"]), &None).unwrap();
        assert!(change("close").warnings().is_empty());
        assert!(change("name").among(&["name"]).warnings().is_empty());
        let warning = &change("families").among(&["families"]).warnings()[0];
        assert!(
            warning.starts_with("families is left out, so [a] becomes all"),
            "{warning}"
        );
        let before = json!({ "exclude": ["secret-*"], "permissions": "host", "max": 5 });
        let settings = FieldChange::of_members("settings", &before, &json!({ "exclude": [] }));
        let warnings = settings.unwrap().warnings();
        assert!(
            warnings[0].starts_with("exclude is left out, so [secret-*] becomes []"),
            "{warnings:?}"
        );
        assert!(
            warnings[1].starts_with("permissions is left out, so host becomes none"),
            "{warnings:?}"
        );
    }
}
