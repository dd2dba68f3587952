//! Cancellation: every long operation stops at the check at which it is cancelled, and checks often
//! enough. The work between two checks is far less than the 100 ms within which a call has to end.

use std::fmt::Write as _;
use std::time::Duration;

use archway_repo::{
    Cancel, RepoError, Stopped,
    testing::{Sandbox, cancel, git, path},
};
use gix::ObjectId;
use gix::diff::blob::Token;

use super::cuts;
use super::fixtures::{history, log_query};
use super::graph::{Graph, GraphFiles, build};
use super::{Histories, History, HistoryError, LogQuery};

/// CPU time of a build without optimisation, on a slow core.
const MAX_WORK: Duration = Duration::from_millis(250);

/// Runs `work` to its end, which takes `min_checks` checks or more, then cancels it at some of them.
fn assert_stops<T>(min_checks: u64, work: impl Fn(&Cancel) -> Result<T, HistoryError>) {
    let uncancelled = cancel().measured();
    assert!(work(&uncancelled).is_ok());
    let (checks, longest) = (uncancelled.checks(), uncancelled.longest_gap());
    assert!(
        longest < MAX_WORK,
        "{longest:?} between two of {checks} checks"
    );
    assert_stops_at_checks(min_checks, checks, work);
}

/// Cancels `work` at some of its `checks` checks, of which there must be `min_checks` or more.
fn assert_stops_at_checks<T>(
    min_checks: u64,
    checks: u64,
    work: impl Fn(&Cancel) -> Result<T, HistoryError>,
) {
    assert!(checks >= min_checks, "{checks} checks");
    for at in [1, checks / 4, checks / 2, checks * 3 / 4, checks] {
        let cancel = cancel().cancel_at_check(at);
        let stopped = work(&cancel).err();
        let stopped = stopped.unwrap_or_else(|| panic!("continued at check {at} of {checks}"));
        let is_cancelled = HistoryError::from(Stopped::Cancelled).to_string();
        assert_eq!(stopped.to_string(), is_cancelled, "at {at} of {checks}");
        assert!(matches!(stopped, HistoryError::Repo(RepoError::Stopped(_))));
        assert_eq!(cancel.checks(), at, "checked again after cancellation");
    }
}

/// Creates `count` commits on `main`; `file` gives the content of each.
fn commits(count: u32, file: impl Fn(u32) -> String) -> Sandbox {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    let mut stream = String::new();
    for at in 1..=count {
        let by = format!("committer A <a@b.c> {at} +0000\ndata 1\nm\n");
        write!(stream, "commit refs/heads/main\n{by}{}", file(at)).unwrap();
    }
    app.import(&stream);
    app
}

/// A file of 40 lines, all but the last of which change again and again.
fn one_file(at: u32) -> String {
    let lines: String = (0..40)
        .map(|line| format!("{}\n", if line == at % 39 { at } else { line }))
        .collect();
    format!("M 644 inline src/a.txt\ndata {}\n{lines}\n", lines.len())
}

fn id(app: &Sandbox, revision: &str) -> ObjectId {
    git(&app.root(), &["rev-parse", revision]).parse().unwrap()
}

#[test]
fn a_log_without_matches_stops() {
    let app = commits(2000, one_file);
    for file in [None, Some("src"), Some("src/a.txt")] {
        let query = LogQuery {
            author: Some("nobody".to_owned()),
            ..log_query(file)
        };
        let history = history(&app);
        assert_stops(2000, |cancel| {
            history.log(&query, None, cancel)?.next(cancel)
        });
    }
}

#[test]
fn a_blame_through_many_versions_stops() {
    let app = commits(1000, one_file);
    let head = id(&app, "HEAD");
    assert_stops(1000, |cancel| {
        let history = history(&app);
        let file = history.blamed_file(head, &path("src/a.txt"))?;
        history.blame(&file, (0, 40), cancel)
    });
}

