//! Decision records: numbered without a gap, in one form, each listed in the index.

use std::fs;

use super::{assert_none, root};

const FOLDER: &str = "docs/adr";
const LONGEST: usize = 60;
/// Parts that each record has, in this order. "Considered options" may stand between the first two.
const PARTS: [&str; 3] = ["## Context", "## Decision", "## Consequences"];
const OPTIONS: &str = "## Considered options";

/// A record's file name and text.
struct Record {
    file: String,
    text: String,
}

/// All records, in order of file name.
fn records() -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    for entry in fs::read_dir(root().join(FOLDER)).unwrap() {
        let entry = entry.unwrap();
        let file = entry.file_name().into_string().unwrap();
        if file != "README.md" && file != "dependencies.md" {
            let text = fs::read_to_string(entry.path()).unwrap();
            records.push(Record { file, text });
        }
    }
    records.sort_by(|a, b| a.file.cmp(&b.file));
    records
}

impl Record {
    fn title(&self) -> &str {
        let first = self.text.lines().next().unwrap_or_default();
        first.strip_prefix("# ").unwrap_or_default()
    }

    /// What is wrong with its form.
    fn violations(&self) -> Vec<String> {
        let mut violations = Vec::new();
        let mut lines = self.text.lines().skip(1);
        let (blank, status) = (lines.next(), lines.next().unwrap_or_default());
        if self.title().is_empty() || blank != Some("") || !status.starts_with("- Status: ") {
            violations.push("begins with `# Title`, a blank line and `- Status: …`".to_owned());
        }
        let headings = self.text.lines().filter(|line| line.starts_with("## "));
        let headings: Vec<&str> = headings.filter(|line| *line != OPTIONS).collect();
        if headings != PARTS {
            violations.push(format!("has the parts {PARTS:?}, not {headings:?}"));
        }
        let length = self.text.lines().count();
        if length > LONGEST {
            violations.push(format!("has at most {LONGEST} lines, not {length}"));
        }
        violations
    }
}

#[test]
fn each_record_has_the_next_number_and_the_common_form() {
    let mut violations = Vec::new();
    for (index, record) in records().iter().enumerate() {
        let number = format!("{:04}-", index + 1);
        if !record.file.starts_with(&number) {
            violations.push(format!(
                "{FOLDER}/{}: the next number is {number}",
                record.file
            ));
        }
        let wrong = record.violations();
        violations.extend(
            wrong
                .iter()
                .map(|it| format!("{FOLDER}/{}: a record {it}", record.file)),
        );
    }
    assert_none(&violations);
}

#[test]
fn the_index_lists_each_record_by_number_and_title() {
    let index = fs::read_to_string(root().join(FOLDER).join("README.md")).unwrap();
    let listed: Vec<&str> = index
        .lines()
        .filter(|line| line.starts_with("- ["))
        .collect();
    let expected: Vec<String> = records()
        .iter()
        .map(|it| {
            let number = it.file.split('-').next().unwrap();
            format!("- [{number}]({}) {}", it.file, it.title())
        })
        .collect();
    assert_eq!(listed, expected, "{FOLDER}/README.md lists all records");
}
