//! Every figure that a page quotes is in docs/PERFORMANCE.md, which has its date and command.

use std::collections::BTreeSet;

use crate::pages::{Page, root};

const MEASURED: &str = "docs/PERFORMANCE.md";
/// Pages that quote figures, by heading. The section ends at the next heading of its level.
const QUOTES: [(&str, &str); 3] = [
    ("README.md", "## How fast"),
    ("README.md", "## Where it stands"),
    ("docs/src/operations/scaling.md", "# Scaling"),
];
const UNITS: [&str; 9] = ["s", "ms", "µs", "KB", "MB", "KiB", "MiB", "GiB", "%"];

/// A number as written, with the unit that follows it, if any.
type Figure = (String, Option<&'static str>);

#[test]
fn each_line_with_a_figure_quotes_one_that_was_measured() {
    let measured = Page::read(&root().join(MEASURED)).text;
    let measured: Vec<BTreeSet<Figure>> = measured.lines().map(figures).collect();
    let mut quoted = 0;
    let mut wrong = Vec::new();
    for (path, title) in QUOTES {
        let text = Page::read(&root().join(path)).text;
        for line in section(&text, title) {
            let figures = figures(line);
            if figures.iter().all(|(_, unit)| unit.is_none()) {
                continue;
            }
            quoted += 1;
            if !measured.iter().any(|it| it.is_superset(&figures)) {
                wrong.push(format!("{path}: {line}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "no line of {MEASURED} has all numbers of these:\n{}",
        wrong.join("\n")
    );
    assert!(quoted > 10, "pages quote figures: {quoted}");
}

/// The lines below a heading, up to the next heading of level two.
fn section<'a>(text: &'a str, title: &str) -> Vec<&'a str> {
    let mut lines = text.lines().skip_while(|line| *line != title);
    assert!(lines.next().is_some(), "no page has the title {title}");
    lines.take_while(|line| !line.starts_with("## ")).collect()
}

/// `16–29 ms` and `5.1 and 14.0 ms` are two figures of one unit.
fn figures(line: &str) -> BTreeSet<Figure> {
    let line = line.replace(['–', '/'], " and ");
    let mut found = BTreeSet::new();
    let mut before: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let word = word.trim_matches(|it: char| "()[]`;:,".contains(it));
        let unit = UNITS.into_iter().find(|unit| *unit == word);
        if is_number(word) {
            before.push(word.to_owned());
        } else if word != "and" {
            found.extend(before.drain(..).map(|number| (number, unit)));
        }
    }
    found.extend(before.into_iter().map(|number| (number, None)));
    found
}

fn is_number(word: &str) -> bool {
    let mut characters = word.chars();
    let ends = word.ends_with(|it: char| it.is_ascii_digit());
    ends && characters.all(|it| it.is_ascii_digit() || ".,".contains(it))
}

#[test]
fn figures_of_one_unit_and_bare_numbers_are_found() {
    let found = figures("| 5 files, 16–29 ms | 5.1 and 14.0 ms; 2.8 ms | `-M`: 0.36 |");
    let of = |number: &str, unit| (number.to_owned(), unit);
    let ms = Some("ms");
    let expected = [
        of("5", None),
        of("16", ms),
        of("29", ms),
        of("5.1", ms),
        of("14.0", ms),
        of("2.8", ms),
        of("0.36", None),
    ];
    assert_eq!(found, BTreeSet::from(expected));
}
