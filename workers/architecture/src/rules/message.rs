//! Fills a rule's message with the values of its variables.
//!
//! ast-grep would insert values without a limit: a short message could grow to gigabytes.

use ast_grep_core::{Node, meta_var::MetaVarEnv, source::Doc};

/// The longest value that is inserted, in bytes.
const MAX_VALUE: usize = 80;

/// The longest message, in bytes.
const MAX_MESSAGE: usize = 500;

/// `message` with the values of its variables. A variable without a value stays as written.
pub(super) fn fill<D: Doc>(message: &str, env: &MetaVarEnv<'_, D>) -> String {
    let mut filled = String::new();
    let mut rest = message;
    while let Some(at) = rest.find('$').filter(|_| filled.len() < MAX_MESSAGE) {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        filled.push_str(before);
        let (written, value) = variable(from, env);
        match value {
            Some(value) => filled.push_str(&cut(value.trim(), MAX_VALUE)),
            None => filled.push_str(written),
        }
        rest = from.get(written.len()..).unwrap_or_default();
    }
    filled.push_str(rest);
    cut(&filled, MAX_MESSAGE)
}

/// The variable at the start of `text`, as written, and its value.
fn variable<'t, D: Doc>(text: &'t str, env: &MetaVarEnv<'_, D>) -> (&'t str, Option<String>) {
    let dollars = text.bytes().take_while(|&byte| byte == b'$').count();
    let name = text.get(dollars..).unwrap_or_default();
    let is_part = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let name = name
        .get(..name.bytes().take_while(is_part).count())
        .unwrap_or_default();
    let written = text.get(..dollars + name.len()).unwrap_or_default();
    let value = match dollars {
        1 | 2 => env.get_match(name).map(|node| node.text().into_owned()),
        3 => several(&env.get_multiple_matches(name)),
        _ => None,
    };
    (written, value)
}

fn several<D: Doc>(nodes: &[Node<'_, D>]) -> Option<String> {
    let shown = nodes.iter().take(MAX_VALUE).map(Node::text);
    let text: String = shown.collect();
    (!nodes.is_empty()).then_some(text)
}

/// The beginning of a text: at most `most` bytes, with an ellipsis if it is cut.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.get(..text.floor_char_boundary(most)) {
        Some(start) if start.len() < text.len() => format!("{start}…"),
        _ => text.to_owned(),
    }
}
