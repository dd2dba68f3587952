//! What is listed of each host, and how little is asked for it.

use serde_json::{Value, json};

use super::super::testing::{Asked, HostDouble, client, entry, page, reply};
use super::super::{Exclusion, Listing, ListingMark, Visibility};
use super::{paths, token, whole};

/// A host with `names`, the last pushed last, two a page, and an `ETag` of what there is.
fn host_of(
    names: &'static [(u64, &'static str, &'static str)],
) -> impl Fn(&Asked) -> axum::response::Response + Clone {
    move |asked| {
        if asked.path != "/api/v3/orgs/acme/repos" {
            return reply(404, &[], "{}");
        }
        let etag = format!("\"{}\"", names.len());
        if asked.page() == 1 && asked.header("if-none-match") == etag {
            return reply(304, &[], "");
        }
        let newest_first: Vec<Value> = names
            .iter()
            .rev()
            .map(|(id, name, at)| entry(&asked.base, *id, name, at))
            .collect();
        let pages: Vec<&[Value]> = newest_first.chunks(2).collect();
        let body = Value::from(pages[asked.page() - 1]).to_string();
        match asked.page() < pages.len() {
            true => reply(
                200,
                &[("link", &asked.link(asked.page() + 1)), ("etag", &etag)],
                body,
            ),
            false => reply(200, &[("etag", &etag)], body),
        }
    }
}

const FIVE: &[(u64, &str, &str)] = &[
    (1, "a", "2026-01-01T00:00:00Z"),
    (2, "b", "2026-01-02T00:00:00Z"),
    (3, "c", "2026-01-03T00:00:00Z"),
    (4, "d", "2026-01-04T00:00:00Z"),
    (5, "e", "2026-01-05T00:00:00Z"),
];

#[tokio::test]
async fn github_is_listed_page_by_page_with_the_token() {
    let host = HostDouble::start(host_of(FIVE)).await;
    let github = host.github(json!({}));
    let Listing::Whole(found) = github.list(Some(&token()), None).await.unwrap() else {
        panic!()
    };
    assert_eq!(
        paths(&found),
        ["acme/a", "acme/b", "acme/c", "acme/d", "acme/e"]
    );
    let first = &found.repositories[0];
    assert_eq!(first.host_id, "1");
    assert_eq!(
        first.clone_url.as_str(),
        format!("{}/acme/a.git", host.base)
    );
    assert_eq!(first.default_branch.as_deref(), Some("main"));
    assert_eq!(first.description.as_deref(), Some("about a"));
    assert_eq!(first.topics, ["web"]);
    assert!(!first.archived && !first.fork);
    assert_eq!(first.visibility, Visibility::Public);
    assert_eq!(
        first.pushed_at,
        Some("2026-01-01T00:00:00Z".parse().unwrap())
    );
    assert_eq!((found.unreadable, found.unusable()), (0, 0));
    let asked = host.asked();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[0].query, "sort=pushed&direction=desc&per_page=100");
    for asked in asked {
        assert_eq!(asked.header("authorization"), "Bearer s3cr3t-token");
        assert_eq!(asked.header("accept"), "application/vnd.github+json");
    }
}

#[tokio::test]
async fn an_unchanged_first_page_costs_one_request() {
    let host = HostDouble::start(host_of(FIVE)).await;
    let github = host.github(json!({}));
    let mark = whole(&github).await.mark.unwrap();
    let mark: ListingMark = serde_json::from_value(json!(mark)).unwrap();
    host.asked();
    let listing = github.list(None, Some(&mark)).await.unwrap();
    assert!(matches!(listing, Listing::Unchanged), "{listing:?}");
    assert_eq!(host.asked().len(), 1);
}

