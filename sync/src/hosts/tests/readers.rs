//! Who may read a repository, by the lists of each host: paged, repeated, too long, and with entries that lie.

mod hostile;
mod members;

use axum::response::Response;
use serde_json::{Value, json};

use super::super::testing::{Asked, HostDouble, client, page, reply};
use super::super::{
    AskedRepository, Budget, HostClient, ListingError, ReaderSession, ReadersAnswer,
};
use super::token;

const SITE: AskedRepository<'_> = AskedRepository {
    host_id: "41",
    path: "acme/site",
    etags: &[],
    is_requested: false,
};

async fn asked(
    client: &HostClient,
    of: AskedRepository<'_>,
) -> Result<ReadersAnswer, ListingError> {
    let (budget, token) = (Budget::default(), token());
    ReaderSession::new(client, &budget, Some(&token))
        .readers(of)
        .await
}

/// The numbers of those who may read, and the validators.
async fn listed(client: &HostClient) -> (Vec<i64>, Vec<String>) {
    match asked(client, SITE).await.unwrap() {
        ReadersAnswer::Listed { readers, etags } => {
            (readers.iter().map(|it| it.account).collect(), etags)
        }
        ReadersAnswer::Unchanged => panic!("unchanged"),
    }
}

fn collaborator(id: i64, pull: bool) -> Value {
    json!({ "id": id, "login": format!("User-{id}"), "permissions": { "pull": pull, "push": false }, "email": "a@b.c" })
}

/// Full pages of collaborators from 1 on, of which the last has 50, each with a validator.
fn github_of(pages: usize) -> impl Fn(&Asked) -> Response + Clone {
    move |asked| {
        if asked.path != "/api/v3/repositories/41/collaborators" {
            return reply(404, &[], "{}");
        }
        let number = asked.page();
        let etag = format!("\"{number}\"");
        if asked.header("if-none-match") == etag {
            return reply(304, &[], "");
        }
        let first = i64::try_from(number - 1).unwrap() * 100;
        let count = if number == pages { 50 } else { 100 };
        let entries: Vec<Value> = (1..=count).map(|n| collaborator(first + n, true)).collect();
        let body = Value::from(entries).to_string();
        let link = match number < pages {
            true => format!(
                r#"<{}{}?affiliation=all&per_page=100&page={}>; rel="next""#,
                asked.base,
                asked.path,
                number + 1
            ),
            false => String::new(),
        };
        reply(200, &[("etag", &etag), ("link", &link)], body)
    }
}

#[tokio::test]
async fn github_says_who_may_read_page_by_page() {
    let host = HostDouble::start(github_of(3)).await;
    let client = host.github(json!({}));
    let (accounts, etags) = listed(&client).await;
    assert_eq!(accounts, (1..=250).collect::<Vec<_>>());
    let first = &host.asked()[0];
    assert_eq!(first.query, "affiliation=all&per_page=100&page=1");
    assert_eq!(first.header("authorization"), "Bearer s3cr3t-token");
    // Each page is asked for by its validator. If one is new, all are read.
    let again = AskedRepository {
        etags: &etags,
        ..SITE
    };
    assert_eq!(
        asked(&client, again).await.unwrap(),
        ReadersAnswer::Unchanged
    );
    assert_eq!(host.asked().len(), 3);
    let other = [etags[0].clone(), "\"old\"".to_owned(), etags[2].clone()];
    let again = AskedRepository {
        etags: &other,
        ..SITE
    };
    assert!(matches!(
        asked(&client, again).await.unwrap(),
        ReadersAnswer::Listed { .. }
    ));
}

#[tokio::test]
async fn a_full_last_page_is_read_anew_since_another_may_follow() {
    let host = HostDouble::start(|_: &Asked| {
        let entries: Vec<Value> = (1..=100).map(|n| collaborator(n, true)).collect();
        reply(200, &[("etag", "\"1\"")], Value::from(entries).to_string())
    })
    .await;
    let (accounts, etags) = listed(&host.github(json!({}))).await;
    assert_eq!((accounts.len(), etags.len()), (100, 0));
}

