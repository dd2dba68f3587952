//! The arguments that a caller passes to a prompt.

use std::collections::BTreeMap;

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::text;
use serde_json::{Map, Value, json};

use super::file::{Argument, Prompt};

/// Maximum size in bytes of arguments that a workflow stores whole.
const MAX_RECORDED: usize = 64 << 10;
/// Maximum length in characters of each argument otherwise.
const CUT_CHARS: usize = 1_000;

/// Validates the given arguments against those of the prompt.
pub(super) fn checked_arguments(
    prompt: &Prompt,
    given: Map<String, Value>,
) -> Result<BTreeMap<String, String>, Failure> {
    let names: Vec<&str> = prompt.arguments.iter().map(|it| it.name.as_str()).collect();
    let bad = |what: String| {
        let suggestion = match names.is_empty() {
            true => "the prompt takes no arguments".to_owned(),
            false => format!("the prompt takes {}", names.join(", ")),
        };
        Failure::new(Fault::InvalidArguments, what, suggestion)
    };
    let mut arguments = BTreeMap::new();
    for (name, value) in given {
        let shown = text::shown(&name).into_owned();
        if !names.contains(&name.as_str()) {
            return Err(bad(format!("the prompt has no argument {shown:?}")));
        }
        let Value::String(value) = value else {
            return Err(bad(format!("the argument {shown:?} is no string")));
        };
        arguments.insert(name, value);
    }
    let missing =
        |argument: &&Argument| argument.required && !arguments.contains_key(&argument.name);
    match prompt.arguments.iter().find(missing) {
        Some(missing) => Err(bad(format!("the argument {:?} is missing", missing.name))),
        None => Ok(arguments),
    }
}

/// The arguments in the form that a workflow stores: whole, or each cut to its beginning.
pub(super) fn recorded_arguments(given: &BTreeMap<String, String>) -> String {
    let whole = json!(given).to_string();
    if whole.len() <= MAX_RECORDED {
        return whole;
    }
    let cut = |value: &String| match value.char_indices().nth(CUT_CHARS) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.clone(),
    };
    let given = given.iter().map(|(name, value)| (name, cut(value)));
    json!(given.collect::<BTreeMap<_, _>>()).to_string()
}
