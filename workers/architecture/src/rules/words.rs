//! Finds names in code: whole words, outside of comments and strings.

use std::ops::Range;

use tree_sitter::Node;

use archway_repo::{
    Cancel, Stopped,
    syntax::{Syntax, Walk},
};

/// The longest name, in bytes.
const MAX_NAME: usize = 100;

/// File extensions: a name with one is a path, which code doesn't contain.
const FILE_EXTENSIONS: [&str; 24] = [
    "c", "cc", "cpp", "cs", "css", "go", "h", "hpp", "html", "java", "js", "json", "jsx", "md",
    "php", "py", "rb", "rs", "sql", "toml", "ts", "tsx", "yaml", "yml",
];

/// A name to find in code. `*` matches any part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name(String);

/// Code with comments and strings replaced by spaces.
pub(super) struct CodeWords(String);

impl Name {
    /// Parses the text between backticks as a name: `f(x)` is `f`, `Vec<T>` is `Vec`. Returns
    /// `None` for paths, flags, operators and the like.
    pub(super) fn of(written: &str) -> Option<Name> {
        let end = written.find(['(', '<']).unwrap_or(written.len());
        let name = written.get(..end)?.trim().trim_end_matches(';');
        let is_part = |c: char| c.is_alphanumeric() || "_.:->#@$!?*".contains(c);
        let begins = |c: char| c.is_alphanumeric() || "_.@#$*".contains(c);
        let is_file = name
            .rsplit_once('.')
            .is_some_and(|(stem, suffix)| !stem.is_empty() && FILE_EXTENSIONS.contains(&suffix));
        let is_name = name.len() <= MAX_NAME
            && name.starts_with(begins)
            && name.chars().all(is_part)
            && name.contains(|c: char| c.is_alphabetic() || c == '_')
            && !is_file;
        is_name.then(|| Name(name.to_owned()))
    }

    /// Whether the text stands for each use of its name: `f(x)` and `Vec<T>` mean any `f` and any
    /// `Vec`, but `f(debug=True)` and `Vec<u8>` don't.
    pub(super) fn is_general(written: &str) -> bool {
        let end = written.find(['(', '<']).unwrap_or(written.len());
        let rest = written.get(end..).unwrap_or_default();
        let rest = rest.trim().trim_end_matches(';');
        let inside = rest
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'));
        let kinds = rest
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'));
        let parts = inside.or(kinds).unwrap_or(rest).split(',').map(str::trim);
        parts.into_iter().all(|part| match kinds {
            Some(_) => matches!(part, "_" | "...") || part.len() <= 1,
            None => matches!(part, "..." | "…") || is_placeholder(part),
        })
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the name is a pattern.
    fn is_glob(&self) -> bool {
        self.0.contains('*')
    }
}

impl CodeWords {
    /// Blanks comments and strings in `code`, if there is a syntax tree.
    ///
    /// # Errors
    /// If the call is cancelled.
    pub(super) fn of(
        code: &str,
        syntax: Option<&Syntax<'_>>,
        cancel: &Cancel,
    ) -> Result<CodeWords, Stopped> {
        let mut text = code.as_bytes().to_vec();
        if let Some(syntax) = syntax {
            syntax.walk(syntax.root(), cancel, |node| {
                blank_literals(node, code, &mut text)
            })?;
        }
        // Only whole characters are blanked, so the conversion is lossless.
        Ok(CodeWords(String::from_utf8_lossy(&text).into_owned()))
    }