#[tokio::test]
async fn only_pages_with_news_are_read_after_a_mark() {
    let host = HostDouble::start(host_of(&FIVE[..4])).await;
    let mark = whole(&host.github(json!({}))).await.mark.unwrap();
    // The same host later: another listens on its own port, so the mark is of its route.
    let later = HostDouble::start(host_of(FIVE)).await;
    let mark = json!(mark).to_string().replace(&host.base, &later.base);
    let mark: ListingMark = serde_json::from_str(&mark).unwrap();
    let github = later.github(json!({}));
    let Listing::Changed(found) = github.list(None, Some(&mark)).await.unwrap() else {
        panic!()
    };
    assert_eq!(paths(&found), ["acme/e"]);
    // The first page has news, the second has none, the third is not asked for.
    assert_eq!(later.asked().len(), 2);
    let mark = found.mark.unwrap();
    let listing = github.list(None, Some(&mark)).await.unwrap();
    assert!(matches!(listing, Listing::Unchanged));
}

#[tokio::test]
async fn without_etags_a_quiet_host_costs_one_page_and_has_no_news() {
    let quiet = |asked: &Asked| match asked.path.ends_with("/repos") {
        true => reply(
            200,
            &[("link", &asked.link(2))],
            Value::from(vec![
                entry(&asked.base, 1, "a", "2026-01-01T00:00:00Z"),
                entry(&asked.base, 2, "future", "9999-01-01T00:00:00Z"),
            ])
            .to_string(),
        ),
        false => reply(404, &[], ""),
    };
    let host = HostDouble::start(move |asked: &Asked| match asked.page() {
        1 => quiet(asked),
        _ => page(&[entry(&asked.base, 3, "old", "2020-01-01T00:00:00Z")]),
    })
    .await;
    let github = host.github(json!({}));
    let mark = whole(&github).await.mark.unwrap();
    let Listing::Changed(found) = github.list(None, Some(&mark)).await.unwrap() else {
        panic!()
    };
    // A push in the future hides no other: it alone is news each time.
    assert_eq!(paths(&found), ["acme/future"]);
}

