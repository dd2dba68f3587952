//! Random arguments: valid or invalid by a tool's schema, made of words with a meaning here.

use rand::{Rng, rngs::StdRng, seq::IndexedRandom as _};
use serde_json::{Map, Value, json};

/// Texts with a special meaning to some part.
const NASTY: [&str; 26] = [
    "",
    ".",
    "*",
    "/",
    "..",
    "%",
    "'",
    "[",
    ".*",
    "site",
    "common",
    "HEAD",
    "HEAD~1",
    "HEAD@{1}",
    "main",
    "src/lib.rs",
    "../../acme/site/src/lib.rs",
    "../zeta/site",
    "/etc/passwd",
    ".git/config",
    ".env",
    "gate",
    "{{resource:repo://site/src/lib.rs}}",
    "{{tool:grep_codebase}}",
    "\u{202e}",
    "' or tenant_id is not null --",
];

/// The material of arguments.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    /// Names and ids, the other tenant's included.
    pub(super) names: Vec<String>,
    pub(super) paths: Vec<String>,
    pub(super) slugs: Vec<String>,
    pub(super) revisions: Vec<String>,
    pub(super) uris: Vec<String>,
    /// Cursors from answers to either tenant.
    pub(super) cursors: Vec<String>,
}

impl Pool {
    /// A text for an argument of this name.
    pub(super) fn text(&self, name: &str, random: &mut StdRng) -> String {
        let kind = match name {
            "project" => &self.slugs,
            "path" | "file_path" | "directory" | "module" | "file" => &self.paths,
            "ref" | "ref1" | "ref2" | "since" | "until" => &self.revisions,
            "cursor" => &self.cursors,
            "uri" => &self.uris,
            _ => &self.names,
        };
        match random.random_range(0..20) {
            0 => NASTY.choose(random).unwrap().to_string(),
            1 => self.names.choose(random).cloned().unwrap_or_default(),
            _ => kind.choose(random).cloned().unwrap_or_default(),
        }
    }

    /// Arguments for a tool of this schema.
    pub(super) fn arguments(&self, schema: &Value, random: &mut StdRng) -> Value {
        let mut arguments = Map::new();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, about) in schema["properties"].as_object().into_iter().flatten() {
            let often = if required.contains(&json!(name)) || name == "project" {
                0.97
            } else {
                0.25
            };
            if random.random_bool(often) {
                arguments.insert(name.clone(), self.value(schema, about, name, random));
            }
        }
        if random.random_bool(0.03) {
            arguments.insert("tenant".to_owned(), json!(self.text("tenant", random)));
        }
        Value::Object(arguments)
    }

    fn value(&self, root: &Value, about: &Value, name: &str, random: &mut StdRng) -> Value {
        let about = resolved(root, about);
        if random.random_bool(0.02) {
            return json!([null, self.text(name, random)]);
        }
        if let Some(choices) = about["enum"].as_array() {
            return choices.choose(random).cloned().unwrap_or_default();
        }
        let kinds = match &about["type"] {
            Value::Array(kinds) => kinds.clone(),
            one => vec![one.clone()],
        };
        let kind = kinds.iter().find_map(Value::as_str).unwrap_or("string");
        match kind {
            "boolean" => json!(random.random_bool(0.5)),
            "integer" | "number" => {
                let bound = |name: &str, otherwise: i64| about[name].as_i64().unwrap_or(otherwise);
                let (least, most) = (bound("minimum", 0), bound("maximum", 50).min(1_000));
                // Small numbers make pages, and so cursors.
                let few = if random.random_bool(0.5) {
                    least + 2
                } else {
                    most
                };
                json!(random.random_range(least..=few.max(least)))
            }
            "array" => {
                let items = (0..random.random_range(0..3))
                    .map(|_| self.value(root, &about["items"], name, random));
                Value::Array(items.collect())
            }
            "object" => json!({
                "timestamp": "2026-01-07T14:00:00Z", "decision": self.text("text", random),
            }),
            _ => json!(self.text(name, random)),
        }
    }
}

/// A schema with its reference resolved, or the first of its alternatives.
fn resolved<'a>(root: &'a Value, about: &'a Value) -> &'a Value {
    let choices = about["anyOf"]
        .as_array()
        .or_else(|| about["oneOf"].as_array());
    let about = choices.and_then(|choices| choices.first()).unwrap_or(about);
    match about["$ref"].as_str().and_then(|uri| uri.strip_prefix('#')) {
        Some(pointer) => root.pointer(pointer).unwrap_or(about),
        None => about,
    }
}