    /// The 1-based lines that contain the name, without duplicates.
    ///
    /// # Errors
    /// If the call is cancelled.
    pub(super) fn lines_with(&self, name: &Name, cancel: &Cancel) -> Result<Vec<usize>, Stopped> {
        let mut lines = Vec::new();
        for (nth, line) in self.0.split('\n').enumerate() {
            if nth.is_multiple_of(1024) {
                cancel.check()?;
            }
            let is_present = if name.is_glob() {
                words_of(line).any(|word| matches_pattern(&name.0, word))
            } else {
                has_word(line, &name.0)
            };
            if is_present {
                lines.push(nth + 1);
            }
        }
        Ok(lines)
    }
}

/// Whether an argument is a placeholder for any value.
fn is_placeholder(argument: &str) -> bool {
    let is_value = ["true", "false", "none", "null", "nil"]
        .iter()
        .any(|value| argument.eq_ignore_ascii_case(value));
    !is_value && argument.chars().all(|c| c.is_alphabetic() || c == '_')
}

/// Blanks a comment or a string. Restores code that is interpolated into a string.
fn blank_literals(node: Node<'_>, code: &str, text: &mut [u8]) -> Walk {
    let kind = node.kind();
    if !node.is_named() {
        return Walk::Into;
    }
    if kind.contains("interpolation") || kind.contains("substitution") {
        restore(code, node.byte_range(), text);
        return Walk::Into;
    }
    let is_comment = kind.contains("comment");
    if is_comment || is_string(kind) {
        for byte in text.get_mut(node.byte_range()).unwrap_or_default() {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    if is_comment { Walk::Past } else { Walk::Into }
}

fn restore(code: &str, range: Range<usize>, text: &mut [u8]) {
    if let (Some(from), Some(to)) = (code.as_bytes().get(range.clone()), text.get_mut(range)) {
        to.copy_from_slice(from);
    }
}

/// Whether a grammar's node kind is a string.
fn is_string(kind: &str) -> bool {
    kind.contains("string")
        || matches!(
            kind,
            "char_literal"
                | "character_literal"
                | "rune_literal"
                | "character"
                | "heredoc_body"
                | "heredoc"
                | "nowdoc"
                | "nowdoc_body"
                | "regex"
                | "jsx_text"
                | "text"
        )
}

fn words_of(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

fn has_word(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line
            .get(at + name.len()..)
            .and_then(|text| text.chars().next());
        let continues = |inside: Option<char>, outside: Option<char>| {
            inside.is_some_and(is_word) && outside.is_some_and(is_word)
        };
        !continues(name.chars().next(), before) && !continues(name.chars().next_back(), after)
    })
}

/// Whether a word matches a pattern with `*`. Each part matches as early as possible, which leaves
/// the most for the rest, so no backtracking is needed.
fn matches_pattern(pattern: &str, word: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| word.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_backticks_are_parsed() {
        for (written, name) in [
            ("eval", Some("eval")),
            ("find_by_id()", Some("find_by_id")),
            ("fetch(url, { x })", Some("fetch")),
            ("Result<T, E>", Some("Result")),
            ("std::fs", Some("std::fs")),
            ("console.log", Some("console.log")),
            ("println!", Some("println!")),
            ("@Injectable", Some("@Injectable")),
            (".unwrap()", Some(".unwrap")),
            ("*Repository", Some("*Repository")),
            ("straße", Some("straße")),
            ("==", None),
            ("?", None),
            ("--flag", None),
            ("src/db", None),
            ("client.ts", None),
            ("SELECT 1", None),
            ("\"text\"", None),
            ("", None),
        ] {
            assert_eq!(
                Name::of(written).map(|name| name.0).as_deref(),
                name,
                "{written}"
            );
        }
        assert_eq!(Name::of(&"x".repeat(MAX_NAME + 1)), None);
    }

    #[test]
    fn calls_with_literal_arguments_are_not_general() {
        for written in [
            "eval",
            "f()",
            "f(x)",
            "f(path, ...)",
            "Vec<T>",
            "Map<K, V>",
            "f(x);",
        ] {
            assert!(Name::is_general(written), "{written}");
        }
        for written in [
            "f(0)",
            "f(debug=True)",
            "f(True)",
            "f('a')",
            "f().g()",
            "Vec<u8>",
        ] {
            assert!(!Name::is_general(written), "{written}");
        }
    }

    #[test]
    fn only_whole_words_count() {
        for (line, name, is_present) in [
            ("eval(x)", "eval", true),
            ("x.eval", "eval", true),
            ("medieval()", "eval", false),
            ("eval_all()", "eval", false),
            ("$eval", "eval", false),
            ("a; medieval(eval)", "eval", true),
            ("x.unwrap()", ".unwrap", true),
            ("x.unwrap_or()", ".unwrap", false),
            ("println!(x)", "println!", true),
            ("eprintln!(x)", "println!", false),
            ("größe(x)", "größ", false),
        ] {
            assert_eq!(has_word(line, name), is_present, "{line}");
        }
    }

    #[test]
    fn a_star_matches_any_part_of_a_word() {
        for (pattern, word, fit) in [
            ("*Repository", "UserRepository", true),
            ("*Repository", "Repository", true),
            ("*Repository", "RepositoryImpl", false),
            ("get*", "getUser", true),
            ("get*", "forget", false),
            ("I*Service", "IUserService", true),
            ("I*Service", "IService", true),
            ("I*e", "I", false),
            ("*a*b*", "xaxbx", true),
            ("*a*b*", "xbxax", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(matches_pattern(pattern, word), fit, "{pattern} {word}");
        }
    }
}
