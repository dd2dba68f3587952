//! How a definition is shown: its lines, its signature on one line, the first sentence of its comment.

use archway_repo::syntax::Language;
use tree_sitter::Node;

use crate::{Kind, define::Found, naming::row};

/// Longest signature, in characters.
const MAX_SIGNATURE: usize = 300;
/// Longest doc, in characters.
const MAX_DOC: usize = 200;
/// Lines of a comment that are read.
const MAX_DOC_LINES: usize = 40;
/// Bytes at the start of a text that may say that a program wrote it.
const HEAD: usize = 1_000;

/// What is shown of a definition.
pub(crate) struct Description {
    pub(crate) lines: (u32, u32),
    pub(crate) signature: Box<str>,
    pub(crate) doc: Option<Box<str>>,
    pub(crate) is_test: bool,
}

pub(crate) fn describe(language: Language, text: &str, found: &Found<'_>) -> Description {
    let start = declaration_start(found.outer);
    let end = found.outer.end_position();
    // A node may end at the start of the line after it.
    let last = end.row.saturating_sub(usize::from(end.column == 0));
    let first = found.outer.start_position().row;
    let above = comments_above(language, text, found.outer.start_byte());
    let doc = match language {
        Language::Python => found.body.and_then(|body| docstring(text, body)),
        _ => None,
    };
    let doc = doc.or_else(|| first_sentence(&above.words));
    Description {
        lines: (row(first), row(last.max(first))),
        signature: signature(text, start, found).into(),
        doc: doc.map(Into::into),
        is_test: above.is_test,
    }
}

/// Where a declaration begins after its decorators and annotations.
fn declaration_start(outer: Node<'_>) -> usize {
    let mut node = outer;
    // Modifiers and wrappers are nested a few levels deep.
    for _ in 0..4 {
        let mut cursor = node.walk();
        let mut children = node.children(&mut cursor);
        let is_mark = |child: &Node<'_>| {
            matches!(
                child.kind(),
                "annotation" | "marker_annotation" | "attribute_list" | "decorator"
            )
        };
        let Some(first) = children.find(|child| !is_mark(child)) else {
            return node.start_byte();
        };
        if !matches!(first.kind(), "modifiers" | "decorated_definition") {
            return first.start_byte();
        }
        let mut inner = first.walk();
        let has_words = first.children(&mut inner).any(|child| !is_mark(&child));
        if !has_words {
            return children
                .next()
                .map_or(node.start_byte(), |next| next.start_byte());
        }
        node = first;
    }
    node.start_byte()
}

fn signature(text: &str, start: usize, found: &Found<'_>) -> String {
    let is_value = |body: &Node<'_>| !body.kind().contains("body") && !found.kind.is_type();
    let is_short = matches!(found.kind, Kind::Constant | Kind::Variable | Kind::Field);
    let end = match found.body {
        // A value says what a constant is.
        Some(body) if is_short && is_value(&body) => found.outer.end_byte(),
        Some(body) => body.start_byte(),
        None => found.outer.end_byte(),
    };
    let part = text.get(start..end).unwrap_or_default();
    let part = match found.kind {
        Kind::Constant | Kind::Variable | Kind::Field | Kind::Macro | Kind::Module => {
            part.lines().next().unwrap_or_default()
        }
        _ => part,
    };
    let mut line = String::new();
    for word in part.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > 4 * MAX_SIGNATURE {
            break;
        }
    }
    let line = line.trim_end_matches(['{', ':', '=', ';', ',', ' ']);
    let line = line.strip_suffix("=>").unwrap_or(line).trim_end();
    cut(line, MAX_SIGNATURE)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let end = text.char_indices().nth(most - 1).map_or(0, |(at, _)| at);
            format!("{}…", text.get(..end).unwrap_or_default())
        }
    }
}

/// The comment lines directly above a declaration.
#[derive(Default)]
struct Above {
    /// Without the comment's marks, in order.
    words: Vec<String>,
    /// Whether an attribute says that it is a test.
    is_test: bool,
}