#[tokio::test]
async fn an_entry_that_does_not_say_that_it_may_read_is_no_reader() {
    let host = HostDouble::start(|_: &Asked| {
        page(&[
            collaborator(1, true),
            collaborator(2, false),
            json!({ "id": 3, "login": "c" }),
            json!({ "id": "4", "login": "d", "permissions": { "pull": true } }),
            json!({ "id": -5, "login": "e", "permissions": { "pull": true } }),
            json!("everybody"),
            collaborator(1, true),
        ])
    })
    .await;
    let client = host.github(json!({}));
    let ReadersAnswer::Listed { readers, .. } = asked(&client, SITE).await.unwrap() else {
        panic!()
    };
    assert_eq!(readers.len(), 1);
    // GitHub does not say which addresses it has verified.
    assert_eq!(
        (readers[0].login.as_deref(), &readers[0].email),
        (Some("user-1"), &None)
    );
}

#[tokio::test]
async fn a_host_that_repeats_pages_or_names_a_million_is_refused() {
    let circle = HostDouble::start(|asked: &Asked| {
        let next = format!(r#"<{}{}?page=2>; rel="next""#, asked.base, asked.path);
        reply(
            200,
            &[("link", &next)],
            json!([collaborator(1, true)]).to_string(),
        )
    })
    .await;
    let error = asked(&circle.github(json!({})), SITE).await.unwrap_err();
    assert!(error.to_string().contains("circle"), "{error}");
    let million = HostDouble::start(|asked: &Asked| {
        let number = asked.page();
        let next = format!(
            r#"<{}{}?page={}>; rel="next""#,
            asked.base,
            asked.path,
            number + 1
        );
        let first = i64::try_from(number).unwrap() * 20_000;
        let entries: Vec<Value> = (0..20_000).map(|n| collaborator(first + n, true)).collect();
        reply(200, &[("link", &next)], Value::from(entries).to_string())
    })
    .await;
    let error = asked(&million.github(json!({})), SITE).await.unwrap_err();
    assert!(
        matches!(error, ListingError::TooMany { limit: 50_000, .. }),
        "{error}"
    );
    assert_eq!(million.asked().len(), 3);
}

#[tokio::test]
async fn half_of_a_rate_limit_is_used_at_most() {
    let host = HostDouble::start(|_: &Asked| {
        let reset = (jiff::Timestamp::now().as_second() + 100).to_string();
        let headers = [
            ("x-ratelimit-limit", "100"),
            ("x-ratelimit-remaining", "55"),
            ("x-ratelimit-reset", &*reset),
        ];
        reply(200, &headers, "[]")
    })
    .await;
    let client = host.github(json!({}));
    let budget = Budget::default();
    let mut session = ReaderSession::new(&client, &budget, None);
    session.readers(SITE).await.unwrap();
    let error = session.readers(SITE).await.unwrap_err();
    assert!(matches!(error, ListingError::RateLimited { .. }), "{error}");
    assert_eq!(host.asked().len(), 1);
    let waited_for = AskedRepository {
        is_requested: true,
        ..SITE
    };
    session.readers(waited_for).await.unwrap();
}

#[tokio::test]
async fn names_that_are_no_names_are_not_asked_for() {
    let host = HostDouble::start(|_: &Asked| page(&[])).await;
    let source = json!({ "gitea": { "org": "acme", "url": host.base } });
    let gitea = client(source, json!({}));
    for path in [
        "site",
        "acme/../x",
        "acme/a?b",
        "acme/a b",
        "acme/a/b",
        "acme/%2e",
    ] {
        let of = AskedRepository { path, ..SITE };
        assert!(asked(&gitea, of).await.is_err(), "{path}");
    }
    let github = host.github(json!({}));
    for host_id in ["", "-1", "4x", "41/..", "acme/site"] {
        let of = AskedRepository { host_id, ..SITE };
        assert!(asked(&github, of).await.is_err(), "{host_id}");
    }
    assert!(host.asked().is_empty());
}
