//! Which files of a project are documents, and their slugs.

mod large;
mod concurrent;

use archway_repo::testing::{Sandbox, cancel};

use super::*;
use crate::adr::Status;
use crate::document::Record;

fn library(app: &Sandbox) -> Library {
    let libraries = Libraries::new();
    let library = libraries.of(&app.repo(), &cancel()).unwrap();
    drop(libraries);
    Arc::into_inner(library).unwrap_or_default()
}

/// URI and path of all documents.
fn shown(library: &Library) -> Vec<String> {
    let documents = library.documents().iter();
    documents
        .map(|document| format!("{} {}", document.uri(None), document.path))
        .collect()
}

#[test]
fn documents_are_in_the_configured_folders_at_head() {
    let app = Sandbox::new();
    app.file("docs/adr/0002-b.md", "# B")
        .file("docs/adr/0001-a.md", "# A");
    app.file("docs/adr/sub/0003-c.MD", "# C")
        .file("docs/adr/x.txt", "x");
    app.file("docs/architecture/patterns/repository.md", "# R");
    app.file("docs/architecture/guidelines/logs.markdown", "# L");
    app.file("docs/other/x.md", "# X")
        .file("docs/adrx/0004.md", "# no");
    app.committed();
    app.file("docs/adr/0005-later.md", "# uncommitted")
        .file("docs/adr/0001-a.md", "# changed");
    let library = library(&app);
    let expected = [
        "architecture://adr/0001-a docs/adr/0001-a.md",
        "architecture://adr/0002-b docs/adr/0002-b.md",
        "architecture://adr/0003-c docs/adr/sub/0003-c.MD",
        "architecture://pattern/repository docs/architecture/patterns/repository.md",
        "architecture://guideline/logs docs/architecture/guidelines/logs.markdown",
    ];
    assert_eq!(shown(&library), expected);
    assert_eq!(library.get(Kind::Adr, "0001-a").unwrap().title, "A");
    assert!(library.get(Kind::Pattern, "0001-a").is_none());
}

#[test]
fn without_a_commit_documents_come_from_the_work_tree() {
    let app = Sandbox::new();
    app.file("docs/adr/0001-a.md", "# A")
        .file("docs/adr/.gitignore", "b.md\n");
    app.file("docs/adr/b.md", "# B")
        .link("docs/adr/c.md", "0001-a.md");
    let library = library(&app);
    assert_eq!(
        shown(&library),
        ["architecture://adr/0001-a docs/adr/0001-a.md"]
    );
    assert!(library.documents()[0].modified.is_some());
}

#[test]
fn the_repository_configures_folders_by_kind() {
    let app = Sandbox::new();
    app.file(".archway.toml", "[architecture]\nadr = ['late', 'early']\n");
    app.file("early/1-a.md", "# A")
        .file("late/2-b.md", "# B")
        .file("docs/adr/3-c.md", "# C");
    app.file("mcp/resources/patterns/p.md", "# P");
    app.committed();
    let expected = [
        "architecture://adr/2-b late/2-b.md",
        "architecture://adr/1-a early/1-a.md",
        "architecture://pattern/p mcp/resources/patterns/p.md",
    ];
    assert_eq!(shown(&library(&app)), expected);
}

#[test]
fn equal_stems_get_unique_slugs_in_folder_order() {
    let app = Sandbox::new();
    app.file("docs/adr/0001-a.md", "# One")
        .file("doc/adr/0001-a.md", "# Two");
    app.file("adr/0001-a.md", "# Three")
        .file("adr/0001-a~2.md", "# Really");
    app.committed();
    let expected = [
        "architecture://adr/0001-a docs/adr/0001-a.md",
        "architecture://adr/0001-a~3 doc/adr/0001-a.md",
        "architecture://adr/0001-a~4 adr/0001-a.md",
        "architecture://adr/0001-a~2 adr/0001-a~2.md",
    ];
    assert_eq!(shown(&library(&app)), expected);
}

