//! Search results: matches, order and excerpts.

use archway_index::embed::{Embedder, EmbedderConfig};
use archway_repo::testing::{Sandbox, cancel};

use super::*;
use crate::library::Libraries;

const POSTGRES: &str = "# 1. Store orders in Postgres\n\n## Status\n\nAccepted\n\n## Context\n\n\
    Orders must survive a crash. Files were lost twice.\n\n## Decision\n\n\
    We will keep orders in a relational database. It is PostgreSQL, since the team knows it.\n";
const KAFKA: &str = "# 2. Publish events with Kafka\n\n## Status\n\nAccepted\n\n## Decision\n\n\
    Services publish what happened to a log. Consumers of orders read it at their own pace.\n";
const LOGS: &str =
    "# Logging\n\nEvery line of a log is one JSON object. It MUST carry the trace id.\n";
const REPOSITORY: &str =
    "# Repository pattern\n\n## Intent\n\nData access stands behind an interface.\n";

fn project() -> Sandbox {
    let app = Sandbox::new();
    app.file("docs/adr/0001-orders.md", POSTGRES);
    app.file("docs/adr/0002-events.md", KAFKA);
    app.file("docs/architecture/guidelines/logs.md", LOGS);
    app.file("docs/architecture/patterns/repository.md", REPOSITORY);
    app.committed();
    app
}

/// Slugs and scores of a search by words.
fn by_words(app: &Sandbox, query: &Query) -> Vec<(String, f32)> {
    let library = Libraries::new().of(&app.repo(), &cancel()).unwrap();
    let found = query.find(&library, None, &cancel()).unwrap();
    found
        .iter()
        .map(|found| (found.document.slug.clone(), found.score))
        .collect()
}

fn slugs(found: &[(String, f32)]) -> Vec<&str> {
    found.iter().map(|(slug, _)| slug.as_str()).collect()
}

fn words(text: &str) -> Query {
    Query::new(Some(text), None, None)
}

#[test]
fn any_word_matches_and_titles_weigh_more() {
    let app = project();
    let found = by_words(&app, &words("where do orders go"));
    assert_eq!(slugs(&found), ["0001-orders", "0002-events"]);
    assert!(found[0].1 > found[1].1 && found[1].1 > 0.0, "{found:?}");
    assert_eq!(
        slugs(&by_words(&app, &words("kafka nonesuch"))),
        ["0002-events"]
    );
    assert!(by_words(&app, &words("nonesuch")).is_empty());
    assert!(
        by_words(&app, &words("what is this")).is_empty(),
        "only stop words"
    );
}

#[test]
fn a_file_is_found_by_its_name() {
    assert_eq!(
        slugs(&by_words(&project(), &words("0002"))),
        ["0002-events"]
    );
}

#[test]
fn scores_are_between_0_and_1_and_grow_with_words() {
    let app = project();
    for text in [
        "log",
        "log log log",
        "orders database crash postgres store",
        "accepted",
    ] {
        let found = by_words(&app, &words(text));
        assert!(
            !found.is_empty() && found.iter().all(|(_, score)| *score > 0.0 && *score <= 1.0),
            "{text}"
        );
    }
    let score = |text| by_words(&app, &words(text))[0].1;
    assert!(score("postgres orders") > score("postgres nonesuch"));
}

#[test]
fn a_query_for_a_kind_matches_only_that_kind() {
    let app = project();
    let of = |kind| {
        by_words(
            &app,
            &Query::new(Some("log repository orders"), Some(kind), None),
        )
    };
    assert_eq!(slugs(&of(Kind::Guideline)), ["logs"]);
    assert_eq!(slugs(&of(Kind::Pattern)), ["repository"]);
    assert_eq!(slugs(&of(Kind::Adr)), ["0001-orders", "0002-events"]);
}

#[test]
fn ties_keep_the_librarys_order() {
    let app = Sandbox::new();
    for name in ["b", "a", "c"] {
        app.file(&format!("docs/adr/{name}.md"), "# Same\n\nSame words.\n");
    }
    app.committed();
    assert_eq!(slugs(&by_words(&app, &words("same"))), ["a", "b", "c"]);
}

