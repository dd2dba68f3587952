//! Hosts that lie: nothing panics, hangs, leaves the host, or grows without a bound.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::super::testing::{Asked, HostDouble, client, entry, page, reply};
use super::super::{Exclusion, ListingError, Visibility};
use super::{failed, paths, whole};

const AT: &str = "2026-01-01T00:00:00Z";

#[tokio::test]
async fn clone_urls_elsewhere_are_left_out_and_counted() {
    let host = HostDouble::start(|asked: &Asked| {
        let base = &asked.base;
        let urls = [
            "https://evil.example/acme/a.git".to_owned(),
            format!("{base}.evil.example/acme/a.git"),
            base.replace("http://", "http://user:secret@") + "/acme/a.git",
            base.replace("http://", "https://") + "/acme/a.git",
            base.replace("http://", "ssh://git@") + "/acme/a.git",
            format!("{base}/../a.git"),
            format!("{base}/--upload-pack=x"),
            "ext::sh -c id".to_owned(),
            "-oProxyCommand=x".to_owned(),
            String::new(),
            "http://127.0.0.1:1/acme/a.git".to_owned(),
        ];
        let entries = urls.iter().zip(2..).map(|(url, id)| {
            let mut entry = entry(base, id, &format!("x{id}"), AT);
            entry["clone_url"] = json!(url);
            entry
        });
        let mut entries: Vec<Value> = entries.collect();
        entries.push(entry(base, 1, "good", AT));
        page(&entries)
    })
    .await;
    let found = whole(&host.github(json!({}))).await;
    assert_eq!(paths(&found), ["acme/good"]);
    assert_eq!(found.unusable(), 11);
    assert_eq!(host.asked().len(), 1);
}

#[tokio::test]
async fn names_and_texts_of_a_host_mislead_nobody() {
    let host = HostDouble::start(|asked: &Asked| {
        let mut good = entry(&asked.base, 1, "good", AT);
        good["description"] = json!(format!("a\u{1b}[31m\u{202e}b\n\0{}", "x".repeat(1000)));
        good["topics"] = json!(
            (0..100)
                .map(|n| format!("t\u{7}{n}\u{2066}"))
                .collect::<Vec<_>>()
        );
        good["default_branch"] = json!("main\u{202e}");
        let mut entries = vec![good];
        let names = [
            "a\u{202e}b",
            "a\nb",
            "a\u{1b}[2J",
            "../../etc",
            "",
            "a//b",
            "a\\b",
            &"a".repeat(600),
        ];
        for (name, id) in names.iter().zip(2..) {
            let mut bad = entry(&asked.base, id, "x", AT);
            bad["full_name"] = json!(format!("acme/{name}"));
            entries.push(bad);
        }
        // Of a cut list, nobody could say what access rules deny.
        for topics in [vec!["t".to_owned(); 101], vec!["t".repeat(256)]] {
            let mut bad = entry(&asked.base, entries.len() as u64 + 1, "x", AT);
            bad["topics"] = json!(topics);
            entries.push(bad);
        }
        page(&entries)
    })
    .await;
    let found = whole(&host.github(json!({}))).await;
    assert_eq!(paths(&found), ["acme/good"]);
    assert_eq!(found.unusable(), 10);
    let good = &found.repositories[0];
    let description = good.description.as_deref().unwrap();
    assert!(
        description.starts_with("a[31m\\u{202e}b xxx"),
        "{description}"
    );
    assert_eq!(description.chars().count(), 200);
    assert_eq!(good.topics.len(), 100);
    assert_eq!(good.topics[3], "t3\\u{2066}");
    assert_eq!(good.default_branch, None);
}

#[tokio::test]
async fn entries_of_a_wrong_shape_are_not_taken_for_gone() {
    let host = HostDouble::start(|asked: &Asked| {
        page(&[
            entry(&asked.base, 1, "good", AT),
            json!({ "id": 2, "full_name": 5 }),
            json!({ "id": -1 }),
            json!("text"),
            json!([[[]]]),
            json!({ "id": 3, "full_name": "acme/c", "clone_url": format!("{}/acme/c", asked.base),
                "pushed_at": "yesterday" }),
        ])
    })
    .await;
    let found = whole(&host.github(json!({}))).await;
    assert_eq!(paths(&found), ["acme/c", "acme/good"]);
    assert_eq!(found.repositories[0].visibility, Visibility::Private);
    assert_eq!(found.excluded["2"], Exclusion::Unusable);
    assert_eq!(found.unreadable, 3);
}

#[tokio::test]
async fn bodies_that_are_no_listing_are_invalid() {
    let deep = "[".repeat(200_000);
    for body in [
        "",
        "{}",
        "null",
        "[1,2]",
        "[{}]",
        "<html>",
        "[{\"id\":1}",
        &deep,
        "[\"\\ud800\"]",
    ] {
        let body = body.to_owned();
        let host = HostDouble::start(move |_: &Asked| reply(200, &[], body.clone())).await;
        let error = failed(&host.github(json!({}))).await;
        assert!(matches!(error, ListingError::Invalid { .. }), "{error:?}");
        assert!(error.to_string().chars().count() < 400);
    }
    let host = HostDouble::start(|_: &Asked| reply(200, &[], vec![b' '; (16 << 20) + 1])).await;
    let error = failed(&host.github(json!({}))).await;
    assert!(error.to_string().contains("16 MiB"), "{error}");
}

