//! Reads a query: which texts to search for, and what it asks for.
//!
//! A short query is searched for as it is. A long one, like a bug report, ranks worse as a whole than
//! its title does: so its title, the names in it and the frames of its traceback are searched for one
//! by one, and the lists fused by weight.

use archway_store::Source;

use super::role::Role;
use super::terms::{self, Term};

/// Longer queries, in bytes, are read in parts.
const SHORT: usize = 300;
/// Longest title, in bytes.
const MAX_TITLE: usize = 200;
/// Names and frames that are searched for.
const MAX_NAMES: usize = 20;
const MAX_FRAMES: usize = 4;
/// Bytes of a frame that are searched for.
const MAX_FRAME: usize = 200;
/// Paths in a query that are looked at.
const MAX_PATHS: usize = 20;

/// What a query is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// One to three words, one of them an identifier.
    Identifier,
    /// A question: where, how, which.
    Question,
    /// An error or a report of one.
    Error,
    /// Any other text: it describes what it seeks.
    Sentence,
}

/// A query that was read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What it is.
    pub kind: QueryKind,
    /// The texts to search for, with their weights. The first is the title, or the whole query.
    pub texts: Vec<(String, f32)>,
    /// Whether it asks for tests, documents or examples.
    pub asks_for_secondary: bool,
    /// The words of all texts, sorted.
    words: Vec<Term>,
    /// The paths in it, in lower case.
    paths: Vec<String>,
}

/// What the documents of a text say about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// What the text is for: code, if any of its documents is.
    pub role: Role,
    /// Whether the query names the path.
    pub is_named: bool,
}

impl Reading {
    /// Reads a query.
    pub fn of(query: &str) -> Reading {
        let title = title(query);
        let kind = kind(query, title);
        let mut texts = vec![(query.to_owned(), 1.0)];
        if query.len() > SHORT || query.trim().contains('\n') {
            texts = vec![(title.to_owned(), TITLE_WEIGHT)];
            let parts = [
                (names(query), NAMES_WEIGHT),
                (frames(query), FRAMES_WEIGHT),
                (query.to_owned(), WHOLE_WEIGHT),
            ];
            texts.extend(parts.into_iter().filter(|(text, _)| !text.is_empty()));
        }
        let named = texts.iter().take(2).map(|(text, _)| text.as_str());
        let named: Vec<&str> = named.collect();
        Reading {
            kind,
            asks_for_secondary: asks_for_secondary(title),
            words: terms::query_terms(&named.join(" ")),
            paths: paths(query),
            texts,
        }
    }

    /// What these documents of a text say about it.
    pub fn place<'a>(&self, documents: impl Iterator<Item = (Source, &'a [u8])>) -> Place {
        let mut place: Option<Place> = None;
        for (source, name) in documents {
            let path = String::from_utf8_lossy(name);
            let role = match source {
                Source::File => Role::of(&path),
                Source::Discovery | Source::Entry => Role::Code,
            };
            let is_named = source == Source::File && self.names_path(&path.to_lowercase());
            let known = place.get_or_insert(Place { role, is_named });
            if role == Role::Code {
                known.role = role;
            }
            known.is_named |= is_named;
        }
        place.unwrap_or_default()
    }

    /// The share of a name's words that the query has, 0 to 1.
    pub(crate) fn share_of(&self, name: &str) -> f32 {
        let terms = terms::query_terms(name);
        let known = terms
            .iter()
            .filter(|term| self.words.binary_search(term).is_ok());
        #[expect(clippy::cast_precision_loss, reason = "a name has few words")]
        let share = known.count() as f32 / terms.len().max(1) as f32;
        share
    }

    /// Whether the query names this path, or its end by whole components.
    fn names_path(&self, path: &str) -> bool {
        self.paths.iter().any(|named| {
            let is_end = |path: &str, end: &str| {
                let before = path.strip_suffix(end);
                before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
            };
            is_end(path, named) || is_end(named, path)
        })
    }
}

/// Weights of a long query's texts.
const TITLE_WEIGHT: f32 = 1.0;
const NAMES_WEIGHT: f32 = 0.4;
const FRAMES_WEIGHT: f32 = 0.4;
const WHOLE_WEIGHT: f32 = 0.4;

