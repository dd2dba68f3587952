//! Excerpts of matching documents.

use archway_repo::testing::{Sandbox, cancel};

use super::super::{Match, Query};
use crate::library::Libraries;

fn words(text: &str) -> Query {
    Query::new(Some(text), None, None)
}

fn excerpt(text: &str, query: &Query) -> String {
    let app = Sandbox::new();
    app.file("docs/adr/x.md", text).committed();
    let library = Libraries::new().of(&app.repo(), &cancel()).unwrap();
    let document = &library.documents()[0];
    query.excerpt(&Match {
        document,
        score: 1.0,
        passage: None,
    })
}

#[test]
fn an_excerpt_is_whole_sentences_of_one_section() {
    let long = "Nothing of it here. ".repeat(30);
    let text = format!(
        "# T\n\nOrders.\n\n## A\n\n{long}\n\nAn order is kept.\nIt is kept in a `store. Really`. Then it goes.\n\n## B\n\nStores.\n"
    );
    let shown = excerpt(&text, &words("orders in stores"));
    assert_eq!(
        shown,
        "An order is kept. It is kept in a `store. Really`. Then it goes."
    );
    assert_eq!(
        excerpt(&text, &words("t")),
        "Orders.",
        "the first, if none has a word"
    );
    assert_eq!(excerpt("# Only a title\n", &words("title")), "");
}

#[test]
fn status_lines_are_not_in_excerpts() {
    let superseded = "Superseded by [Use PostgreSQL](0002-use-postgresql.md)";
    for text in [
        format!("# Use MySQL\n\n## Status\n\n{superseded}\n\n## Decision\n\nWe use MySQL.\n"),
        format!("# Use MySQL\n\nStatus: {superseded}\nDate: 2024-01-01\n\nWe use MySQL.\n"),
        format!("# Use MySQL\n\n* Status: accepted\n  {superseded}\n\nWe use MySQL.\n"),
        format!("# Use MySQL\n\n{superseded}\n\nWe use MySQL.\n"),
        format!("# Use MySQL\n\n| Status | {superseded} |\n|---|---|\n\nWe use MySQL.\n"),
    ] {
        for query in ["use postgresql", "superseded", "2024"] {
            assert_eq!(
                excerpt(&text, &words(query)),
                "We use MySQL.",
                "{query}: {text}"
            );
        }
    }
    let argument = "In favor of PostgreSQL speaks much.";
    let text = format!("# X\n\n## Context\n\n{argument}\n");
    assert_eq!(excerpt(&text, &words("postgresql")), argument);
}

#[test]
fn without_a_word_an_excerpt_begins_at_the_best_passage() {
    let app = Sandbox::new();
    let first = "Nothing of it here. ".repeat(50);
    let text = format!("# T\n\n{first}\n\nThis is near.\n");
    app.file("docs/adr/x.md", text).committed();
    let library = Libraries::new().of(&app.repo(), &cancel()).unwrap();
    let shown = words("zebra").excerpt(&Match {
        document: &library.documents()[0],
        score: 1.0,
        passage: Some(1),
    });
    assert_eq!(shown, "This is near.");
}

#[test]
fn a_long_sentence_is_cut_between_words_around_the_match() {
    let text = format!(
        "# T\n\n{}the needle is {}end.\n",
        "hay ".repeat(300),
        "straw ".repeat(300)
    );
    let shown = excerpt(&text, &words("needle"));
    assert!(
        shown.len() <= 330 && shown.contains("the needle is straw"),
        "{shown}"
    );
    assert!(
        shown.starts_with("… hay ") && shown.ends_with(" straw …"),
        "{shown}"
    );
    let unbroken = excerpt(&format!("# T\n\n{}\n", "ä".repeat(1000)), &words("t"));
    assert!(unbroken.len() <= 330, "{unbroken}");
}
