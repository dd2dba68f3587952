//! Prose that people read has short sentences.
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

/// Paragraphs and list items of a page, each on one line.
fn blocks(page: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    let mut fence: Option<&str> = None;
    for line in page.lines().map(str::trim) {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
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
    pages
}

/// Calls with each file beneath a folder, relative to the workspace.
fn files(folder: &Path, call: &mut impl FnMut(String)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let relative = path.strip_prefix(root()).unwrap().to_str().unwrap();
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
fn sentences_end_at_their_marks_and_at_the_end_of_a_block() {
    let page = "# No\n\nOne two. Three [four five](x.md#y) `six`:\n\n- a b\n  c\n- d\n\n```sh\nno.\n```\n| no. |\n1. e (f g.) h\n";
    let counts: Vec<usize> = sentences(page)
        .into_iter()
        .map(|(_, words)| words)
        .collect();
    assert_eq!(counts, [2, 4, 3, 1, 3, 1]);
}