#[test]
fn templates_and_lists_are_not_decisions() {
    let app = Sandbox::new();
    for name in [
        "README",
        "index",
        "template",
        "adr-template",
        "0000-template",
    ] {
        app.file(
            &format!("docs/adr/{name}.md"),
            "# 1. X\n\n## Status\n\nAccepted\n",
        );
    }
    app.file(
        "docs/adr/0000-x.md",
        "# [short title of solved problem and solution]\n",
    );
    app.file(
        "docs/adr/all.md",
        "# All\n\n- [a](a.md)\n- [b](b.md)\n- [c](c.md)\n",
    );
    app.file("docs/adr/0001-a.md", "# A\n").committed();
    assert_eq!(
        shown(&library(&app)),
        ["architecture://adr/0001-a docs/adr/0001-a.md"]
    );
}

#[test]
fn a_decision_in_its_own_folder_has_the_folders_name() {
    let app = Sandbox::new();
    let record = "# Use Postgres\n\n## Status\n\nAccepted\n";
    let whole = "# Logs\n\nStatus: accepted\n\n## Decision\n\nWe write logs.\n";
    app.file("docs/adr/0001-postgres/README.md", record);
    app.file("docs/adr/0001-postgres/diagram.txt", "x");
    app.file("docs/adr/logs/index.md", whole);
    app.file("docs/adr/0000-template/README.md", record);
    // A page about the folder's contents, and pages that are not decisions.
    app.file("docs/adr/backend/README.md", record)
        .file(
            "docs/adr/0003-notes/README.md",
            "# Notes\n\nOf a meeting.\n",
        )
        .file("docs/adr/0004-x/CHANGELOG.md", whole);
    let later = "# B\n\nStatus: accepted\n\nSupersedes [A](../0001-postgres/)\n";
    app.file("docs/adr/backend/0002-b.md", later).committed();
    let library = library(&app);
    let expected = [
        "architecture://adr/0001-postgres docs/adr/0001-postgres/README.md",
        "architecture://adr/0002-b docs/adr/backend/0002-b.md",
        "architecture://adr/logs docs/adr/logs/index.md",
    ];
    assert_eq!(shown(&library), expected);
    let first = library.documents()[0].record.as_ref().unwrap();
    assert_eq!(
        (first.id.as_str(), first.status),
        ("0001", Status::Superseded)
    );
}

#[test]
fn hidden_files_are_not_documents() {
    let app = Sandbox::new();
    app.file(".archway.toml", "deny = ['docs/adr/0002*']\n");
    app.file("docs/adr/0001-a.md", "# A")
        .file("docs/adr/0002-b.md", "# B");
    app.file("docs/adr/secrets/x.md", "# C").committed();
    let library = library(&app);
    assert_eq!(
        shown(&library),
        ["architecture://adr/0001-a docs/adr/0001-a.md"]
    );
    assert!(library.omitted().is_empty(), "{:?}", library.omitted());
}

#[test]
fn omitted_files_are_listed_with_reasons() {
    let app = Sandbox::new();
    let large = "x".repeat(usize::try_from(MAX_BYTES).unwrap() + 1);
    app.file("docs/adr/0001-large.md", large)
        .file("docs/adr/0002-binary.md", b"a\0b");
    app.file("docs/adr/a/b/c/d/e/f/g/h/deep.md", "# D")
        .file("docs/adr/0003-c.md", "# C");
    app.committed();
    let library = library(&app);
    assert_eq!(
        shown(&library),
        ["architecture://adr/0003-c docs/adr/0003-c.md"]
    );
    let expected = [
        "docs/adr/a/b/c/d/e/f/g/h/deep.md is left out: it stands more than 8 folders deep",
        "docs/adr/0001-large.md is left out: it has more than 1 MiB, or the repository lacks it",
        "docs/adr/0002-binary.md is left out: it is not text",
    ];
    assert_eq!(library.omitted(), expected);
}

