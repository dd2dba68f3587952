//! Generated trees: one with unusual names and bytes, one that is deep and full of .gitignore files.

use e2e::Repo;
use rand::{Rng, rngs::StdRng, seq::IndexedRandom};

const WORDS: [&str; 24] = [
    "alpha",
    "Beta",
    "GAMMA",
    "delta",
    "naïve",
    "Straße",
    "ΣΊΣΥΦΟΣ",
    "日本語",
    "emoji🦀",
    "fn",
    "let",
    "return",
    "x",
    "42",
    "3.14",
    "(a)",
    "{b}",
    "[c]",
    "<d>",
    "a.b",
    "a*b",
    "end;",
    "tab\there",
    "ﬁn",
];
const ENDS: [&str; 3] = ["\n", "\n", "\r\n"];

/// Odd names, empty files, missing last line endings, CRLF, UTF-16, binaries, long lines.
pub(super) fn wild(random: &mut StdRng) -> Repo {
    let names = [
        "plain.txt",
        "with space.rs",
        "ünï.md",
        "-dash.txt",
        "[brackets].rs",
        "#hash#",
        "a'b\"c.rs",
        "UPPER.RS",
        "no_extension",
        ".hidden.rs",
        "x.min.js",
        "app.map",
        "yarn.lock",
    ];
    let mut repo = Repo::new();
    for folder in [
        "",
        "src/",
        "src/m1/",
        "src/m7/",
        "docs/",
        "dist/",
        "build/src/",
        ".next/",
        "secrets/",
        "node_modules/x/",
        "Src/",
        "docs/дом/",
    ] {
        for name in names {
            repo = repo.file(&format!("{folder}{name}"), text(random, 30));
        }
    }
    repo = repo
        .file("empty", "")
        .file("one-line-end", "\n")
        .file("only-cr", "a\rb\rc");
    repo = repo.file(
        "blob.bin",
        [
            text(random, 3).as_bytes(),
            b"\0",
            text(random, 3).as_bytes(),
        ]
        .concat(),
    );
    repo = repo.file(
        "long.txt",
        format!("{} {}\n", "long ".repeat(4000), text(random, 2)),
    );
    repo = repo.file("bom.txt", format!("\u{feff}{}", text(random, 5)));
    let utf16 = |text: &str| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    let wide = text(random, 10);
    repo.file("utf16.txt", utf16(&wide)).commit()
}

/// Nested folders, each level with rules of its own.
pub(super) fn deep(random: &mut StdRng) -> Repo {
    const RULES: [&str; 12] = [
        "*.log",
        "!keep.log",
        "/tmp",
        "m3/",
        "**/gen",
        "f?.txt",
        "!f1.txt",
        "*.rs\n!f2.rs",
        "docs/*.md",
        "\\#x",
        "sub/**/deep",
        "# only a comment",
    ];
    let mut repo = Repo::new();
    let mut folders = vec![String::new()];
    while folders.len() < 120 {
        let parent = folders.choose(random).unwrap().clone();
        let name = ["m1", "m3", "gen", "sub", "deep", "docs", "tmp", "src"]
            .choose(random)
            .unwrap();
        let folder = format!("{parent}{name}/");
        if folder.len() < 60 && !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    for folder in &folders {
        for name in [
            "f1.txt", "f2.txt", "f2.rs", "f3.rs", "keep.log", "drop.log", "a.md",
        ] {
            if random.random_bool(0.6) {
                repo = repo.file(&format!("{folder}{name}"), text(random, 12));
            }
        }
        if random.random_bool(0.3) {
            let rules = [
                RULES.choose(random).unwrap(),
                *RULES.choose(random).unwrap(),
            ]
            .join("\n");
            repo = repo.file(&format!("{folder}.gitignore"), rules);
        }
    }
    repo.commit()
}

fn text(random: &mut StdRng, lines: usize) -> String {
    let mut text = String::new();
    for _ in 0..random.random_range(1..=lines) {
        for _ in 0..random.random_range(0..7) {
            text += WORDS.choose(random).unwrap();
            text += " ";
        }
        text += ENDS.choose(random).unwrap();
    }
    if random.random_bool(0.3) {
        text += "no line end";
    }
    text
}
