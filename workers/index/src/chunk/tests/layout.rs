//! Invariants of all chunks.

use proptest::prelude::*;

use super::*;

/// Fragments of code, combined at random.
const PIECES: [&str; 40] = [
    "fn a() {",
    "}",
    "struct B {",
    "impl B {",
    "class C {",
    "class D:",
    "def e(self):",
    "end",
    "\n",
    "\r\n",
    "\n\n",
    "    ",
    "\t",
    ";",
    "/// says\n",
    "/* says */",
    "// says",
    "# says\n",
    "(",
    ")",
    "[",
    "\"\"\"",
    "'",
    "\u{feff}",
    "\u{2028}",
    "\u{e9}\u{4e16}",
    "import x",
    "namespace N {",
    "trait T {",
    "type U = V;",
    "export default ",
    "() => {",
    "module M",
    "<?php ",
    "# Heading\n",
    "=====\n",
    "#define X(a) \\\n",
    "template <T> ",
    "exports.x = function () {",
    "some_words_of_substance_0123456789",
];

const NAMES: [&str; 17] = [
    "a.rs", "a.js", "a.ts", "a.tsx", "a.py", "a.go", "A.java", "a.c", "a.h", "a.cpp", "a.cs",
    "a.rb", "a.php", "a.md", "a.txt", "a.json", "Makefile",
];

/// Asserts that chunks are in order, share no bytes, and have correct lines.
fn check(name: &str, text: &[u8]) {
    let chunks = cut(name, text);
    assert_eq!(chunks, cut(name, text), "the same text is cut the same way");
    let mut end = 0;
    for chunk in &chunks {
        let Range { start, end: last } = chunk.bytes;
        assert!(
            end <= start && start < last && last <= text.len(),
            "{chunk:?}"
        );
        end = last;
        let line = |at: usize| 1 + text[..at].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(chunk.lines, line(start)..=line(last), "{chunk:?}");
        let own = &text[chunk.bytes.clone()];
        assert!(!own.trim_ascii().is_empty(), "{chunk:?}");
        assert_eq!(own.trim_ascii_end().len(), own.len(), "{chunk:?}");
        if let Some(doc) = &chunk.doc {
            assert!(
                start <= doc.start && doc.start < doc.end && doc.end <= last,
                "{chunk:?}"
            );
        }
        assert!(
            chunk
                .symbol
                .as_ref()
                .is_none_or(|name| (1..=MAX_NAME).contains(&name.len()))
        );
    }
    assert!(chunks.len() <= MAX_CHUNKS);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn chunks_of_any_code_are_in_order_with_correct_lines(
        name in prop::sample::select(&NAMES[..]),
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..200),
    ) {
        check(name, pieces.concat().as_bytes());
    }

    #[test]
    fn chunks_of_any_bytes_are_in_order_with_correct_lines(
        name in prop::sample::select(&NAMES[..]),
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        times in 1..40_usize,
    ) {
        let text: Vec<u8> = bytes.into_iter().filter(|byte| *byte != 0).collect();
        check(name, &text.repeat(times));
    }
}

#[test]
fn every_word_of_an_unstructured_text_is_in_a_chunk() {
    let line = |n: usize| format!("{}word{n}\n", " ".repeat(n % 7));
    let text: String = (0..1_000).map(line).collect();
    let found = texts("a.txt", &text).join("\n");
    assert!((0..1_000).all(|n| found.contains(&format!("word{n}\n")) || n == 999));
}
