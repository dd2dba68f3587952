//! A template taken apart: its text, and what is put between.
//!
//! It is taken apart once. What is put in is never looked into: neither a document nor an argument
//! that holds `{{…}}` names anything.

/// Bytes between the braces: the longest URI and its word.
const LONGEST: usize = 4096 * 3 + 300;
/// Characters of an argument's name.
const LONGEST_ARGUMENT: usize = 64;

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// As it stands.
    Text(String),
    /// `{{tool:name}}`: what the tool is for, and its parameters.
    Tool(String),
    /// `{{resource:uri}}`: the text of a document or file.
    Resource(String),
    /// `{{result:name}}`: what the tool answered last in this session's workflow.
    Result(String),
    /// `{{name}}`: what the caller gives.
    Argument(String),
    /// `{{word:name}}` with a word that means nothing: no other language has such braces, so it is
    /// a mistake and no text.
    Unknown(String),
}

/// Takes a template apart. Braces that name nothing of the kind are text.
pub(super) fn parse(template: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let named = after.split_once("}}").and_then(|(inside, behind)| {
            let piece = named(inside.trim()).filter(|_| inside.len() <= LONGEST)?;
            Some((piece, behind))
        });
        text.push_str(before);
        match named {
            Some((piece, behind)) => {
                flush(&mut pieces, &mut text);
                pieces.push(piece);
                rest = behind;
            }
            None => {
                // One brace at a time: in `{{{a}}` the second two open it.
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

fn named(inside: &str) -> Option<Piece> {
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
        word if is_argument(word) && is_close(inside, name) => {
            Some(Piece::Unknown(inside.to_owned()))
        }
        _ => None,
    }
}

/// Whether the name stands right behind its colon and is one word, as no value of a map does.
fn is_close(inside: &str, name: &str) -> bool {
    let is_beside = inside.split_once(':').is_some_and(|(_, rest)| rest == name);
    is_beside && !name.is_empty() && !name.contains([' ', '\n', ','])
}

/// Whether an argument can be called so.
pub(super) fn is_argument(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.len() <= LONGEST_ARGUMENT && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    #[test]
    fn what_braces_name_stands_apart_from_the_text() {
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
    fn a_word_that_means_nothing_is_no_text() {
        let unknown = |inside: &str| [Piece::Unknown(inside.to_owned())];
        for inside in ["argument:file", "Tool:grep_codebase", "x:y"] {
            assert_eq!(parse(&format!("{{{{ {inside} }}}}")), unknown(inside));
        }
        assert_eq!(parse("{{tool : x}}"), [Piece::Tool("x".to_owned())]);
    }
}