#[tokio::test]
async fn an_empty_organisation_is_an_empty_listing() {
    let host = HostDouble::start(|_: &Asked| reply(200, &[], "[]")).await;
    assert!(whole(&host.github(json!({}))).await.repositories.is_empty());
}

#[tokio::test]
async fn the_token_never_goes_to_another_host() {
    let thief = HostDouble::start(|_: &Asked| page(&[])).await;
    let target = thief.base.clone();
    let host = HostDouble::start(move |asked: &Asked| {
        let link = format!("<{target}/more?page=2>; rel=next");
        page_with("link", &link, asked)
    })
    .await;
    let error = failed(&host.github(json!({}))).await;
    assert!(error.to_string().contains("another host"), "{error}");
    let target = thief.base.clone();
    for status in [301, 302, 303, 307, 308] {
        let location = format!("{target}/orgs/acme/repos");
        let host =
            HostDouble::start(move |_: &Asked| reply(status, &[("location", &location)], "")).await;
        let error = failed(&host.github(json!({}))).await;
        assert!(error.to_string().contains("another host"), "{error}");
    }
    assert!(thief.asked().is_empty());
}

fn page_with(name: &str, value: &str, asked: &Asked) -> axum::response::Response {
    let body = json!([entry(&asked.base, 1, "a", AT)]).to_string();
    reply(200, &[(name, value)], body)
}

#[tokio::test]
async fn redirects_within_the_host_are_followed_but_not_for_ever() {
    let host = HostDouble::start(|asked: &Asked| match asked.path.as_str() {
        "/api/v3/orgs/acme/repos" => reply(301, &[("location", "/moved?page=1")], ""),
        _ => page(&[entry(&asked.base, 1, "a", AT)]),
    })
    .await;
    assert_eq!(paths(&whole(&host.github(json!({}))).await), ["acme/a"]);
    for location in [
        "/api/v3/orgs/acme/repos",
        "http://[",
        "file:///etc/passwd",
        "//x:y@",
    ] {
        let host =
            HostDouble::start(move |_: &Asked| reply(302, &[("location", location)], "")).await;
        let error = failed(&host.github(json!({}))).await;
        assert!(matches!(error, ListingError::Invalid { .. }), "{error:?}");
        assert!(host.asked().len() <= 4);
    }
    let host = HostDouble::start(|_: &Asked| reply(304, &[], "")).await;
    let error = failed(&host.github(json!({}))).await;
    assert!(matches!(error, ListingError::Invalid { .. }), "{error:?}");
}

#[tokio::test]
async fn pages_in_a_circle_end() {
    let host = HostDouble::start(|asked: &Asked| {
        let link = asked.link(3 - asked.page().min(2));
        page_with("link", &link, asked)
    })
    .await;
    let error = failed(&host.github(json!({}))).await;
    assert!(error.to_string().contains("circle"), "{error}");
    assert!(host.asked().len() <= 4);
}

#[tokio::test]
async fn more_than_max_is_an_error_that_names_number_and_setting() {
    let host = HostDouble::start(|asked: &Asked| {
        let entries: Vec<Value> = (0..7)
            .map(|id| entry(&asked.base, id, &format!("a{id}"), AT))
            .collect();
        page(&entries)
    })
    .await;
    let text = failed(&host.github(json!({ "max": 3 }))).await.to_string();
    assert!(
        text.contains("7 repositories") && text.contains("at most 3"),
        "{text}"
    );
    assert!(text.contains("`max`"), "{text}");
    let narrowed = json!({ "max": 3, "include": ["a[123]"] });
    assert_eq!(whole(&host.github(narrowed)).await.repositories.len(), 3);
}

#[tokio::test]
async fn a_host_that_lists_without_end_is_stopped() {
    let host = HostDouble::start(|asked: &Asked| {
        let first = asked.page() * 20_000;
        let ids = (first..first + 20_000).map(|id| json!({ "id": id }));
        let body = Value::from(ids.collect::<Vec<_>>()).to_string();
        reply(200, &[("link", &asked.link(asked.page() + 1))], body)
    })
    .await;
    let error = failed(&host.github(json!({}))).await;
    assert!(
        matches!(error, ListingError::TooMany { found: 100_001, .. }),
        "{error:?}"
    );
    assert_eq!(host.asked().len(), 6);
}

#[tokio::test]
async fn a_body_that_never_ends_ends_at_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        _ = socket.read(&mut [0; 4096]).await.unwrap();
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        socket.write_all(head.as_bytes()).await.unwrap();
        while socket.write_all(b"1\r\n[\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let source = json!({ "github": { "org": "acme", "url": url } });
    let client = client(source, json!({})).with_deadline(Duration::from_millis(200));
    let error = failed(&client).await;
    assert!(matches!(error, ListingError::TimedOut { .. }), "{error:?}");
}
