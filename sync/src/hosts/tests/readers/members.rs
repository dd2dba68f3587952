//! Members of groups and teams, where a host lists no effective readers.

use serde_json::{Value, json};

use super::super::super::testing::{Asked, HostDouble, client, page, reply};
use super::super::super::{AskedRepository, Budget, ReaderSession, ReadersAnswer};
use super::{SITE, asked, listed};

#[tokio::test]
async fn gitlab_lists_inherited_members_who_see_code() {
    let host = HostDouble::start(|asked: &Asked| {
        let member = |id: i64, level: i64, state: &str| {
            json!({ "id": id, "username": format!("u{id}"), "access_level": level, "state": state,
                    "email": (id == 1).then_some("Ada@Acme.example") })
        };
        match asked.path.as_str() {
            "/api/v4/projects/41/members/all" => page(&[
                member(1, 50, "active"),
                member(2, 20, "active"),
                member(3, 10, "active"),
                member(4, 40, "blocked"),
                member(5, 15, "active"),
            ]),
            _ => reply(404, &[], "{}"),
        }
    })
    .await;
    let source = json!({ "gitlab": { "group": "acme", "url": host.base } });
    let client = client(source, json!({}));
    let ReadersAnswer::Listed { readers, .. } = asked(&client, SITE).await.unwrap() else {
        panic!()
    };
    let accounts: Vec<i64> = readers.iter().map(|it| it.account).collect();
    assert_eq!(accounts, [1, 2]);
    assert_eq!(readers[0].email.as_deref(), Some("ada@acme.example"));
}

#[tokio::test]
async fn gitlab_is_asked_by_the_validators_that_it_gave() {
    let host = HostDouble::start(|asked: &Asked| {
        let number = asked.page();
        let etag = format!("W/\"{number}\"");
        if asked.header("if-none-match") == etag {
            return reply(304, &[], "");
        }
        let ids = if number == 1 { 1..=100 } else { 101..=103 };
        let member = |id: i64| json!({ "id": id, "username": format!("u{id}"), "access_level": 30, "state": "active" });
        let body = Value::from(ids.map(member).collect::<Vec<_>>()).to_string();
        let link = asked.link(2);
        let headers = [("etag", &*etag), ("link", &*link)];
        reply(200, &headers[..3 - number], body)
    })
    .await;
    let source = json!({ "gitlab": { "group": "acme", "url": host.base } });
    let client = client(source, json!({}));
    let (accounts, etags) = listed(&client).await;
    assert_eq!(accounts, (1..=103).collect::<Vec<_>>());
    assert_eq!(etags, ["W/\"1\"", "W/\"2\""]);
    host.asked();
    let again = AskedRepository {
        etags: &etags,
        ..SITE
    };
    let unchanged = asked(&client, again).await.unwrap();
    assert_eq!(unchanged, ReadersAnswer::Unchanged);
    let validators: Vec<String> = host
        .asked()
        .iter()
        .map(|asked| asked.header("if-none-match").to_owned())
        .collect();
    assert_eq!(validators, etags);
}

#[tokio::test]
async fn gitea_lists_collaborators_and_members_of_teams_that_read_code() {
    let host = HostDouble::start(|asked: &Asked| {
        let user = |id: i64| json!({ "id": id, "login": format!("U{id}"), "email": "a@b.c" });
        match asked.path.as_str() {
            "/api/v1/repos/acme/site/collaborators" | "/api/v1/repos/acme/api/collaborators" => page(&[user(1)]),
            "/api/v1/repos/acme/site/teams" | "/api/v1/repos/acme/api/teams" => page(&[
                json!({ "id": 7, "permission": "owner", "units_map": {} }),
                json!({ "id": 8, "permission": "none", "units_map": { "repo.code": "read" } }),
                json!({ "id": 9, "permission": "none", "units_map": { "repo.code": "none", "repo.issues": "write" } }),
                json!({ "id": 10, "permission": "read" }),
            ]),
            "/api/v1/teams/7/members" => page(&[user(2)]),
            "/api/v1/teams/8/members" if asked.page() == 1 => {
                reply(200, &[("link", &asked.link(2))], json!([user(3)]).to_string())
            }
            "/api/v1/teams/8/members" => page(&[user(4), user(1)]),
            "/api/v1/teams/9/members" | "/api/v1/teams/10/members" => page(&[user(5)]),
            _ => reply(404, &[], "{}"),
        }
    })
    .await;
    let source = json!({ "gitea": { "org": "acme", "url": host.base } });
    let client = client(source, json!({}));
    let budget = Budget::default();
    let mut session = ReaderSession::new(&client, &budget, None);
    let api = AskedRepository {
        path: "acme/api",
        ..SITE
    };
    // Each list is asked once more, to see that no other page follows.
    for (of, requests) in [(SITE, 9), (api, 4)] {
        let ReadersAnswer::Listed { readers, etags } = session.readers(of).await.unwrap() else {
            panic!()
        };
        let accounts: Vec<i64> = readers.iter().map(|it| it.account).collect();
        assert_eq!((accounts, etags.len()), (vec![1, 2, 3, 4], 0));
        assert!(readers.iter().all(|it| it.email.is_none()));
        // Teams are read once.
        assert_eq!(host.asked().len(), requests);
    }
}

#[tokio::test]
async fn gitea_is_asked_until_a_page_is_empty_where_it_links_none() {
    // It cuts pages to 30, and gives all teams on each page, with their units in another order.
    let host = HostDouble::start(|asked: &Asked| {
        let user = |id: usize| json!({ "id": id, "login": format!("u{id}") });
        let cut = |from: usize, count: usize| {
            let ids = (from..from + count).skip((asked.page() - 1) * 30);
            page(&ids.take(30).map(user).collect::<Vec<Value>>())
        };
        match asked.path.as_str() {
            "/api/v1/repos/acme/site/collaborators" => cut(1, 75),
            "/api/v1/repos/acme/site/teams" => {
                page(&[json!({ "id": 7, "permission": "owner", "units": [asked.page()] })])
            }
            "/api/v1/teams/7/members" => cut(101, 60),
            _ => reply(404, &[], "{}"),
        }
    })
    .await;
    let source = json!({ "gitea": { "org": "acme", "url": host.base } });
    let (accounts, _) = listed(&client(source, json!({}))).await;
    assert_eq!(accounts, (1..=75).chain(101..=160).collect::<Vec<i64>>());
    let pages: Vec<usize> = host.asked().iter().map(Asked::page).collect();
    assert_eq!(pages, [1, 2, 3, 4, 1, 2, 1, 2, 3]);
}