/// The first line with words, or its first sentence if it is long.
fn title(query: &str) -> &str {
    let line = query
        .lines()
        .map(|line| line.trim_start_matches(['#', ' ']));
    let mut line = line.filter(|line| !terms::query_terms(line).is_empty());
    let line = line.next().unwrap_or(query).trim();
    if line.len() <= MAX_TITLE {
        return line;
    }
    let sentence = line.split_inclusive(". ").next().unwrap_or(line);
    start(sentence, MAX_TITLE)
}

/// The start of a text, of at most `most` bytes.
fn start(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

fn kind(query: &str, title: &str) -> QueryKind {
    const QUESTIONS: [&str; 11] = [
        "where", "how", "what", "which", "why", "who", "when", "does", "is", "can", "are",
    ];
    const ERRORS: [&str; 12] = [
        "error",
        "errors",
        "exception",
        "panic",
        "panics",
        "traceback",
        "crash",
        "crashes",
        "fails",
        "failed",
        "fix",
        "bug",
    ];
    let mut words = title.split_whitespace();
    let first = words.clone().next().unwrap_or_default().to_lowercase();
    let is_error = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        ERRORS.contains(&&*word.to_lowercase())
            || word.ends_with("Error")
            || word.ends_with("Exception")
    };
    if words.clone().count() <= 3 && words.clone().any(is_identifier) {
        QueryKind::Identifier
    } else if QUESTIONS.contains(&&*first) || title.ends_with('?') {
        QueryKind::Question
    } else if query.len() > SHORT || words.any(is_error) {
        QueryKind::Error
    } else {
        QueryKind::Sentence
    }
}

/// Whether a word is spelled like an identifier: `parse_header`, `parseHeader`, `Parser::parse`.
fn is_identifier(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
    let inner = word.get(1..).unwrap_or_default();
    let is_plain = |c: char| c.is_alphanumeric() || "_.:#-".contains(c);
    word.len() > 2
        && word.chars().all(is_plain)
        && word.chars().any(char::is_alphabetic)
        && (word.contains('_')
            || word.contains("::")
            || inner.trim_end_matches('.').contains('.')
            || (inner.chars().any(char::is_uppercase) && word.chars().any(char::is_lowercase)))
}

