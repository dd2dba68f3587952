//! Resolved revisions compared with `git rev-parse`.

use std::{collections::BTreeMap, process::Command};

use archway_repo::testing::{Sandbox, git};

use super::super::HistoryError;
use super::{resolve, start, varied};

/// Git's resolution of a revision, if it names a commit.
fn git_rev_parse(app: &Sandbox, revision: &str) -> Option<String> {
    let run = |revision: &str| {
        let output = Command::new("git")
            .current_dir(app.root())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(["-c", "core.disambiguate=committish"])
            .args(["rev-parse", "--verify", "-q", revision])
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        output.status.success().then(|| said.trim_end().to_owned())
    };
    run(&format!("{}^{{commit}}", run(revision)?))
}

/// Bases of revisions, separated by white space.
const BASES: &str = "
    @ HEAD main topic/deep heads/both both tags/both v1.0.0 nested light blob tree ofblob after loose
    origin origin/main remotes/origin/main refs/heads/main refs/tags/v1.0.0 refs/remotes/origin/HEAD
    main@{u} @{upstream} HEAD@{U} loose@{u} main@{u}@{0} main@{0} main@{1} @{1} HEAD@{1} HEAD@{3}
    main@{99} @{-1} @{-2} @{-9} main@{now} main@{2030-01-01} main@{1999-01-01} main@{1.second.ago}
    topic/deep@{1} v1.0.0@{1} none a.. ORIG_HEAD FETCH_HEAD config index abc 0000 main.lock
    v1.0.0-1-g0000000 0000000000000000000000000000000000000000 refs/heads heads main/ /main";

/// Steps that may follow a base, and some that may not.
const STEPS: &str = "
    ~ ^ ^0 ~0 ^^ ~2 ^2 ^2~1 ^3 ~1^2 ~99 ~99999999999999999999 ^{} ^{commit} ^{object} ^{tag} ^{tag}^{}
    ^{}~1 ^{commit}^2 ~1^{tag} ~1x ^x ~-1 ^{ @ ~1@{0}";

/// Checks that git resolves all `revisions` alike. Returns how many name a commit.
fn assert_resolved_as_git<'a>(
    app: &Sandbox,
    revisions: impl Iterator<Item = (&'a str, &'a str)>,
) -> usize {
    let mut named = 0;
    for (base, step) in revisions {
        let revision = format!("{base}{step}");
        let resolved = resolve(app, &revision);
        if resolved.is_err() && base.contains("@{") && step.contains('}') {
            // If a step leads nowhere, git reads from the first brace to the last as a date.
            continue;
        }
        named += usize::from(resolved.is_ok());
        assert_eq!(resolved.ok(), git_rev_parse(app, &revision), "{revision}");
    }
    named
}

#[test]
fn revisions_resolve_as_in_git() {
    let app = varied();
    let id = |revision: &str| git(&app.root(), &["rev-parse", revision]);
    let (two, tag, six) = (id("HEAD~2"), id("nested"), id("HEAD~1"));
    let described = git(&app.root(), &["describe", "HEAD"]);
    let ids = [
        &two,
        start(&two, 7),
        start(&two, 39),
        start(&two, 4),
        &two.to_uppercase(),
    ];
    let others = [
        &tag,
        start(&tag, 10),
        &described,
        start(&six, 5),
        start(&six, 6),
        "a b",
    ];
    let each = BASES.split_whitespace().chain(ids).chain(others);
    let each = each.flat_map(|base| ["", "~1^2", "^{tag}"].map(|step| (base, step)));
    assert!(assert_resolved_as_git(&app, each) > 60);
    let some = [
        "@",
        "main",
        "nested",
        "ofblob",
        "main@{1}",
        "@{-1}",
        start(&two, 7),
    ];
    let all = some.into_iter().flat_map(|base| {
        let steps = STEPS.split_whitespace();
        steps.map(move |step| (base, step))
    });
    assert!(assert_resolved_as_git(&app, all) > 60);
}

#[test]
fn ambiguous_ids_list_reachable_commits() {
    let app = Sandbox::new();
    app.file("a", "1").committed();
    // Among so many ids, some share their first four digits.
    let commit = |n| format!("commit refs/heads/side\ncommitter A <a@b.c> {n} +0000\ndata 0\n\n");
    app.import(&(0..1500).map(commit).collect::<String>());
    let ids = git(&app.root(), &["rev-list", "side"]);
    let mut starts = BTreeMap::<&str, Vec<&str>>::new();
    for id in ids.lines() {
        starts.entry(start(id, 4)).or_default().push(id);
    }
    let (short, newest_first) = starts.into_iter().find(|(_, ids)| ids.len() > 1).unwrap();
    let mut several = newest_first.clone();
    several.sort_unstable();
    for revision in [short.to_owned(), format!("{short}~1^{{}}")] {
        match resolve(&app, &revision).unwrap_err() {
            HistoryError::Ambiguous { candidates, .. } => assert_eq!(candidates, several),
            other => panic!("{revision}: {other}"),
        }
    }
    assert_eq!(resolve(&app, start(several[0], 12)).unwrap(), several[0]);
    let oldest = newest_first.last().unwrap();
    app.git(&["branch", "-D", "side"])
        .git(&["branch", "kept", oldest]);
    assert_eq!(
        &resolve(&app, short).unwrap(),
        oldest,
        "nothing reaches the others"
    );
}
