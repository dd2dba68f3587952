//! Trees of files that resemble a repository: folders of modules, lines of words.

use std::{fs, path::Path, process::Command};

use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};

const WORDS: [&str; 24] = [
    "let", "fn", "return", "match", "impl", "struct", "session", "tenant", "request", "response",
    "cache", "index", "token", "config", "error", "result", "handler", "stream", "buffer", "path",
    "query", "limit", "worker", "gateway",
];

/// Writes `files` files of about 4 KiB into `root` and commits them. The content depends on the number only.
pub fn generate(root: &Path, files: usize) {
    let mut random = StdRng::seed_from_u64(files as u64);
    for number in 0..files {
        let folder = root.join(format!("src/module{:03}/part{}", number / 40, number % 5));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(format!("file{number}.rs")), text(&mut random)).expect("a file");
    }
    let git = |arguments: &[&str]| {
        let done = Command::new("git")
            .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"])
            .args(arguments)
            .current_dir(root)
            .status();
        assert!(done.expect("git runs").success(), "git {arguments:?}");
    };
    git(&["init", "--quiet", "--template="]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "generated"]);
}

fn text(random: &mut StdRng) -> String {
    let lines = random.random_range(40..160);
    (0..lines).map(|_| line(random)).collect()
}

fn line(random: &mut StdRng) -> String {
    let indent = " ".repeat(4 * random.random_range(0..4_usize));
    let words: Vec<&str> = (0..random.random_range(1..9))
        .map(|_| *WORDS.choose(random).expect("words"))
        .collect();
    // One line in two thousand contains the pattern that the benches search for.
    let rare = if random.random_ratio(1, 2000) {
        " needle_in_haystack"
    } else {
        ""
    };
    format!("{indent}{}{rare};\n", words.join("_"))
}
