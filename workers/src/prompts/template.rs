//! Parses a template into text and placeholders.
//!
//! It is parsed once. Inserted text is never parsed: neither a document nor an argument that
//! contains `{{…}}` names anything.

/// Maximum length in bytes between the braces: the longest URI and its keyword.
const MAX_PLACEHOLDER_BYTES: usize = 4096 * 3 + 300;
/// Maximum length in characters of an argument's name.
const MAX_ARGUMENT_CHARS: usize = 64;

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Literal text.
    Text(String),
    /// `{{tool:name}}`: the description of a tool, and its parameters.
    Tool(String),
    /// `{{resource:uri}}`: the text of a document or file.
    Resource(String),
    /// `{{result:name}}`: the last result of the tool in this session's workflow.
    Result(String),
    /// `{{name}}`: an argument of the caller.
    Argument(String),
    /// `{{word:name}}` with an unknown keyword. No other language uses such braces, so it is a
    /// mistake and not text.
    Unknown(String),
}

/// Parses a template. Braces that contain none of these are text.
pub(super) fn parse(template: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let placeholder = after.split_once("}}").and_then(|(inside, rest_after)| {
            let piece = parse_placeholder(inside.trim())
                .filter(|_| inside.len() <= MAX_PLACEHOLDER_BYTES)?;
            Some((piece, rest_after))
        });
        text.push_str(before);
        match placeholder {
            Some((piece, rest_after)) => {
                flush(&mut pieces, &mut text);
                pieces.push(piece);
                rest = rest_after;
            }
            None => {
                // One brace at a time: in `{{{a}}` the placeholder starts at the second brace.
                text.push('{');
                rest = rest.get(before.len() + 1..).unwrap_or_default();
            }
        }
    }
    text.push_str(rest);
    flush(&mut pieces, &mut text);
    pieces
}

fn flush(pieces: &mut Vec<Piece>, text: &mut String) {
    if !text.is_empty() {
        pieces.push(Piece::Text(std::mem::take(text)));
    }
}

/// Parses the text between the braces. `None` if it is ordinary text.
fn parse_placeholder(inside: &str) -> Option<Piece> {
    let (word, name) = match inside.split_once(':') {
        Some((word, name)) => (word, name.trim()),
        None if is_argument(inside) => return Some(Piece::Argument(inside.to_owned())),
        None => return None,
    };
    let owned = name.to_owned();
    match word.trim_end() {
        "tool" => Some(Piece::Tool(owned)),
        "resource" => Some(Piece::Resource(owned)),
        "result" => Some(Piece::Result(owned)),
        word if is_argument(word) && is_keyword_pair(inside, name) => {
            Some(Piece::Unknown(inside.to_owned()))
        }
        _ => None,
    }
}

/// Whether the name follows its colon directly and is one word, unlike a value in a map literal.
fn is_keyword_pair(inside: &str, name: &str) -> bool {
    let is_adjacent = inside.split_once(':').is_some_and(|(_, rest)| rest == name);
    is_adjacent && !name.is_empty() && !name.contains([' ', '\n', ','])
}

/// Whether `name` is a valid name of an argument.
pub(super) fn is_argument(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.len() <= MAX_ARGUMENT_CHARS && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    #[test]
    fn placeholders_are_parsed_apart_from_the_text() {
        let pieces = parse("a {{tool:x-y}}{{ code }}\n{{resource:repo://a/b c}} {{result:z}}.");
        let expected = [
            text("a "),
            Piece::Tool("x-y".to_owned()),
            Piece::Argument("code".to_owned()),
            text("\n"),
            Piece::Resource("repo://a/b c".to_owned()),
            text(" "),
            Piece::Result("z".to_owned()),
            text("."),
        ];
        assert_eq!(pieces, expected);
    }

    #[test]
    fn braces_of_other_languages_are_text() {
        for other in [
            "{{",
            "}}",
            "{{}}",
            "{{ a.b }}",
            "{{#each x}}",
            "{{a b}}",
            "{ {a} }",
            "{{x: y}}",
            "{{x:y, z:1}}",
            "{{x:}}",
            "{{'x':y}}",
        ] {
            assert_eq!(parse(other), [text(other)], "{other}");
        }
        let inner = [text("{"), Piece::Argument("a".to_owned()), text("}")];
        assert_eq!(parse("{{{a}}}"), inner);
        assert_eq!(parse(""), []);
    }

    #[test]
    fn an_unknown_keyword_is_not_text() {
        let unknown = |inside: &str| [Piece::Unknown(inside.to_owned())];
        for inside in ["argument:file", "Tool:grep_codebase", "x:y"] {
            assert_eq!(parse(&format!("{{{{ {inside} }}}}")), unknown(inside));
        }
        assert_eq!(parse("{{tool : x}}"), [Piece::Tool("x".to_owned())]);
    }
}
