//! Random queries: patterns made of existing words, so that they match something.

use std::{fs, path::PathBuf};

use rand::{Rng, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Value, json};

const GLOBS: [&str; 12] = [
    "*.rs",
    "**/*.rs",
    "*.{rs,md,txt}",
    "src/**",
    "/src/*/*.rs",
    "*",
    "**/m[0-4]*/**",
    "[!a-m]*",
    "tests/**/*.rs",
    "*e*",
    "docs/*.md",
    "*.toml",
];

/// A query for both engines.
#[derive(Debug)]
pub(super) struct SearchQuery {
    pub(super) pattern: String,
    pub(super) is_regex: bool,
    pub(super) case_sensitive: bool,
    pub(super) glob: Option<&'static str>,
}

impl SearchQuery {
    /// A random query about these files.
    pub(super) fn random(random: &mut StdRng, files: &[PathBuf]) -> SearchQuery {
        let is_regex = random.random_bool(0.6);
        let pattern = if is_regex {
            regex(random, files)
        } else {
            literal(random, files)
        };
        SearchQuery {
            pattern,
            is_regex,
            case_sensitive: random.random_bool(0.5),
            glob: random
                .random_bool(0.4)
                .then(|| *GLOBS.choose(random).unwrap()),
        }
    }

    /// Whether `grep_codebase` accepts it: it takes regexes only, and shorter ones.
    pub(super) fn fits_grep(&self) -> bool {
        self.is_regex && self.pattern.chars().count() <= 200
    }

    /// Arguments of a tool; `literals` if it has `is_regex`.
    pub(super) fn arguments(&self, glob: &str, literals: bool) -> Value {
        let mut arguments =
            json!({ "pattern": self.pattern, "case_sensitive": self.case_sensitive });
        if literals {
            arguments["is_regex"] = json!(self.is_regex);
            arguments["context_lines"] = json!(0);
        }
        if let Some(own) = self.glob {
            arguments[glob] = json!(own);
        }
        arguments
    }
}

/// A piece of a line, punctuation included.
fn literal(random: &mut StdRng, files: &[PathBuf]) -> String {
    let line = line(random, files);
    // ripgrep takes no `\r` in a literal, so a line of old Macintosh ends there.
    let line = line.trim().split('\r').next().unwrap_or_default();
    let characters: Vec<char> = line.chars().collect();
    let length = random.random_range(1..=12).min(characters.len());
    let start = random.random_range(0..=characters.len() - length);
    let piece: String = characters[start..start + length].iter().collect();
    if piece.is_empty() {
        "the".to_owned()
    } else {
        piece
    }
}

fn regex(random: &mut StdRng, files: &[PathBuf]) -> String {
    let (a, b) = (word(random, files), word(random, files));
    // A word has at least two letters of one byte each.
    let (head, tail) = a.split_at(1);
    let n = random.random_range(1..5);
    match random.random_range(0..19) {
        0 => a,
        1 => format!("{a}|{b}"),
        2 => format!(r"\b{a}\b"),
        3 => format!("^.*{a}"),
        4 => format!("{a}.*$"),
        5 => format!(r"^\s*{a}"),
        6 => format!(r"\w+{a}\w*"),
        7 => format!("[{a}]{{{n},}}x"),
        8 => format!(r"(?:{a}|{b})\s*[({{<]"),
        9 => format!(r"{a}\W+{b}"),
        10 => r"^$".to_owned(),
        11 => format!(r"^.{{{n}}}$"),
        12 => r"\d+\.\d+".to_owned(),
        13 => format!(r"(?i:{a})[^\w\s]"),
        14 => format!(r"\p{{Lu}}\w{{{n}}}\b"),
        // These would fool an index that took the wrong letters for required ones.
        15 => format!("({head}|{b}){tail}"),
        16 => format!("{head}(?:{b}){{0}}{tail}"),
        17 => "(?i)STRAße".to_owned(),
        _ => r"[;}]$".to_owned(),
    }
}

/// A word of letters, none of which is special in a regex.
fn word(random: &mut StdRng, files: &[PathBuf]) -> String {
    let line = line(random, files);
    let words: Vec<&str> = line
        .split(|c: char| !c.is_ascii_alphabetic())
        .filter(|word| word.len() > 1)
        .collect();
    words
        .choose(random)
        .map_or_else(|| "the".to_owned(), |word| (*word).to_owned())
}

/// A line that occurs in the files.
fn line(random: &mut StdRng, files: &[PathBuf]) -> String {
    for _ in 0..20 {
        let file = files.choose(random).expect("a file");
        let Ok(text) = fs::read_to_string(file) else {
            continue;
        };
        let lines: Vec<&str> = text.lines().filter(|line| line.trim().len() > 1).collect();
        if let Some(line) = lines.choose(random) {
            return (*line).to_owned();
        }
    }
    "the end".to_owned()
}
