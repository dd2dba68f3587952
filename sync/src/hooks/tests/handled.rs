//! What hosts send: each delivery is handled once, and in time.

use super::*;

#[tokio::test]
async fn what_each_host_signed_is_due_once() {
    let endpoint = Endpoint::new();
    let gitlab = r#"{"object_kind":"push","project_id":42,
        "project":{"id":42,"path_with_namespace":"acme/site"}}"#;
    let gitea = || Sent {
        path: "/hooks/acme/gitea".to_owned(),
        headers: vec![("X-Gitea-Event", "push".to_owned())],
        body: Body::from(PUSH),
    };
    let signature = sign("sesame-gitea", PUSH.as_bytes());
    for sent in [
        push(),
        Sent {
            path: "/hooks/acme/gitlab".to_owned(),
            headers: vec![
                ("X-Gitlab-Event", "Push Hook".to_owned()),
                ("X-Gitlab-Token", "sesame-gitlab".to_owned()),
            ],
            body: Body::from(gitlab),
        },
        gitea().and("X-Gitea-Signature", &signature),
        gitea().and("X-Forgejo-Signature", &signature),
        gitea().and("X-Hub-Signature-256", format!("sha256={signature}")),
        gitea()
            .and("X-Gitea-Signature", &signature)
            .and("X-Hub-Signature-256", format!("sha256={signature}")),
    ] {
        let name = sent.path.clone();
        assert_eq!(endpoint.send(sent).await, 202, "{name}");
        assert_eq!(endpoint.events(), fetch_of_site(), "{name}");
    }
    for event in ["ping", "issues"] {
        assert_eq!(endpoint.send(github(event, PUSH)).await, 202);
    }
    assert_eq!(endpoint.send(push().without("X-GitHub-Event")).await, 202);
    assert_eq!(endpoint.events(), []);
}

#[tokio::test]
async fn a_delivery_that_came_before_does_nothing() {
    let endpoint = Endpoint::new();
    let delivery = |id: &str| push().with("X-GitHub-Delivery", id);
    // Nobody without the secret can have an id remembered.
    let forged = delivery("one").with("X-Hub-Signature-256", "sha256=00");
    assert_eq!(endpoint.send(forged).await, 401);
    for (id, count) in [("one", 1), ("one", 0), ("two", 1), ("one", 0)] {
        assert_eq!(endpoint.send(delivery(id)).await, 202);
        assert_eq!(endpoint.events().len(), count, "{id}");
    }
    // Another connection's delivery of the same id is another one.
    let elsewhere = delivery("one")
        .to("/hooks/acme/gitea")
        .without("X-Hub-Signature-256")
        .and("X-Gitea-Signature", sign("sesame-gitea", PUSH.as_bytes()));
    assert_eq!(endpoint.send(elsewhere).await, 202);
    assert_eq!(endpoint.events().len(), 1);
    for id in ["Idempotency-Key", "X-Gitlab-Event-UUID"] {
        for count in [1, 0] {
            let gitlab = push()
                .to("/hooks/acme/gitlab")
                .and("X-Gitlab-Event", "Push Hook")
                .and("X-Gitlab-Token", "sesame-gitlab")
                .and(id, "an id");
            assert_eq!(endpoint.send(gitlab).await, 202);
            // GitLab's two headers name the same delivery.
            let count = if id == "Idempotency-Key" { count } else { 0 };
            assert_eq!(endpoint.events().len(), count, "{id}");
        }
    }
}

#[tokio::test]
async fn what_could_not_be_handled_is_handled_when_it_comes_again() {
    let endpoint = Endpoint::new();
    let delivery = || push().with("X-GitHub-Delivery", "one");
    endpoint.known.fails.store(true, Ordering::Relaxed);
    assert_eq!(endpoint.send(delivery()).await, 503);
    endpoint.known.fails.store(false, Ordering::Relaxed);
    assert_eq!(endpoint.send(delivery()).await, 202);
    assert_eq!(endpoint.events(), fetch_of_site());
}

#[tokio::test(start_paused = true)]
async fn a_database_that_hangs_is_told_within_two_seconds() {
    let endpoint = Endpoint::new();
    endpoint.known.hangs.store(true, Ordering::Relaxed);
    let begun = tokio::time::Instant::now();
    assert_eq!(endpoint.send(push()).await, 503);
    assert!(begun.elapsed() < Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn more_than_600_deliveries_a_minute_are_refused() {
    let endpoint = Endpoint::new();
    for number in 0..700 {
        // Forged ones spend nothing.
        let forged = push().with("X-Hub-Signature-256", "sha256=00");
        assert_eq!(endpoint.send(forged).await, 401);
        let status = if number < 600 { 202 } else { 429 };
        assert_eq!(endpoint.send(push()).await, status, "{number}");
    }
    assert_eq!(endpoint.events().len(), 600);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(endpoint.send(push()).await, 202);
}

#[tokio::test]
async fn a_push_is_answered_in_milliseconds() {
    let endpoint = Endpoint::new();
    assert_eq!(endpoint.send(push()).await, 202);
    let begun = tokio::time::Instant::now();
    for _ in 0..100 {
        assert_eq!(endpoint.send(push()).await, 202);
    }
    assert!(begun.elapsed() < Duration::from_millis(500));
}
