//! Compares a command's output with what a page shows.
//!
//! `…` matches any text, or any lines if it is alone on its line. Runs of blanks count as one. Ids, keys
//! and times differ in each run: where a page shows one, any of its kind matches, and later commands use
//! the actual value.

use std::collections::BTreeMap;

/// This run's values for words that a page shows.
pub(crate) type Bound = BTreeMap<String, String>;

/// `None` if the output matches, else the first line of the page without a match.
pub(crate) fn missing(shown: &[String], said: &str, bound: &mut Bound) -> Option<String> {
    let said: Vec<&str> = said.trim_matches('\n').lines().collect();
    let mut shown: Vec<&str> = shown.iter().map(String::as_str).collect();
    while shown.last().is_some_and(|line| line.trim().is_empty()) {
        shown.pop();
    }
    let mut found = Vec::new();
    if let Err(line) = agree(&shown, &said, &mut found) {
        return Some(line.to_owned());
    }
    for (shown, said) in found {
        bound.extend(words_bound(shown, said));
    }
    None
}

/// Pairs lines. The error is the page's line that could not be paired.
fn agree<'a>(
    shown: &[&'a str],
    said: &[&'a str],
    found: &mut Vec<(&'a str, &'a str)>,
) -> Result<(), &'a str> {
    let Some((first, rest)) = shown.split_first() else {
        return match said.first() {
            None => Ok(()),
            Some(_) => Err("(and no more)"),
        };
    };
    if first.trim() == "…" {
        let mut failed = "…";
        for skipped in 0..=said.len() {
            let before = found.len();
            match agree(rest, &said[skipped..], found) {
                Ok(()) => return Ok(()),
                Err(line) => failed = line,
            }
            found.truncate(before);
        }
        return Err(failed);
    }
    let (line, lines) = said.split_first().ok_or(*first)?;
    if !alike(&normal(first), &normal(line)) {
        return Err(first);
    }
    found.push((first, line));
    agree(rest, lines, found)
}

/// The parts between `…`, in order.
fn alike(shown: &str, said: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = said.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Normalizes blanks, and replaces words that differ in each run by their kind.
fn normal(line: &str) -> String {
    let line: Vec<&str> = line.split_whitespace().collect();
    let mut text = String::new();
    for piece in pieces(&line.join(" ")) {
        text.push_str(kind(piece).unwrap_or(piece));
    }
    text
}

/// Words and what separates them.
fn pieces(line: &str) -> Vec<&str> {
    let is_word = |it: char| it.is_ascii_alphanumeric() || "-_:.".contains(it);
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let of_kind = |it: char| is_word(it) == is_word(first);
        let end = rest.find(|it| !of_kind(it)).unwrap_or(rest.len());
        let (run, _) = rest.split_at(end);
        let (piece, after) = rest.split_at(word_end(run));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Only times contain colons.
fn word_end(word: &str) -> usize {
    match word.find(':') {
        _ if kind(word) == Some("<time>") => word.trim_end_matches(':').len(),
        None => word.len(),
        Some(0) => 1,
        Some(colon) => colon,
    }
}

/// The kind of a word that differs in each run.
fn kind(word: &str) -> Option<&'static str> {
    let shape: String = word
        .chars()
        .map(|it| if it.is_ascii_digit() { '9' } else { it })
        .collect();
    let hex = |text: &str| text.chars().all(|it| it.is_ascii_hexdigit());
    let has = |is: fn(&char) -> bool| usize::from(word.chars().any(|it| is(&it)));
    let kinds_of_characters =
        has(char::is_ascii_lowercase) + has(char::is_ascii_uppercase) + has(char::is_ascii_digit);
    if word.starts_with("awy_") {
        Some("<key>")
    } else if shape.starts_with("9999-99-99T99:99:99") {
        Some("<time>")
    } else if shape == "9999-99-99" {
        Some("<day>")
    } else if word.len() == 36 && hex(&word.replace('-', "")) && word.contains('-') {
        Some("<uuid>")
    } else if word.len() == 8 && hex(word) {
        Some("<short>")
    } else if word.len() == 12
        && word.chars().all(|it| it.is_ascii_alphanumeric())
        && kinds_of_characters >= 2
    {
        Some("<id>")
    } else {
        None
    }
}

/// The words of one kind in both lines, in order.
fn words_bound(shown: &str, said: &str) -> Vec<(String, String)> {
    let of = |line: &str| -> Vec<(&'static str, String)> {
        let words = pieces(line).into_iter();
        words
            .filter_map(|word| Some((kind(word)?, word.to_owned())))
            .collect()
    };
    let pairs = of(shown).into_iter().zip(of(said));
    pairs
        .take_while(|((shown, _), (said, _))| shown == said)
        .map(|((_, shown), (_, said))| (shown, said))
        .collect()
}

/// A command with this run's values instead of the page's.
pub(crate) fn substitute(text: &str, bound: &Bound) -> String {
    let mut text = text.to_owned();
    // A key is abbreviated to its beginning.
    if let Some(key) = bound.values().rev().find(|it| it.starts_with("awy_")) {
        text = text.replace("awy_…", key);
    }
    // Longer words contain shorter ones, so they are replaced first.
    let mut words: Vec<(&String, &String)> = bound.iter().collect();
    words.sort_by_key(|(shown, _)| std::cmp::Reverse(shown.len()));
    for (shown, said) in words.into_iter().filter(|(shown, _)| shown.len() >= 8) {
        text = text.replace(&format!("{shown}…"), said);
        text = text.replace(shown.as_str(), said);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn what_is_of_one_run_is_compared_by_its_kind_and_kept() {
        let mut bound = Bound::new();
        let shown =
            lines("key bu6mltErMopy\n\n  awy_bu6mltErMopy_…\n…\nend at 2026-01-01T00:00:00Z");
        let said =
            "key 1234abcdEFGH\n\n  awy_1234abcdEFGH_secret\nx\ny\nend  at 2031-05-05T11:11:11Z\n";
        assert_eq!(missing(&shown, said, &mut bound), None);
        assert_eq!(
            substitute("revoke bu6mltErMopy", &bound),
            "revoke 1234abcdEFGH"
        );
        assert_eq!(
            substitute("Bearer awy_…", &bound),
            "Bearer awy_1234abcdEFGH_secret"
        );
    }

    #[test]
    fn an_id_is_one_beside_a_colon_too() {
        let mut bound = Bound::new();
        let shown = lines("key bu6mltErMopy: revoked");
        assert_eq!(
            missing(&shown, "key ABCDEF123456: revoked", &mut bound),
            None
        );
        assert_eq!(substitute("bu6mltErMopy", &bound), "ABCDEF123456");
    }

    #[test]
    fn what_differs_is_told_by_the_pages_line() {
        for (shown, said) in [
            ("a 1", "a 2"),
            ("a", "a\nb"),
            ("a\nb", "a"),
            ("…\nz", "a\ny"),
            ("at … end", "at once"),
            ("id bu6mltErMopy", "id none"),
        ] {
            let shown = lines(shown);
            assert!(
                missing(&shown, said, &mut Bound::new()).is_some(),
                "{shown:?} {said}"
            );
        }
        assert_eq!(
            missing(&lines("a … c\n…"), "a b  c\nd\n", &mut Bound::new()),
            None
        );
    }
}