/// The identifiers of a query, those in code spans included.
fn names(query: &str) -> String {
    let spans = query.split('`').skip(1).step_by(2);
    let spans = spans.filter(|span| span.len() <= 80);
    let words = query.split(|c: char| c.is_whitespace() || "()[]{}<>,;\"'`=".contains(c));
    let words = words.filter(|word| is_identifier(word) && !word.contains("://"));
    let mut names: Vec<&str> = Vec::new();
    for name in spans.chain(words) {
        if names.len() < MAX_NAMES && !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(" ")
}

/// The innermost frames of a traceback: Python's last ones, the first ones of others.
fn frames(query: &str) -> String {
    let is_frame = |line: &&str| {
        let line = line.trim_start();
        let is_python = line.starts_with("File \"") && line.contains(", line ");
        is_python || line.starts_with("at ") || has_line_number(line)
    };
    let mut frames: Vec<&str> = query.lines().filter(is_frame).collect();
    if frames.iter().any(|frame| frame.contains(", line ")) {
        frames.reverse();
    }
    frames.truncate(MAX_FRAMES);
    let frames = frames.iter().map(|frame| start(frame, MAX_FRAME));
    frames.collect::<Vec<_>>().join("\n")
}

/// Whether a line has a path with a line number, like `src/cache.rs:12`.
fn has_line_number(line: &str) -> bool {
    line.split_whitespace().any(|word| {
        let mut parts = word.trim_end_matches([')', ',']).split(':');
        let (path, number) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        path.contains('/') && path.contains('.') && number.parse::<u32>().is_ok()
    })
}

/// The paths in a query: words with an extension of one to four letters.
fn paths(query: &str) -> Vec<String> {
    let words = query.split(|c: char| c.is_whitespace() || "()[]{}<>,;\"'`=:".contains(c));
    let words = words.filter(|word| !word.starts_with("//"));
    let paths = words.filter_map(|word| {
        let path = word.trim_start_matches("./").trim_end_matches('.');
        let (stem, extension) = path.rsplit_once('.')?;
        let is_extension =
            (1..=4).contains(&extension.len()) && extension.chars().all(|c| c.is_ascii_lowercase());
        let is_path = is_extension && stem.len() > 1 && !stem.contains('.');
        is_path.then(|| path.to_lowercase())
    });
    paths.take(MAX_PATHS).collect()
}

/// Whether the words ask for tests, documents, examples or a changelog.
fn asks_for_secondary(title: &str) -> bool {
    const WORDS: [&str; 16] = [
        "test",
        "tests",
        "tested",
        "spec",
        "fixture",
        "fixtures",
        "benchmark",
        "doc",
        "docs",
        "documentation",
        "documented",
        "readme",
        "guide",
        "example",
        "examples",
        "changelog",
    ];
    // `test_client`, `tests/a.py` and `test()` are names; `unit-tests` are tests.
    let words = title.split_whitespace().map(|word| {
        let word = word.trim_start_matches(['(', '[', '"', '\'', '`']);
        let word = word.trim_end_matches([')', ']', '"', '\'', '`', ',', ';', ':', '.', '?', '!']);
        match word.rsplit_once('-') {
            Some((before, last)) if before.starts_with(char::is_alphanumeric) => last,
            _ => word,
        }
    });
    let mut words = words.map(str::to_lowercase);
    words.any(|word| WORDS.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_of_one_kind() {
        for (query, kind) in [
            ("parse_header", QueryKind::Identifier),
            ("Context.AbortWithStatus", QueryKind::Identifier),
            ("where is the router built", QueryKind::Question),
            ("the cache is cleared twice?", QueryKind::Question),
            ("TypeError: x is not a function", QueryKind::Error),
            ("returns the first header of a request", QueryKind::Sentence),
        ] {
            assert_eq!(Reading::of(query).kind, kind, "{query}");
        }
    }

    #[test]
    fn a_report_is_read_by_its_title_names_and_frames() {
        let report = "# Crash when the cache is full\n\nI call `cache.put` twice:\n\n\
            Traceback (most recent call last):\n  File \"app/main.py\", line 3, in main\n  \
            File \"app/cache.py\", line 9, in put_entry\nKeyError: 1\n";
        let reading = Reading::of(report);
        let texts: Vec<&str> = reading
            .texts
            .iter()
            .map(|(text, _)| text.as_str())
            .collect();
        assert_eq!(texts[0], "Crash when the cache is full");
        assert!(texts[1].starts_with("cache.put"), "{texts:?}");
        assert!(
            texts[2].trim_start().starts_with("File \"app/cache.py\""),
            "{texts:?}"
        );
        assert!(texts[2].contains("app/main.py"), "{texts:?}");
        let place = |path: &str| reading.place([(Source::File, path.as_bytes())].into_iter());
        assert!(place("lib/app/cache.py").is_named);
        assert!(!place("lib/app/other.py").is_named);
        assert!(!place("my_cache.py").is_named);
    }

    #[test]
    fn a_text_that_is_code_anywhere_is_code() {
        let reading = Reading::of("how is it stored");
        let place = |paths: [&'static str; 2]| {
            let documents = paths.map(|path| (Source::File, path.as_bytes()));
            reading.place(documents.into_iter()).role
        };
        assert_eq!(place(["tests/a.rs", "src/a.rs"]), Role::Code);
        assert_eq!(place(["tests/a.rs", "docs/a.md"]), Role::Test);
    }

    #[test]
    fn words_ask_for_tests_and_documents() {
        assert!(Reading::of("tests of the router").asks_for_secondary);
        assert!(Reading::of("where is the guide for plugins").asks_for_secondary);
        assert!(Reading::of("Where are the unit-tests (and \"docs\")?").asks_for_secondary);
        assert!(!Reading::of("the latest version of the contest").asks_for_secondary);
    }

    #[test]
    fn a_name_with_the_word_asks_for_no_tests() {
        for query in [
            "test_client",
            "where is test_client made",
            "who calls App::test or test()",
            "TestClient.get of flask.testing",
            "what does tests/a.py import",
            "how is --test read, and test-client",
        ] {
            assert!(!Reading::of(query).asks_for_secondary, "{query}");
        }
    }

    #[test]
    fn a_name_is_known_by_the_share_of_its_words() {
        let reading = Reading::of("parse the http header");
        assert!((reading.share_of("parseHttpHeader") - 0.75).abs() < 1e-6);
        assert!((Reading::of("parse_http_header").share_of("parseHttpHeader") - 1.0).abs() < 1e-6);
        assert!(reading.share_of("render") < 1e-6);
    }
}
