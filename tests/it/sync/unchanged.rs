//! Runs that find nothing new at an https host.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use super::https_mirror::HttpsMirror;

#[tokio::test]
async fn git_fetches_only_what_is_new_and_once_an_hour_at_least() {
    let mirror = HttpsMirror::start().await;
    let (first, is_fetched) = mirror.sync(None).await;
    assert!(first.changed && is_fetched);
    for _ in 0..2 {
        let (synced, is_fetched) = mirror.sync(None).await;
        assert!(!synced.changed && synced.bytes > 0 && !is_fetched);
        assert_eq!(synced.head, first.head);
    }
    let commit = ["commit", "-q", "--allow-empty", "-m", "two"];
    for arguments in [&commit[..], &["tag", "v1"], &["branch", "other"]] {
        let head = mirror.push(arguments);
        let (synced, is_fetched) = mirror.sync(None).await;
        assert!(synced.changed && is_fetched, "{arguments:?}");
        assert_eq!(synced.head, Some(head));
        assert!(!mirror.sync(None).await.1);
    }
    assert!(mirror.sync(Some("other")).await.1, "another ref is served");
    assert!(!mirror.sync(Some("other")).await.1);
    let last = mirror.repos.path().join("acme/site/archway-last-fetch");
    let long_ago = SystemTime::now() - Duration::from_secs(60 * 60);
    fs::File::open(&last)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    assert!(mirror.sync(Some("other")).await.1, "an hour ago");
}

#[tokio::test]
async fn a_renamed_default_branch_is_noticed_without_a_new_commit() {
    let mirror = HttpsMirror::start().await;
    mirror.sync(None).await;
    assert!(!mirror.sync(None).await.1);
    mirror.push(&["branch", "-m", "main", "trunk"]);
    let (synced, is_fetched) = mirror.sync(None).await;
    assert!(synced.changed && is_fetched);
    let head = fs::read_to_string(mirror.repos.path().join("acme/site/HEAD")).unwrap();
    assert_eq!(head.trim(), "ref: refs/heads/trunk");
}

#[tokio::test]
async fn a_host_without_an_answer_to_the_question_is_left_to_git() {
    let mirror = HttpsMirror::start().await;
    // It answers git, but not who asks first.
    mirror.host.tamper(|asked, answer| {
        match asked.is_empty() || asked.windows(6).any(|it| it == b"agent=") {
            true => answer.to_vec(),
            false => b"0013ERR not now, sorry\n0000".to_vec(),
        }
    });
    for _ in 0..4 {
        assert!(mirror.sync(None).await.1);
    }
}
