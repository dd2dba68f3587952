//! Prose that people read: short sentences, and none of the phrases that had to be read twice.
//!
//! Only paragraphs and list items count. Headings, code blocks and comments are no sentences, and a
//! table's cells are labels and lists rather than prose. Code within a sentence and a link count as
//! their words.

use std::fs;
use std::path::Path;

use super::{assert_none, root};

/// Words of a sentence, on average over one page.
const AVERAGE: usize = 18;
/// Words of any sentence.
const LONGEST: usize = 35;

/// Phrases that were replaced once, because nobody could read them at first sight.
const REPLACED: [&str; 9] = [
    "of the conflicts that it tells of",
    "doing them twice is doing them once",
    "a level that is none is refused",
    "the first where somebody listens decides",
    "no address of a worker",
    "made none of the keys which are good",
    "a side that is taken of so near a decision is told",
    "what must not stand there the operator erases",
    "rests for 5 s, lets three calls try",
];
/// Where they may stand: history is told in the words of its time, and this file lists them.
const HISTORY: [&str; 3] = ["CHANGELOG.md", "docs/adr/", "tests/it/tidy/prose.rs"];
/// Folders that no repository holds, or that hold other people's text.
const SKIPPED: [&str; 4] = ["target", ".git", ".sqlx", "tests/data"];
const TEXTS: [&str; 9] = [
    "md", "rs", "sql", "yaml", "yml", "toml", "tpl", "py", "json",
];

/// Paragraphs and list items of a page, each on one line.
fn blocks(page: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    let mut fence: Option<&str> = None;
    for line in page.lines().map(str::trim) {
        let behind = line.trim_start_matches('`');
        let ticks = line.strip_suffix(behind).unwrap_or_default();
        match fence {
            Some(open) if ticks.len() >= open.len() && ticks == line => fence = None,
            None if ticks.len() >= 3 => {
                fence = Some(ticks);
                blocks.push(String::new());
            }
            Some(_) => {}
            None if line.is_empty() || is_no_prose(line) => blocks.push(String::new()),
            None => {
                let item = item(line);
                if item.len() < line.len() {
                    blocks.push(String::new());
                }
                let block = blocks.last_mut().unwrap();
                block.push_str(item);
                block.push(' ');
            }
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

fn is_no_prose(line: &str) -> bool {
    ["#", "|", "<!--"]
        .iter()
        .any(|begin| line.starts_with(begin))
}

/// A line without the mark of a list's item.
fn item(line: &str) -> &str {
    let number = line.trim_start_matches(|it: char| it.is_ascii_digit());
    let rest = match number.len() < line.len() {
        true => number.strip_prefix(". "),
        false => line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")),
    };
    rest.unwrap_or(line)
}

/// The sentences of a page, with the number of their words.
fn sentences(page: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for block in blocks(page) {
        let mut sentence = String::new();
        let mut words = 0;
        for word in without_targets(&block).split_whitespace() {
            sentence.push_str(word);
            sentence.push(' ');
            words += usize::from(word.chars().any(char::is_alphanumeric));
            if word
                .trim_end_matches(['*', ')', '"', '`'])
                .ends_with(['.', '!', '?'])
            {
                found.push((std::mem::take(&mut sentence), std::mem::take(&mut words)));
            }
        }
        found.push((sentence, words));
    }
    found.retain(|(_, words)| *words > 0);
    found
}

/// `[text](target)` is its text.
fn without_targets(text: &str) -> String {
    let mut parts = text.split("](");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    kept
}

/// README, ARCHITECTURE and the book.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned(), "ARCHITECTURE.md".to_owned()];
    files(&root().join("docs/src"), &mut |path| pages.push(path));
    // The rest are pictures.
    pages.retain(|path| path.ends_with(".md"));
    pages
}

/// Calls with each file beneath a folder, relative to the workspace.
fn files(folder: &Path, call: &mut impl FnMut(String)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let relative = path.strip_prefix(root()).unwrap().to_str().unwrap();
        if SKIPPED.contains(&relative) {
            continue;
        }
        match path.is_dir() {
            true => files(&path, call),
            false => call(relative.to_owned()),
        }
    }
}

#[test]
fn sentences_of_readme_and_book_are_short() {
    let mut violations = Vec::new();
    for path in pages() {
        let page = fs::read_to_string(root().join(&path)).unwrap();
        let sentences = sentences(&page);
        let words: usize = sentences.iter().map(|(_, words)| words).sum();
        if words > AVERAGE * sentences.len() {
            let count = sentences.len();
            violations.push(format!(
                "{path}: {words} words in {count} sentences, more than {AVERAGE} each"
            ));
        }
        let long = sentences.iter().filter(|(_, words)| *words > LONGEST);
        violations
            .extend(long.map(|(sentence, words)| format!("{path}: {words} words: {sentence}")));
    }
    assert_none(&violations);
}

#[test]
fn replaced_phrases_are_found_nowhere() {
    let mut violations = Vec::new();
    files(&root(), &mut |path| {
        let is_text = TEXTS.iter().any(|end| path.ends_with(&format!(".{end}")));
        if !is_text || HISTORY.iter().any(|known| path.starts_with(known)) {
            return;
        }
        let text = one_line(&fs::read_to_string(root().join(&path)).unwrap());
        let found = REPLACED.iter().filter(|phrase| text.contains(**phrase));
        violations.extend(found.map(|phrase| format!("{path}: {phrase}")));
    });
    assert_none(&violations);
}

/// A text without the marks of comments, in lower case.
fn one_line(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| line.trim().trim_start_matches(['/', '!', '#', '-', '*']));
    let words: Vec<&str> = lines
        .flat_map(|line| line.trim_end_matches('\\').split_whitespace())
        .collect();
    words.join(" ").to_lowercase()
}

#[test]
fn sentences_end_at_their_marks_and_at_the_end_of_a_block() {
    let page = "# No\n\nOne two. Three [four five](x.md#y) `six`:\n\n- a b\n  c\n- d\n\n```sh\nno.\n```\n| no. |\n1. e (f g.) h\n";
    let counts: Vec<usize> = sentences(page)
        .into_iter()
        .map(|(_, words)| words)
        .collect();
    assert_eq!(counts, [2, 4, 3, 1, 3, 1]);
    assert_eq!(
        one_line("/// Rests for 5 s,\n//! lets\n"),
        "rests for 5 s, lets"
    );
}