fn comments_above(language: Language, text: &str, start: usize) -> Above {
    let before = text.get(..start).unwrap_or_default();
    let before = before.get(..before.rfind('\n').map_or(0, |end| end + 1));
    let mut above = Above::default();
    for line in before.unwrap_or_default().lines().rev().take(MAX_DOC_LINES) {
        let line = line.trim();
        if is_attribute(language, line) {
            let test = [
                "#[test",
                "::test]",
                "#[cfg(test)]",
                "@Test",
                "[Fact",
                "[Test",
                "[Theory",
            ];
            above.is_test |= test.iter().any(|mark| line.contains(mark));
            continue;
        }
        let Some(words) = comment_words(language, line) else {
            break;
        };
        above.words.push(words.to_owned());
    }
    above.words.reverse();
    above
}

fn is_attribute(language: Language, line: &str) -> bool {
    match language {
        Language::Rust => line.starts_with("#[") || line.starts_with("#!["),
        Language::CSharp => line.starts_with('[') && line.ends_with(']'),
        Language::Php => line.starts_with("#["),
        Language::Python | Language::Ruby | Language::C | Language::Cpp | Language::Go => false,
        _ => line.starts_with('@') && !line.contains("*/"),
    }
}

/// The words of a line of a comment; `None` if it is none.
fn comment_words(language: Language, line: &str) -> Option<&str> {
    let is_script = matches!(language, Language::Python | Language::Ruby);
    if is_script {
        return line
            .strip_prefix('#')
            .map(|it| it.trim_start_matches(['#', ':', ' ']));
    }
    let is_comment = line.starts_with("//") || line.starts_with('*') || line.starts_with("/*");
    // Rust's comments on the module above are not the item's.
    let is_outer = language != Language::Rust || !line.starts_with("//!");
    let line = line.strip_suffix("*/").unwrap_or(line);
    (is_comment && is_outer).then(|| {
        line.trim_start_matches(['/', '*', '!', ' ', '<'])
            .trim_end()
    })
}

/// The string at the start of a Python body.
fn docstring(text: &str, body: Node<'_>) -> Option<String> {
    let first = body.named_child(0)?;
    let string = match first.kind() {
        "expression_statement" => first.named_child(0)?,
        _ => first,
    };
    if body.kind() != "block" || string.kind() != "string" {
        return None;
    }
    let quoted = text.get(string.byte_range())?;
    let words = quoted.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let words = words.trim_matches(['"', '\'']);
    let lines = words.lines().take(MAX_DOC_LINES);
    first_sentence(&lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>())
}

/// The first sentence of the first paragraph.
fn first_sentence(lines: &[String]) -> Option<String> {
    let is_blank = |line: &&String| line.is_empty();
    let is_tag = |line: &str| line.starts_with('@') || line.starts_with("<summary>");
    let lines = lines.iter().skip_while(is_blank);
    let lines = lines.filter(|line| !line.starts_with("summary>") && !is_tag(line));
    let lines = lines.take_while(|line| !line.is_empty() && !line.starts_with("/summary>"));
    let words: Vec<&str> = lines.flat_map(|line| line.split_whitespace()).collect();
    let words = words.join(" ");
    let is_end = |at: &usize| {
        let next = words.get(at + 1..).unwrap_or_default().chars().next();
        next.is_none_or(char::is_whitespace)
    };
    let mut stops = words.match_indices(['.', '!', '?']).map(|(at, _)| at);
    let end = stops.find(is_end).map_or(words.len(), |at| at + 1);
    let sentence = words.get(..end).unwrap_or_default();
    let has_words = sentence.chars().any(char::is_alphanumeric);
    has_words.then(|| cut(sentence, MAX_DOC))
}

/// Whether the head of a text says that a program wrote it: the marks of GitHub Linguist.
pub(crate) fn is_generated(text: &str) -> bool {
    let head = text
        .get(..text.floor_char_boundary(HEAD))
        .unwrap_or_default();
    let head = head.to_ascii_lowercase();
    let marks = [
        "@generated",
        "do not edit",
        "do not modify this file",
        "<auto-generated",
    ];
    let is_said = head.contains("generated") || head.contains("autogenerated");
    is_said && marks.iter().any(|mark| head.contains(mark))
}
