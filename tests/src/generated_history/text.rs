//! Text that changes as source code does: repeated lines, moved blocks, varying line ends.

use rand::{Rng, rngs::StdRng, seq::IndexedRandom};

const WORDS: [&str; 20] = [
    "let", "return", "match", "session", "tenant", "request", "response", "cache", "index",
    "token", "error", "result", "handler", "stream", "buffer", "path", "query", "limit", "größe",
    "値",
];

/// A new file of this many lines.
pub(super) fn new(random: &mut StdRng, lines: usize) -> Vec<u8> {
    let end = if random.random_bool(0.04) {
        "\r\n"
    } else {
        "\n"
    };
    let mut text: String = (0..lines).map(|_| line(random) + end).collect();
    if random.random_bool(0.08) {
        text.truncate(text.len() - end.len().min(text.len()));
    }
    text.into_bytes()
}

/// The text with one to three changes.
pub(super) fn edited(random: &mut StdRng, text: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = text
        .split_inclusive(|&byte| byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    for _ in 0..random.random_range(1..=3) {
        change(random, &mut lines);
    }
    // An unterminated line that is no longer the last would join the next one.
    let last = lines.len().saturating_sub(1);
    for line in &mut lines[..last] {
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
    }
    lines.concat()
}

/// A merge of two texts: the first half of one and the second half of the other.
pub(super) fn merged(ours: &[u8], theirs: &[u8]) -> Vec<u8> {
    let half = |text: &[u8], upper: bool| -> Vec<u8> {
        let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
        let (low, high) = lines.split_at(lines.len() / 2);
        if upper { low.concat() } else { high.concat() }
    };
    let mut text = half(ours, true);
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.extend(half(theirs, false));
    text
}

fn change(random: &mut StdRng, lines: &mut Vec<Vec<u8>>) {
    let at = random.random_range(0..=lines.len());
    let span = random.random_range(1..=4).min(lines.len() - at);
    match random.random_range(0..100) {
        0..35 => {
            let count = random.random_range(1..=5);
            let new: Vec<_> = (0..count).map(|_| ended(random)).collect();
            lines.splice(at..at, new);
        }
        35..65 => {
            let new: Vec<_> = (0..span).map(|_| ended(random)).collect();
            lines.splice(at..at + span, new);
        }
        65..85 => drop(lines.drain(at..at + span)),
        85..92 => {
            let block: Vec<_> = lines.drain(at..at + span).collect();
            let to = random.random_range(0..=lines.len());
            lines.splice(to..to, block);
        }
        92..96 => {
            let block = lines[at..at + span].to_vec();
            lines.splice(at..at, block);
        }
        _ => toggle_last_end(lines),
    }
}

fn toggle_last_end(lines: &mut [Vec<u8>]) {
    let Some(last) = lines.last_mut() else { return };
    match last.pop() {
        Some(b'\n') if !last.is_empty() => {}
        Some(byte) => last.extend([byte, b'\n']),
        None => last.push(b'\n'),
    }
}

fn ended(random: &mut StdRng) -> Vec<u8> {
    (line(random) + "\n").into_bytes()
}

/// One line in three occurs in every file: repetition is what makes diffs ambiguous.
fn line(random: &mut StdRng) -> String {
    match random.random_range(0..12) {
        0 | 1 => String::new(),
        2 => "}".to_owned(),
        3 => "    }".to_owned(),
        _ => {
            let indent = "    ".repeat(random.random_range(0..4));
            let words: Vec<&str> = (0..random.random_range(1..8))
                .map(|_| *WORDS.choose(random).expect("words"))
                .collect();
            format!("{indent}{}", words.join(" "))
        }
    }
}
