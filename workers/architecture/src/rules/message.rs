//! A rule's message, with what its variables stand for in the code put in.
//!
//! ast-grep would put in all of it, any number of times: a short message could become gigabytes.

use ast_grep_core::{Node, meta_var::MetaVarEnv, source::Doc};

/// The longest text put in for a variable, in bytes.
const MAX_VALUE: usize = 80;

/// The longest message, in bytes.
const MAX_MESSAGE: usize = 500;

/// `message` with the values of its variables. A variable that has none stays as it is written.
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

/// How the variable at the start of `text` is written, and what it stands for.
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

/// The beginning of a text, in `most` bytes and an ellipsis.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.get(..text.floor_char_boundary(most)) {
        Some(start) if start.len() < text.len() => format!("{start}…"),
        _ => text.to_owned(),
    }
}
