//! Refs that a remote does not have: gone, never there, or none at all.

use super::Sandbox;
use crate::failure::SyncState;

#[tokio::test]
async fn a_ref_that_is_gone_leaves_its_last_commit() {
    let sandbox = Sandbox::new();
    sandbox.commit("one");
    sandbox.git(&["checkout", "-qb", "topic"]);
    let last = sandbox.commit("two");
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.sync(Some("topic")).await.unwrap();
    sandbox.git(&["branch", "-D", "topic"]);
    for _ in ["gone", "still gone"] {
        let synced = sandbox.sync(Some("topic")).await.unwrap();
        assert_eq!((synced.ref_gone, synced.head), (true, Some(last.clone())));
        assert_eq!(
            sandbox.state(),
            (last.clone(), "refs/heads/main".to_owned())
        );
    }
}

#[tokio::test]
async fn a_ref_that_never_was_serves_nothing_until_it_is_there() {
    let sandbox = Sandbox::new();
    sandbox.commit("one");
    for _ in ["first", "again"] {
        let failure = sandbox.sync(Some("topic")).await.unwrap_err();
        assert_eq!(failure.state, SyncState::RefGone);
        assert!(failure.message.contains("topic"), "{failure}");
        assert!(!sandbox.mirrors.place("acme", "site").exists());
    }
    sandbox.git(&["checkout", "-qb", "topic"]);
    let last = sandbox.commit("two");
    let synced = sandbox.sync(Some("topic")).await.unwrap();
    assert_eq!((synced.ref_gone, synced.head), (false, Some(last)));
}

#[tokio::test]
async fn an_empty_remote_is_mirrored_and_filled_later() {
    let sandbox = Sandbox::new();
    let synced = sandbox.sync(None).await.unwrap();
    assert_eq!((synced.head, synced.ref_gone), (None, false));
    let first = sandbox.commit("one");
    assert_eq!(sandbox.sync(None).await.unwrap().head, Some(first));
}
