//! Hosts of each kind that lie about who may read, or say nothing: an error, whichever list it is, and never a part of
//! one.

use std::time::Duration;

use axum::response::Response;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::super::super::testing::{Asked, HostDouble, client, page, reply};
use super::super::super::{AskedRepository, HostClient, ListingError, ReadersAnswer};
use super::{SITE, asked};

/// Of each host how its settings name it and its owner, and the lists that it is asked for.
const HOSTS: [(&str, &str, &[&str]); 3] = [
    ("github", "org", &["/api/v3/repositories/41/collaborators"]),
    ("gitlab", "group", &["/api/v4/projects/41/members/all"]),
    (
        "gitea",
        "org",
        &[
            "/api/v1/repos/acme/site/collaborators",
            "/api/v1/repos/acme/site/teams",
            "/api/v1/teams/7/members",
        ],
    ),
];

/// What is answered instead of a list, and a part of the message about it.
type Lie = (fn(&Asked) -> Response, &'static str);

const LIES: [Lie; 14] = [
    (|_| reply(200, &[], "[{\"id\": 7"), "a page is no list"),
    (|_| page_of(json!({ "id": 7 })), "a page is no list"),
    (
        |asked| linked(asked, "http://127.0.0.2:9/more?page=2"),
        "its next page is on another host",
    ),
    (
        |asked| linked(asked, &format!("{}?page=2", asked.path)),
        "its pages link in a circle",
    ),
    (
        |asked| linked(asked, "/api/v4/projects/42/members/all?page=2"),
        "is of another list",
    ),
    (
        |asked| linked(asked, "/api/v3/repositories/42/collaborators?page=2"),
        "is of another list",
    ),
    (
        |asked| linked(asked, "/x/api/v3/repositories/41/collaborators?page=2"),
        "is of another list",
    ),
    (
        |_| {
            let other = "/api/v4/projects/42/members/all";
            reply(307, &[("location", other)], "")
        },
        "is of another list",
    ),
    (
        |asked| match asked.page() {
            1 => linked(asked, &format!("{}?page=2", asked.path)),
            _ => reply(404, &[], "{}"),
        },
        "a page that it links to is missing",
    ),
    (|_| reply(304, &[], ""), "it redirects to nowhere"),
    (
        |_| reply(403, &[], r#"{"message":"not by s3cr3t-token"}"#),
        "refused the credential: 403 Forbidden: not by [secret]",
    ),
    (
        |_| reply(404, &[], "{}"),
        "knows no list of the repository's readers",
    ),
    (|_| reply(429, &[], ""), "asks to wait until"),
    (
        |_| reply(500, &[], "s3cr3t-token broke it"),
        "can't be reached: 500 Internal Server Error: [secret] broke it",
    ),
];

/// An entry of every list at every host: an account that may read, and a team that reads code.
fn entry(id: i64) -> Value {
    json!({
        "id": id, "login": format!("u{id}"), "username": format!("u{id}"), "state": "active", "access_level": 40,
        "permissions": { "pull": true }, "units_map": { "repo.code": "read" },
    })
}

fn page_of(body: Value) -> Response {
    reply(200, &[], body.to_string())
}

/// A page after which another one is said to follow.
fn linked(asked: &Asked, next: &str) -> Response {
    let body = json!([entry(7)]).to_string();
    let at_host = if next.starts_with('/') {
        &*asked.base
    } else {
        ""
    };
    let link = format!("<{at_host}{next}>; rel=\"next\"");
    reply(200, &[("link", &link)], body)
}

/// A host that answers so where it is asked for `list`, and otherwise with one entry.
async fn lying(
    list: &'static str,
    lie: impl Fn(&Asked) -> Response + Clone + Send + Sync + 'static,
) -> HostDouble {
    let answer = move |asked: &Asked| match asked.path == list {
        true => lie(asked),
        false => page(&[entry(7)]),
    };
    HostDouble::start(answer).await
}

fn at(base: &str, kind: &str, owner: &str) -> HostClient {
    let source = json!({ kind: { owner: "acme", "url": base } });
    client(source, json!({}))
}

#[tokio::test]
async fn each_lie_about_readers_is_an_error_whatever_list_it_is_in() {
    for (kind, owner, lists) in HOSTS {
        for list in lists {
            for (lie, message) in LIES {
                let host = lying(list, lie).await;
                let error = asked(&at(&host.base, kind, owner), SITE).await;
                let error = error.unwrap_err();
                let text = format!("{error}");
                assert!(text.contains(message), "{list}: {text}");
                let shown = format!("{error:?}");
                assert!(
                    !shown.contains("s3cr3t") && !shown.contains("127.0.0"),
                    "{list}: {shown}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_host_that_tells_the_truth_names_one_reader() {
    for (kind, owner, lists) in HOSTS {
        let host = lying("", |_| reply(404, &[], "{}")).await;
        let answer = asked(&at(&host.base, kind, owner), SITE).await.unwrap();
        let ReadersAnswer::Listed { readers, .. } = answer else {
            panic!()
        };
        let accounts: Vec<i64> = readers.iter().map(|it| it.account).collect();
        assert_eq!(accounts, [7]);
        let mut paths: Vec<String> = host.asked().into_iter().map(|it| it.path).collect();
        // Gitea is asked whether another page follows.
        paths.dedup();
        assert_eq!(paths, lists);
    }
}

#[tokio::test]
async fn pages_that_never_end_are_refused_at_a_thousand() {
    for (kind, owner, lists) in HOSTS {
        let endless = |asked: &Asked| {
            let next = asked.page() + 1;
            linked(asked, &format!("{}?page={next}", asked.path))
        };
        let last = lists.last().unwrap();
        let host = lying(last, endless).await;
        let error = asked(&at(&host.base, kind, owner), SITE).await.unwrap_err();
        assert!(
            matches!(&error, ListingError::Invalid { what } if what.contains("more than 1,000")),
            "{error:?}"
        );
        let asked = host.asked().into_iter();
        assert_eq!(asked.filter(|it| it.path == *last).count(), 1000);
    }
}

#[tokio::test]
async fn pages_without_links_that_never_end_are_refused_at_a_thousand() {
    let (kind, owner, lists) = HOSTS[2];
    let endless = |asked: &Asked| page(&[entry(i64::try_from(asked.page()).unwrap())]);
    let host = lying(lists[2], endless).await;
    let error = asked(&at(&host.base, kind, owner), SITE).await;
    let text = error.unwrap_err().to_string();
    assert!(text.contains("more than 1,000"), "{text}");
    let asked = host.asked().into_iter();
    assert_eq!(asked.filter(|it| it.path == lists[2]).count(), 1000);
}

#[tokio::test]
async fn a_host_that_stays_silent_about_readers_ends_at_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let limit = Duration::from_millis(100);
    for (kind, owner, _) in HOSTS {
        let silent = at(&base, kind, owner).with_deadline(limit);
        let error = asked(&silent, SITE).await.unwrap_err();
        assert!(
            matches!(error, ListingError::TimedOut { limit: named } if named == limit),
            "{kind}: {error:?}"
        );
    }
    drop(listener);
}

#[tokio::test]
async fn the_token_follows_no_list_to_another_host() {
    let thief = HostDouble::start(|_: &Asked| page(&[entry(7)])).await;
    for (kind, owner, lists) in HOSTS {
        let (next, location) = (format!("{}/more", thief.base), thief.base.clone());
        let links = lying(lists[0], move |asked| linked(asked, &next)).await;
        let redirects = lying(lists[0], move |_| {
            reply(302, &[("location", &location)], "")
        });
        for host in [links, redirects.await] {
            let error = asked(&at(&host.base, kind, owner), SITE).await;
            let text = error.unwrap_err().to_string();
            assert!(text.contains("another host"), "{text}");
        }
    }
    assert!(thief.asked().is_empty());
}

#[tokio::test]
async fn an_unchanged_list_of_another_repository_says_nothing() {
    let etags = ["\"1\"".to_owned()];
    let known = AskedRepository {
        etags: &etags,
        ..SITE
    };
    for (kind, owner, lists) in HOSTS.into_iter().take(2) {
        let list = lists[0];
        let answer = move |asked: &Asked| match asked.header("if-none-match") {
            _ if asked.path == list => reply(307, &[("location", "/other")], ""),
            "" => page(&[entry(7)]),
            _ => reply(304, &[], ""),
        };
        let host = HostDouble::start(answer).await;
        let error = asked(&at(&host.base, kind, owner), known).await;
        let text = error.unwrap_err().to_string();
        assert!(text.contains("is of another list"), "{kind}: {text}");
        // By the validator, and then without it.
        assert_eq!(host.asked().len(), 4);
    }
}

#[tokio::test]
async fn a_member_without_one_of_its_fields_is_no_reader() {
    for (kind, owner, fields) in [
        (
            "gitlab",
            "group",
            &["id", "username", "state", "access_level"][..],
        ),
        ("gitea", "org", &["id", "login"]),
    ] {
        let without = |field: &&str| {
            let mut entry = entry(7);
            entry.as_object_mut().unwrap().remove(*field);
            entry
        };
        let mut entries: Vec<Value> = fields.iter().map(without).collect();
        entries.extend([json!(null), json!([7]), json!({ "id": "7", "login": "u7" })]);
        let host = HostDouble::start(move |asked: &Asked| {
            // Of a team nothing says that it reads code.
            let is_teams = asked.path.ends_with("/teams");
            let teams = [
                json!({ "id": 7, "permission": "read" }),
                json!({ "units_map": { "repo.code": "read" } }),
            ];
            page(if is_teams { &teams } else { &entries })
        })
        .await;
        let answer = asked(&at(&host.base, kind, owner), SITE).await.unwrap();
        let ReadersAnswer::Listed { readers, .. } = answer else {
            panic!()
        };
        assert!(readers.is_empty(), "{kind}: {readers:?}");
    }
}