/// With paused time: the search for renames would otherwise end by itself after two seconds.
#[tokio::test(start_paused = true)]
async fn a_diff_of_large_trees_stops() {
    // Each commit deletes all files and adds others with new names and contents.
    let app = commits(2, |at| {
        let file = |number: u32| {
            let text = format!("{}\n", number + at * 10_000).repeat(20);
            let (folder, length) = (number % 100, text.len());
            format!("M 644 inline {folder}/{at}.{number}\ndata {length}\n{text}\n")
        };
        let files: String = (0..900).map(file).collect();
        format!("deleteall\n{files}")
    });
    let tree = |revision: &str| Some(id(&app, revision));
    let (old, new) = (tree("HEAD~1^{tree}"), tree("HEAD^{tree}"));
    let history = history(&app);
    assert_stops(1000, |cancel| {
        history.compare(old, new, cancel).map(|found| found.changes)
    });
    assert_stops(1000, |cancel| {
        history
            .compare(None, new, cancel)
            .map(|found| found.changes)
    });
}

/// `count` distinct lines that no text of another `seed` shares.
fn lines(seed: u32, count: u32) -> String {
    let line = |at: u32| format!("{seed} {:>30} {}\n", at * 7, at ^ seed);
    (0..count).map(line).collect()
}

#[tokio::test(start_paused = true)]
async fn a_search_for_the_source_of_a_large_file_stops() {
    let app = commits(2, |at| {
        let text = lines(1, 250_000) + &"more\n".repeat(at as usize);
        let length = text.len();
        assert!(length > 9 << 20, "{length}");
        format!("deleteall\nM 644 inline {at}.txt\ndata {length}\n{text}\n")
    });
    let tree = |revision: &str| Some(id(&app, revision));
    let (old, new) = (tree("HEAD~1^{tree}"), tree("HEAD^{tree}"));
    let history = history(&app);
    assert_stops(30, |cancel| history.compare(old, new, cancel).map(|_| ()));
    let query = log_query(Some("2.txt"));
    assert_stops(30, |cancel| {
        // A cached origin would skip the search.
        let history = self::history(&app);
        history.log(&query, None, cancel)?.next(cancel)
    });
}

#[test]
fn a_blame_of_a_file_of_very_many_lines_stops() {
    let app = commits(2, |at| {
        let text = lines(at, 100_000);
        let length = text.len();
        format!("M 644 inline a.txt\ndata {length}\n{text}\n")
    });
    let head = id(&app, "HEAD");
    assert_stops(45, |cancel| {
        let history = history(&app);
        let file = history.blamed_file(head, &path("a.txt"))?;
        history.blame(&file, (0, 40), cancel)
    });
}

#[test]
fn cutting_texts_of_very_many_lines_stops() {
    // Every other line occurs in both texts.
    let text = |by: u32| -> Vec<Token> {
        let line = |at: u32| if at.is_multiple_of(2) { at } else { at + by };
        (0..600_000).map(line).map(Token).collect()
    };
    let (old, new) = (text(0), text(600_000));
    let work =
        |cancel: &Cancel| -> Result<_, HistoryError> { Ok(cuts::pieces(&old, &new, cancel)?) };
    // Without measuring time: allocating so many lines dominates it, and depends on the machine's
    // load. Three passes over 600,000 lines check once in 16,384.
    let uncancelled = cancel();
    assert!(work(&uncancelled).is_ok());
    assert_stops_at_checks(3 * (600_000 / 16_384), uncancelled.checks(), work);
}

#[test]
fn a_reachability_walk_stops() {
    let app = commits(2000, |_| String::new());
    app.git(&["branch", "side", "HEAD~1"]);
    let first = id(&app, "HEAD~1999");
    assert_stops(2000, |cancel| history(&app).reachable(&[first], cancel));
}

#[test]
fn building_a_graph_stops() {
    let app = commits(2000, one_file);
    let repo = app.repo();
    let git = repo.git().unwrap();
    assert_stops(2000, |cancel| build(&git, &Graph::default(), cancel));
}

#[test]
fn reading_a_graph_for_the_first_time_stops() {
    let app = commits(20_000, |_| String::new());
    app.git(&["commit-graph", "write", "--reachable", "--split=no-merge"]);
    app.git(&["checkout", "-q", "--detach"]);
    app.git(&["commit", "-qm", "more", "--allow-empty"]);
    app.git(&["branch", "more"]);
    app.git(&["commit-graph", "write", "--reachable", "--split=no-merge"]);
    let repo = app.repo();
    let git = repo.git().unwrap();
    assert_stops(8, |cancel| Ok(GraphFiles::read(&git, cancel)?));
    assert_stops(8, |cancel| History::of(&repo, &Histories::new(), cancel));
}
