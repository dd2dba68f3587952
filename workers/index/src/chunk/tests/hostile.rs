//! Hostile and malformed texts.

use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use super::*;

const ENDINGS: [&str; 13] = [
    "rs", "js", "ts", "tsx", "py", "go", "java", "c", "h", "cpp", "cs", "rb", "php",
];

#[test]
fn an_empty_or_blank_text_has_no_chunks() {
    for name in ["a.rs", "a.md", "a.txt"] {
        for text in ["", "\n", " \r\n\t\n", "\u{feff}", "\u{feff}\n"] {
            assert!(cut(name, text.as_bytes()).is_empty(), "{name} {text:?}");
        }
    }
}

#[test]
fn a_binary_file_has_no_chunks() {
    for name in ["a.rs", "a.md", "a.png"] {
        assert!(cut(name, b"fn a() {}\n\0").is_empty());
    }
}

#[test]
fn line_ends_and_byte_order_marks_change_only_offsets() {
    let plain = "/// Says.\nfn a() {}\n\nstruct B;";
    let lines = [r#"Function a 1-2 doc "/// Says.""#, "Class B 4-4"];
    assert_eq!(outline("a.rs", plain), lines);
    assert_eq!(outline("a.rs", &plain.replace('\n', "\r\n")), lines);
    assert_eq!(outline("a.rs", &format!("\u{feff}{plain}\n")), lines);
    assert_eq!(texts("a.rs", &format!("\u{feff}{plain}"))[1], "struct B;");
}

#[test]
fn bytes_that_are_not_utf_8_keep_their_offsets() {
    let text = b"# caf\xe9\nText \xff\xfe.\n\n# Next\nMore.\n";
    let chunks = cut("a.md", text);
    assert_eq!(chunks[0].symbol.as_deref(), Some("caf?"));
    assert_eq!(chunks[1].bytes, 17..29);
    let text = b"// caf\xe9\nfn a() { \"\xff\" }\nfn b() {}\n";
    let chunks = cut("a.rs", text);
    assert_eq!(
        &text[chunks[0].bytes.clone()],
        b"// caf\xe9\nfn a() { \"\xff\" }"
    );
    assert_eq!(chunks[1].lines, 3..=3);
}

#[test]
fn a_text_too_large_to_be_parsed_is_cut_into_windows() {
    let text = "fn a() {\n    work();\n}\n".repeat(60_000);
    let lines = outline("a.rs", &text);
    assert!(lines.iter().all(|line| line.starts_with("Lines  ")));
    assert_eq!(lines.len(), MAX_CHUNKS);
}

#[test]
fn each_kind_of_text_has_its_limit_of_chunks() {
    let most = |name: &str, text: &str| cut(name, text.as_bytes()).len();
    let data = "{\n  \"key\": \"value\"\n},\n".repeat(450_000);
    assert_eq!(most("a.json", &data), MAX_WINDOWS);
    let packed = "function a(){return 1}var b=2;".repeat(30_000);
    assert_eq!(most("a.min.js", &packed), MAX_DENSE);
    assert_eq!(most("a.rs", &"fn a() {}\n".repeat(50_000)), MAX_CHUNKS);
    assert_eq!(most("a.md", &"# a\nb\n".repeat(50_000)), MAX_CHUNKS);
}

#[test]
fn a_long_name_is_cut() {
    let name = "\u{e9}".repeat(500);
    for (file, text) in [
        ("a.md", format!("# {name}\ntext\n")),
        ("a.rs", format!("fn {name}() {{}}\n")),
    ] {
        assert_eq!(
            cut(file, text.as_bytes())[0].symbol.as_ref().unwrap().len(),
            MAX_NAME
        );
    }
}

/// Texts that would exhaust a naive parser's stack, memory or time.
fn hostile() -> Vec<String> {
    let lines = |text: &str, n: usize| format!("{text}\n").repeat(n);
    vec![
        lines("(", 2_000) + &lines(")", 2_000),
        lines("namespace a {", 1_500),
        lines("class A { void a() {", 1_000),
        (0..200).map(|n| " ".repeat(n) + "class a:\n").collect(),
        lines("template <class T>", 1_500),
        lines("a.b = a[", 1_500),
        lines("exports.a = exports.b =", 1_000),
        lines("/* a */ // b", 2_000),
        lines("@a", 2_000),
        lines("const a = { b: {", 1_500),
        lines(">>>>>> - 1. # [a](", 2_000),
        lines("<a><b", 2_000),
        format!("fn a() {{{}}}", " \n".repeat(100_000)),
        lines(&format!("\"{}\"", "\u{4e16}".repeat(400)), 100),
    ]
}

#[test]
fn hostile_texts_exhaust_neither_stack_nor_time() {
    // Smaller than the stack of a blocking thread.
    let work = || {
        for (number, text) in hostile().iter().enumerate() {
            for ending in ENDINGS.iter().chain(&["md", "txt"]) {
                let began = Instant::now();
                let chunks = cut(&format!("a.{ending}"), text.as_bytes());
                let took = began.elapsed();
                assert!(chunks.len() <= MAX_CHUNKS);
                assert!(
                    took < Duration::from_secs(15),
                    "{number} {ending}: {took:?}"
                );
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(512 << 10);
    thread.spawn(work).unwrap().join().unwrap();
}

#[test]
fn a_mebibyte_of_brackets_is_cut_in_bounded_time() {
    let text = "{[\n".repeat(350_000);
    for ending in ["rs", "js", "cpp", "md", "json"] {
        let began = Instant::now();
        cut(&format!("a.{ending}"), text.as_bytes());
        let took = began.elapsed();
        assert!(took < Duration::from_secs(15), "{ending}: {took:?}");
    }
}

#[test]
fn a_cancelled_call_returns_no_chunks() {
    let token = CancellationToken::new();
    token.cancel();
    let call = Cancel::new(Instant::now() + Duration::from_secs(60), token);
    for name in ["a.rs", "a.md", "a.txt"] {
        let cut = chunks(&path(name), b"fn a() {}", &call);
        assert_eq!(cut, Err(Stopped::Cancelled), "{name}");
    }
}
