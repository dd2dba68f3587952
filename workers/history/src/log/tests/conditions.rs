//! Logs of commits that say something, or that add or remove a text.

use archway_repo::{
    RepoError,
    testing::{Sandbox, cancel},
};

use super::super::super::fixtures::commit;
use super::super::super::{HistoryError, LogQuery};
use super::by_hand::{full_log, subjects};
use super::{history, log_query};

#[test]
fn messages_are_searched_line_by_line_in_any_case() {
    let app = Sandbox::new();
    app.git(&["init", "-q", "-b", "main"]);
    for (nth, message) in ["Fix parser\n\nSee #12", "add lexer", "tidy\n\nfixes it"]
        .iter()
        .enumerate()
    {
        app.file("a.txt", nth.to_string());
        commit(&app, message);
    }
    for (grep, expected) in [
        ("fix", &["tidy", "Fix parser"][..]),
        ("^see #[0-9]+$", &["Fix parser"]),
        ("parser.*See", &[]),
    ] {
        let query = LogQuery {
            grep: Some(grep.to_owned()),
            ..log_query(None)
        };
        assert_eq!(subjects(&app, &full_log(&app, &query)), expected, "{grep}");
    }
    let query = LogQuery {
        grep: Some("(".to_owned()),
        ..log_query(None)
    };
    let refused = history(&app).log(&query, None, &cancel()).err().unwrap();
    assert!(matches!(
        refused,
        HistoryError::Repo(RepoError::InvalidPattern { .. })
    ));
}

#[test]
fn a_text_is_followed_where_it_came_and_went_but_not_where_it_moved() {
    let app = Sandbox::new();
    let rest = "a line of the rest\n".repeat(20);
    app.git(&["init", "-q", "-b", "main"]);
    app.file("lib/a.txt", &rest);
    commit(&app, "without");
    app.file("lib/a.txt", format!("{rest}needle\n"));
    app.file("secrets.txt", "needle\n");
    commit(&app, "came");
    app.git(&["mv", "lib/a.txt", "lib/b.txt"]);
    commit(&app, "moved");
    app.file("lib/b.txt", format!("{rest}needle needle\n"));
    commit(&app, "twice");
    app.file("lib/b.txt", format!("needle needle\n{rest}"));
    commit(&app, "elsewhere in it");
    app.git(&["rm", "-q", "secrets.txt"]);
    commit(&app, "a blocked one went");
    app.git(&["rm", "-q", "lib/b.txt"]);
    commit(&app, "went");
    for path in [None, Some("lib"), Some("lib/b.txt")] {
        let query = LogQuery {
            changed: Some("needle".to_owned()),
            ..log_query(path)
        };
        let found = subjects(&app, &full_log(&app, &query));
        assert_eq!(found, ["went", "twice", "came"], "{path:?}");
    }
}