#[test]
fn status_lines_are_not_in_passages() {
    let app = Sandbox::new();
    let status = "Superseded by [Use PostgreSQL](b.md)";
    let text = format!("# A\n\nStatus: {status}\n\nWe use it.\n\n## Status\n\n{status}\n");
    app.file("docs/adr/a.md", text).committed();
    let library = Libraries::new().of(&app.repo(), &cancel()).unwrap();
    let embedding_texts = passages::embedding_texts(&library.documents()[0]);
    let [reading] = embedding_texts.as_slice() else {
        panic!("{embedding_texts:?}")
    };
    assert!(reading.contains("We use it.") && !reading.contains("PostgreSQL"));
}

#[test]
fn a_decision_not_in_effect_has_half_the_score() {
    let app = Sandbox::new();
    let statuses = [
        "Superseded",
        "Accepted",
        "Rejected",
        "Proposed",
        "Deprecated",
    ];
    for (name, status) in (1..).zip(statuses) {
        let text = format!("# Orders\n\n## Status\n\n{status}\n\n## Decision\n\nOrders.\n");
        app.file(&format!("docs/adr/{name}.md"), text);
    }
    app.committed();
    let found = by_words(&app, &words("orders"));
    assert_eq!(slugs(&found), ["2", "4", "1", "3", "5"]);
    let (holds, over) = (found[0].1, found[2].1);
    assert!((over - holds / 2.0).abs() < 0.01, "{found:?}");
}

fn table() -> Embedder {
    Embedder::open(&EmbedderConfig::default()).unwrap()
}

/// Slugs and scores of a search by words and vectors.
fn hybrid(app: &Sandbox, text: &str) -> Vec<(String, f32)> {
    let (table, vectors) = (table(), Vectors::new());
    let vector = table.embed_locally(&[text.to_owned()]).unwrap().remove(0);
    let repo = app.repo();
    let library = Libraries::new().of(&repo, &cancel()).unwrap();
    let all = vectors.of(repo.key(), &library, &table, &cancel()).unwrap();
    let Ok(all) = all else {
        panic!("a table lacks nothing")
    };
    let query = Query::new(Some(text), None, vector);
    let found = query.find(&library, all.as_deref(), &cancel()).unwrap();
    found
        .iter()
        .map(|found| (found.document.slug.clone(), found.score))
        .collect()
}

#[test]
fn vectors_match_synonyms() {
    let app = project();
    let text = "purchase storage";
    assert!(by_words(&app, &words(text)).is_empty());
    assert_eq!(slugs(&hybrid(&app, text)), ["0001-orders"]);
    for unrelated in [
        "zzyzzx qwerty",
        "the colour of the sky",
        "kubernetes deployment",
    ] {
        assert_eq!(slugs(&hybrid(&app, unrelated)), [""; 0], "{unrelated}");
    }
}

#[test]
fn with_vectors_words_still_match() {
    let app = project();
    for text in ["orders", "log", "Store orders in Postgres", "accepted"] {
        let (lexical, hybrid) = (by_words(&app, &words(text)), hybrid(&app, text));
        let mut both = (slugs(&lexical), slugs(&hybrid));
        both.0.sort_unstable();
        both.1.sort_unstable();
        assert_eq!(both.0, both.1, "{text}");
        assert!(
            hybrid
                .iter()
                .all(|(_, score)| *score > 0.0 && *score <= 1.0),
            "{hybrid:?}"
        );
    }
}

#[test]
fn a_median_similarity_is_no_match() {
    let like = |cosine: f32| {
        let other = (1.0 - cosine * cosine).sqrt();
        DocumentVectors::of(vec![None, Some(vec![cosine, other])])
    };
    let near = |cosines: &[f32]| {
        let all: Vec<_> = cosines.iter().map(|cosine| like(*cosine)).collect();
        let similarities = Similarities::of(&all, &[1.0, 0.0]);
        let near = (0..all.len()).filter(|at| similarities.at(*at).is_sufficient);
        near.collect::<Vec<_>>()
    };
    assert_eq!(near(&[0.7, 0.72, 0.95, 0.74, 0.71]), [2]);
    assert_eq!(near(&[0.4, 0.9]), [0, 1], "of few nothing is usual");
    assert_eq!(near(&[0.1, 0.05, 0.3, 0.0, 0.1]), [0; 0]);
}
