//! What a caller gives for a prompt's arguments.

use std::collections::BTreeMap;

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::text;
use serde_json::{Map, Value, json};

use super::file::{Argument, Prompt};

/// Bytes of arguments that a workflow remembers whole.
const MAX_REMEMBERED: usize = 64 << 10;
/// Characters of each otherwise.
const BEGINNING: usize = 1_000;

/// The arguments that were given, held against those that the prompt has.
pub(super) fn given(
    prompt: &Prompt,
    given: Map<String, Value>,
) -> Result<BTreeMap<String, String>, Failure> {
    let names: Vec<&str> = prompt.arguments.iter().map(|it| it.name.as_str()).collect();
    let bad = |what: String| {
        let suggestion = match names.is_empty() {
            true => "the prompt takes none".to_owned(),
            false => format!("the prompt takes {}", names.join(", ")),
        };
        Failure::new(Fault::InvalidArguments, what, suggestion)
    };
    let mut found = BTreeMap::new();
    for (name, value) in given {
        let shown = text::shown(&name).into_owned();
        if !names.contains(&name.as_str()) {
            return Err(bad(format!("the prompt has no argument {shown:?}")));
        }
        let Value::String(value) = value else {
            return Err(bad(format!("the argument {shown:?} is no string")));
        };
        found.insert(name, value);
    }
    let missing = |argument: &&Argument| argument.required && !found.contains_key(&argument.name);
    match prompt.arguments.iter().find(missing) {
        Some(missing) => Err(bad(format!("the argument {:?} is missing", missing.name))),
        None => Ok(found),
    }
}

/// The arguments as a workflow keeps them: whole, or each by its beginning.
pub(super) fn remembered(given: &BTreeMap<String, String>) -> String {
    let whole = json!(given).to_string();
    if whole.len() <= MAX_REMEMBERED {
        return whole;
    }
    let cut = |value: &String| match value.char_indices().nth(BEGINNING) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.clone(),
    };
    let given = given.iter().map(|(name, value)| (name, cut(value)));
    json!(given.collect::<BTreeMap<_, _>>()).to_string()
}
