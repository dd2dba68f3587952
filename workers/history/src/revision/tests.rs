//! Revisions compared with `git rev-parse`, and tested against arbitrary text.

mod rev_parse;
mod reachability;

use archway_repo::testing::{Sandbox, cancel, git};
use proptest::prelude::*;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{Histories, fixtures::history};

fn resolve(app: &Sandbox, revision: &str) -> Result<String, HistoryError> {
    let commit = history(app).resolve(revision, &cancel());
    commit.map(|commit| commit.to_string())
}

/// An id's first characters.
fn start(id: &str, length: usize) -> &str {
    id.get(..length).unwrap()
}

/// A repository with everything that a revision may name: merges, tags of all kinds, a tag and a
/// branch of one name, a remote, reflogs, packed references.
fn varied() -> Sandbox {
    const AFTER_FIVE_COMMITS: &str = "
        checkout -qb topic/deep HEAD~2
        commit -qm side --allow-empty
        checkout -q main
        merge -q --no-ff -m merge topic/deep
        tag v1.0.0 -am one
        tag nested v1.0.0 -am two
        tag light HEAD~1
        tag both HEAD~2
        branch both HEAD~1
        tag blob HEAD:a
        tag tree HEAD^{tree}
        tag ofblob -am three blob
        pack-refs --all
        branch loose HEAD~1
        tag after -am four
        config remote.origin.url nowhere
        config remote.origin.fetch +refs/heads/*:refs/remotes/origin/*
        update-ref refs/remotes/origin/main HEAD~1
        symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main
        config branch.main.remote origin
        config branch.main.merge refs/heads/main
        commit -qm six --allow-empty";
    let app = Sandbox::new();
    app.file("a", "1").committed();
    for n in 2..6 {
        let n = n.to_string();
        app.file("a", &n).git(&["commit", "-qam", &n]);
    }
    for command in AFTER_FIVE_COMMITS.trim().lines() {
        app.git(&command.split_whitespace().collect::<Vec<_>>());
    }
    // A branch whose name is the start of another commit's id.
    let id = git(&app.root(), &["rev-parse", "HEAD~1"]);
    app.git(&["branch", start(&id, 5), "HEAD~3"]);
    app
}

#[test]
fn head_of_an_empty_repository_is_no_commits() {
    let app = Sandbox::new();
    app.git(&["init", "-q"]);
    for text in ["HEAD", "@", "HEAD~1"] {
        let refused = resolve(&app, text).unwrap_err();
        assert!(
            matches!(refused, HistoryError::NoCommits),
            "{text}: {refused}"
        );
    }
    assert!(matches!(
        resolve(&app, "main"),
        Err(HistoryError::RevisionNotFound { .. })
    ));
}

#[test]
fn revisions_beyond_a_shallow_end_are_not_found() {
    let app = Sandbox::new();
    app.file("a", "1").committed();
    for n in 2..6 {
        app.git(&["commit", "-qm", &n.to_string(), "--allow-empty"]);
    }
    let first = git(&app.root(), &["rev-parse", "HEAD~4"]);
    std::fs::rename(app.root(), app.host("acme/source")).unwrap();
    let source = format!("file://{}", app.host("acme/source").display());
    git(
        &app.host("acme"),
        &["clone", "-q", "--depth", "2", &source, "app"],
    );
    assert!(resolve(&app, "HEAD~1").is_ok());
    for text in ["HEAD~2", "HEAD~1^", &first] {
        let refused = resolve(&app, text).unwrap_err();
        assert!(
            matches!(refused, HistoryError::RevisionNotFound { .. }),
            "{text}: {refused}"
        );
    }
    let before = git(&app.root(), &["rev-parse", "HEAD~1"]);
    assert_eq!(resolve(&app, &before).unwrap(), before);
}

#[test]
fn lookups_stop_at_the_deadline() {
    let app = varied();
    let late = Cancel::new(Instant::now(), CancellationToken::new());
    let one = git(&app.root(), &["rev-list", "--max-parents=0", "HEAD"]);
    for text in [
        "main~3",
        "v1.0.0",
        "@{-1}",
        "main@{1}",
        &one,
        start(&one, 8),
    ] {
        let stopped = history(&app).resolve(text, &late);
        assert!(matches!(stopped, Err(HistoryError::Repo(_))), "{text}");
    }
}

#[test]
fn lookups_among_ten_thousand_references_are_bounded() {
    let app = Sandbox::new();
    app.file("a", "1").committed();
    let import: String = (0..10_000).map(|n| format!(
        "commit refs/heads/b{n}\ncommitter A <a@b.c> {n} +0000\ndata 0\nfrom refs/heads/main\n\n"
    )).collect();
    app.import(&import);
    let histories = Histories::new();
    let one = git(&app.root(), &["rev-parse", "main"]);
    let last = git(&app.root(), &["rev-parse", "b9999"]);
    for text in [&one, &last, "0123456789012345678901234567890123456789"] {
        let (began, history) = (
            Instant::now(),
            History::of(&app.repo(), &histories, &cancel()).unwrap(),
        );
        let found = history.resolve(text, &cancel());
        assert_eq!(found.is_ok(), !text.starts_with("01234"));
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{:?}",
            began.elapsed()
        );
    }
}

#[test]
fn any_text_resolves_or_is_an_expected_error() {
    let app = varied();
    let history = history(&app);
    let near = "(main|@|v1\\.0\\.0|HEAD|blob|both|origin|[0-9a-f]{4,8}|refs/|)\
        ([~^][0-9]{0,30}|\\^\\{[a-z]{0,6}\\}?|@\\{[-a-z0-9. ]{0,12}\\}?|[.:^!/-])*";
    proptest!(|(text in "\\PC{0,60}", near in near)| {
        for text in [text, near] {
            let found = history.resolve(&text, &cancel());
            let named = matches!(
                &found,
                Ok(_) | Err(HistoryError::InvalidRevision { .. }
                    | HistoryError::RevisionNotFound { .. }
                    | HistoryError::Ambiguous { .. })
            );
            prop_assert!(named, "{}: {:?}", text, found);
        }
    });
}