#[test]
fn a_library_is_cached_until_the_commit_or_rules_change() {
    let app = Sandbox::new();
    app.file("docs/adr/0001-a.md", "# A")
        .file("docs/adr/0002-b.md", "# B")
        .committed();
    let libraries = Libraries::new();
    let of = |repo: &Repo| libraries.of(repo, &cancel()).unwrap();
    let first = of(&app.repo());
    assert!(Arc::ptr_eq(&first, &of(&app.repo())));
    let rules = Rules::new(&[], &["docs/adr/0001*".to_owned()], None).unwrap();
    assert_eq!(
        shown(&of(&app.repo_with(rules))),
        ["architecture://adr/0002-b docs/adr/0002-b.md"]
    );
    app.file("docs/adr/0003-c.md", "# C")
        .git(&["add", "-A"])
        .git(&["commit", "-qm", "two"]);
    let second = of(&app.repo());
    assert_eq!(second.documents().len(), 3);
    let content = |library: &Library| Arc::clone(&library.documents()[0].content);
    assert!(
        Arc::ptr_eq(&content(&first), &content(&second)),
        "a text is read once"
    );
}

#[test]
fn supersession_is_resolved_from_either_record() {
    let app = Sandbox::new();
    app.file("docs/adr/0001-a.md", "# 1. A\n\n## Status\n\nAccepted\n");
    app.file(
        "docs/adr/0002-b.md",
        "# 2. B\n\n## Status\n\nAccepted\n\nSupersedes [1. A](0001-a.md)\n",
    );
    app.file(
        "docs/adr/0003-c.md",
        "# 3. C\n\n## Status\n\nSuperseded by ADR-0002\n",
    );
    app.file(
        "docs/adr/0004-d.md",
        "---\nstatus: proposed\nsupersedes: 0002-b\n---\n# D\n",
    );
    app.file(
        "docs/adr/e.md",
        "---\nstatus: superseded\nsuperseded-by: \"B\"\n---\n# E\n",
    );
    app.committed();
    let library = library(&app);
    let records: Vec<_> = library
        .documents()
        .iter()
        .map(|document| document.record.clone().unwrap())
        .collect();
    let record = |id: &str, status, supersedes: &[&str], superseded_by: &[&str]| Record {
        id: id.to_owned(),
        status,
        supersedes: supersedes.iter().map(ToString::to_string).collect(),
        superseded_by: superseded_by.iter().map(ToString::to_string).collect(),
    };
    let expected = [
        record("0001", Status::Superseded, &[], &["0002-b"]),
        record(
            "0002",
            Status::Accepted,
            &["0001-a", "0003-c", "e"],
            &["0004-d"],
        ),
        record("0003", Status::Superseded, &[], &["0002-b"]),
        record("0004", Status::Proposed, &["0002-b"], &[]),
        record("e", Status::Superseded, &[], &["0002-b"]),
    ];
    assert_eq!(records, expected);
}

#[test]
fn a_bare_repository_has_the_documents_of_its_head() {
    let app = Sandbox::new();
    app.file("docs/adr/0001-a.md", "\u{feff}# A").committed();
    std::fs::rename(app.root(), app.host("acme/source")).unwrap();
    archway_repo::testing::git(
        &app.host("acme"),
        &["clone", "-q", "--bare", "source", "app"],
    );
    let library = library(&app);
    assert_eq!(library.documents()[0].title, "A");
    assert_eq!(library.documents()[0].record.as_ref().unwrap().id, "0001");
}

#[test]
fn omitted_paths_are_escaped() {
    let app = Sandbox::new();
    app.file("docs/adr/0001-\u{202e}gnp.md", b"a\0b")
        .committed();
    assert_eq!(
        library(&app).omitted(),
        ["docs/adr/0001-\\u{202e}gnp.md is left out: it is not text"]
    );
}