#[tokio::test]
async fn a_user_is_listed_where_there_is_no_organisation() {
    let host = HostDouble::start(|asked: &Asked| match asked.path.as_str() {
        "/api/v3/users/acme/repos" => page(&[entry(&asked.base, 1, "a", "2026-01-01T00:00:00Z")]),
        _ => reply(404, &[], r#"{"message":"Not Found"}"#),
    })
    .await;
    let github = host.github(json!({}));
    let found = whole(&github).await;
    assert_eq!(paths(&found), ["acme/a"]);
    assert_eq!(host.asked().len(), 2);
    github.list(None, found.mark.as_ref()).await.unwrap();
    // The route that answered is tried first.
    assert_eq!(host.asked().len(), 1);
}

#[tokio::test]
async fn gitlab_lists_a_group_with_its_subgroups() {
    let host = HostDouble::start(|asked: &Asked| {
        let project = |id: u64, path: &str, fork: bool| {
            let mut project = json!({
                "id": id,
                "path_with_namespace": path,
                "http_url_to_repo": format!("{}/{path}.git", asked.base),
                "ssh_url_to_repo": "git@elsewhere:x.git",
                "default_branch": null,
                "description": null,
                "visibility": "internal",
                "last_activity_at": "2026-01-01T00:00:00.123+02:00",
            });
            if fork {
                project["forked_from_project"] = json!({ "id": 7 });
            }
            project
        };
        page(&[
            project(1, "acme/team/app", false),
            project(2, "acme/copy", true),
        ])
    })
    .await;
    let source = json!({ "gitlab": { "group": "acme/team", "url": host.base } });
    let found = whole(&client(source, json!({}))).await;
    assert_eq!(paths(&found), ["acme/team/app"]);
    assert_eq!(found.excluded["2"], Exclusion::Fork);
    assert_eq!(found.repositories[0].visibility, Visibility::Internal);
    assert!(found.repositories[0].pushed_at.is_some());
    let asked = &host.asked()[0];
    assert_eq!(asked.path, "/api/v4/groups/acme%2Fteam/projects");
    assert!(asked.query.contains("include_subgroups=true"));
}

#[tokio::test]
async fn gitea_is_read_whole_since_it_is_not_sorted() {
    let host = HostDouble::start(|asked: &Asked| match asked.page() {
        1 => reply(
            200,
            &[("link", &asked.link(2))],
            Value::from(vec![entry(&asked.base, 1, "old", "2020-01-01T00:00:00Z")]).to_string(),
        ),
        _ => page(&[entry(&asked.base, 2, "new", "2026-01-01T00:00:00Z")]),
    })
    .await;
    let source = json!({ "gitea": { "org": "acme", "url": host.base } });
    let gitea = client(source, json!({}));
    let mark = whole(&gitea).await.mark.unwrap();
    assert_eq!(host.asked()[0].path, "/api/v1/orgs/acme/repos");
    let Listing::Whole(found) = gitea.list(None, Some(&mark)).await.unwrap() else {
        panic!()
    };
    assert_eq!(paths(&found), ["acme/new", "acme/old"]);
}

#[tokio::test]
async fn an_unsorted_first_page_speaks_only_for_itself() {
    for has_more in [false, true] {
        let host = HostDouble::start(move |asked: &Asked| {
            if asked.header("if-none-match") == "\"1\"" {
                return reply(304, &[], "");
            }
            let link = match has_more && asked.page() == 1 {
                true => asked.link(2),
                false => String::new(),
            };
            reply(200, &[("etag", "\"1\""), ("link", &link)], "[]")
        })
        .await;
        let source = json!({ "gitea": { "org": "acme", "url": host.base } });
        let gitea = client(source, json!({}));
        let mark = whole(&gitea).await.mark.unwrap();
        let again = gitea.list(None, Some(&mark)).await.unwrap();
        assert_eq!(matches!(again, Listing::Unchanged), !has_more);
    }
}

#[tokio::test]
async fn urls_are_listed_without_asking_anybody() {
    let list = [
        "https://one.example/a/legacy-x.git",
        "git@two.example:b/app",
    ];
    let source = json!({ "urls": { "list": list } });
    let urls = client(source, json!({ "exclude": ["legacy-*"] }));
    let found = whole(&urls).await;
    assert_eq!(paths(&found), ["b/app"]);
    assert_eq!(found.repositories[0].host_id, "ssh://two.example/b/app");
    assert_eq!(
        found.repositories[0].clone_url.as_str(),
        "ssh://git@two.example/b/app"
    );
    assert_eq!(
        found.excluded["https://one.example/a/legacy-x.git"],
        Exclusion::Name
    );
}

#[tokio::test]
async fn filters_say_why_each_repository_is_left_out() {
    let host = HostDouble::start(|asked: &Asked| {
        let with = |id, name: &str, field: &str, value: Value| {
            let mut entry = entry(&asked.base, id, name, "2026-01-01T00:00:00Z");
            entry[field] = value;
            entry
        };
        page(&[
            with(1, "app", "archived", json!(true)),
            with(2, "fork", "fork", json!(true)),
            with(3, "Legacy-x", "fork", json!(true)),
            with(4, "tool", "topics", json!(["none"])),
            with(5, "good", "topics", json!(["x", "WEB"])),
        ])
    })
    .await;
    let more = json!({ "exclude": ["legacy-*"], "topics": ["Web"] });
    let found = whole(&host.github(more)).await;
    assert_eq!(paths(&found), ["acme/good"]);
    let excluded: Vec<_> = found.excluded.values().copied().collect();
    use Exclusion::{Archived, Fork, Name, Topic};
    assert_eq!(excluded, [Archived, Fork, Name, Topic]);
    let more = json!({ "archived": true, "forks": true });
    assert_eq!(whole(&host.github(more)).await.repositories.len(), 5);
}

#[tokio::test]
async fn what_moves_between_pages_is_listed_once() {
    let host = HostDouble::start(|asked: &Asked| {
        let one = entry(&asked.base, 1, "a", "2026-01-01T00:00:00Z");
        match asked.page() {
            1 => reply(200, &[("link", &asked.link(2))], json!([one]).to_string()),
            _ => page(&[one, entry(&asked.base, 2, "b", "2026-01-01T00:00:00Z")]),
        }
    })
    .await;
    assert_eq!(
        paths(&whole(&host.github(json!({}))).await),
        ["acme/a", "acme/b"]
    );
}
