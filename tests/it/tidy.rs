//! The house rules that no compiler enforces: dependencies, the direction of modules, how files open, who
//! owns a table.
//!
//! These tests replace cargo-deny and cargo-machete, which would have to be built for every run. They
//! read the text of the sources, so a rule can be circumvented on purpose. They are meant for oversights.

mod arrows;
mod dependencies;
mod licence;
mod migrations;
mod names;
mod prose;
mod records;
mod sources;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The workspace's folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// One Rust source file.
pub(crate) struct Source {
    /// Relative to the workspace, with `/`.
    path: String,
    pub(crate) text: String,
}

impl Source {
    /// The lines before the unit tests: before the first `mod … {` at the left edge below `#[cfg(test)]`.
    /// A single item for tests, or a declared file of tests, does not end them.
    fn body(&self) -> impl Iterator<Item = &str> {
        let beneath = self.text.lines().skip(1).map(Some).chain([None]);
        let begins_tests = |line: &str, beneath: Option<&str>| {
            line == "#[cfg(test)]" && beneath.is_some_and(opens_a_module)
        };
        let lines = self.text.lines().zip(beneath);
        lines
            .take_while(move |(line, beneath)| !begins_tests(line, *beneath))
            .map(|(line, _)| line)
    }

    /// The code before the unit tests, without comment lines.
    fn code(&self) -> String {
        without_comments(self.body())
    }

    /// All of the code, without comment lines.
    fn uncommented(&self) -> String {
        without_comments(self.text.lines())
    }
}

fn opens_a_module(line: &str) -> bool {
    let seen = line.strip_prefix("pub(").and_then(|by| by.split_once(") "));
    let item = seen.map_or(line, |(_by, item)| item);
    item.starts_with("mod ") && item.ends_with('{')
}

fn without_comments<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let code = lines.filter(|line| !line.trim_start().starts_with("//"));
    code.fold(String::new(), |text, line| text + line + "\n")
}

/// Every `.rs` file in a folder of the workspace, sorted by path.
pub(crate) fn sources(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative = path
                    .strip_prefix(root())
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                found.push(Source {
                    path: relative,
                    text: fs::read_to_string(&path).unwrap(),
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The identifiers and numbers of a text, in order.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

/// Fails with all violations at once, since fixing them one run at a time would be slow.
pub(crate) fn assert_none(violations: &[String]) {
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

#[test]
fn the_body_of_a_source_ends_at_its_test_module_only() {
    let body = |text: &str| {
        let (path, text) = (String::new(), text.to_owned());
        Source { path, text }.body().count()
    };
    let items = "#[cfg(test)]\nmod tests;\n#[cfg(test)]\npub(crate) use a::B;\nimpl A {\n    \
                 #[cfg(test)]\n    fn a() {}\n}\n";
    assert_eq!(body(items), 8);
    for begin in ["mod tests {", "pub(super) mod testing {"] {
        assert_eq!(body(&format!("{items}#[cfg(test)]\n{begin}\n}}\n")), 8);
    }
    assert_eq!(body("#[cfg(test)]"), 1);
}
