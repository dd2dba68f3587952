//! `search_files` and `grep_codebase` over more results than one answer holds, and over several projects.

use std::{collections::BTreeSet, fs};

use archway::tenants::TenantsTx;
use e2e::{Client, Harness, Key, Repo, Stack, Tenant};
use serde_json::{Value, json};

use super::{both, column};
use crate::serve;

#[tokio::test]
async fn a_page_ends_with_a_cursor_and_counts_stay_whole() {
    let files = (0..30).fold(Repo::new(), |r, n| {
        r.file(&format!("f{n:02}.txt"), "hit\nno\nhit\nhit\n")
    });
    let (_stack, client) = serve(files.commit()).await;
    for (tool, limit, place) in [
        ("search_files", "max_results", "path"),
        ("grep_codebase", "limit", "file"),
    ] {
        let mut arguments = json!({ "pattern": "hit", limit: 40 });
        let mut seen = Vec::new();
        let pages = loop {
            let data = client
                .call(tool, arguments.clone())
                .await
                .structured()
                .clone();
            seen.extend(
                column(&data["matches"], place)
                    .into_iter()
                    .map(str::to_owned),
            );
            let total = data
                .get("total_matches")
                .or(data.get("totalMatches"))
                .unwrap();
            assert_eq!(*total, 90, "{tool}");
            match data.get("cursor") {
                Some(cursor) => arguments["cursor"] = cursor.clone(),
                None => break data["truncated"].clone(),
            }
        };
        assert_eq!(pages, false);
        assert_eq!(seen.len(), 90, "{tool}");
        assert!(seen.is_sorted(), "{tool}");
    }
}

#[tokio::test]
async fn a_result_keeps_to_its_budget_by_dropping_context_then_matches() {
    let line = "hit ".repeat(200);
    let repo = (0..40).fold(Repo::new(), |r, n| {
        r.file(&format!("f{n:02}.txt"), format!("{line}\n").repeat(9))
    });
    let (_stack, client) = serve(repo.commit()).await;
    let arguments = json!({ "pattern": "hit", "max_results": 1000, "context_lines": 4 });
    let reply = client.call("search_files", arguments).await;
    let data = both(&reply);
    assert!(
        reply.text().len() <= 64 << 10,
        "{} bytes",
        reply.text().len()
    );
    assert_eq!(
        (&data["truncated"], &data["total_matches"]),
        (&json!(true), &json!(360))
    );
    assert!(data["cursor"].is_string());
    assert!(
        data["matches"].as_array().unwrap().len() > 50,
        "matches before context"
    );
}

#[tokio::test]
async fn a_star_searches_every_project_in_order_and_names_it() {
    let of = |word: &str| {
        Repo::new()
            .file("a.txt", format!("{word} sesame\n"))
            .commit()
    };
    let acme = Tenant::new("acme")
        .project("one", of("one"))
        .project("two", of("two"));
    let stack = Harness::new().tenant(acme).start().await;
    let client = stack.client("acme");
    let arguments = json!({ "pattern": "sesame", "project": "*" });
    let reply = client.call("grep_codebase", arguments.clone()).await;
    assert_eq!(column(&both(&reply)["matches"], "project"), ["one", "two"]);
    assert_eq!(reply.structured()["totalMatches"], 2);
    assert_eq!(reply.meta("commit"), &Value::Null);
    let reply = client.call("search_files", arguments).await;
    assert_eq!(
        column(&both(&reply)["matches"], "line_content"),
        ["one sesame", "two sesame"]
    );
}

/// A tenant of 70 projects with two matches each, but 120 in `p30`; a key whose default is `p40`.
async fn many_projects() -> (Stack, Client) {
    let mut acme = Tenant::new("acme").key(Key::new("of-p40").default_project("p40"));
    for number in 0..70 {
        let lines = if number == 30 { 120 } else { 2 };
        let text = format!("sesame of {number}\n").repeat(lines);
        let repo = Repo::new().file("a.txt", &text).file("b.txt", "no\n");
        acme = acme.project(&format!("p{number:02}"), repo.commit());
    }
    let stack = Harness::new().tenant(acme).start().await;
    let client = stack.keyed("acme", "of-p40");
    (stack, client)
}

/// The projects of a page's matches, without repetitions.
fn projects(data: &Value) -> Vec<String> {
    let mut projects = column(&data["matches"], "project");
    projects.dedup();
    projects.into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_star_has_pages_of_whole_projects_the_default_one_first() {
    let (_stack, client) = many_projects().await;
    for (tool, limit, total) in [
        ("grep_codebase", "limit", "totalMatches"),
        ("search_files", "max_results", "total_matches"),
    ] {
        let mut arguments = json!({ "pattern": "sesame", "project": "*", limit: 25 });
        let (mut pages, mut lines, mut done) = (Vec::new(), 0, 0);
        loop {
            let reply = client.call(tool, arguments.clone()).await;
            let data = both(&reply);
            let counts = reply.meta("projects");
            done += counts["searched"].as_u64().unwrap();
            assert_eq!(counts["skipped"], json!([]));
            assert_eq!(done + counts["remaining"].as_u64().unwrap(), 70, "{counts}");
            lines += data["matches"].as_array().unwrap().len();
            assert!(data[total].as_u64().unwrap() >= 2, "{data}");
            pages.push(projects(data));
            let Some(cursor) = data.get("cursor") else {
                assert_eq!(data["truncated"], false);
                break;
            };
            assert_eq!(data["truncated"], true);
            arguments["cursor"] = cursor.clone();
        }
        assert_eq!(lines, 69 * 2 + 120, "{tool}");
        assert_eq!(pages[0].len(), 12, "24 lines of whole projects: {pages:?}");
        assert_eq!(pages[0][..2], ["p40", "p00"]);
        let parts: Vec<_> = pages
            .iter()
            .filter(|page| page.contains(&"p30".into()))
            .collect();
        assert_eq!(parts.len(), 5, "120 lines, 25 a page: {pages:?}");
        let mut order = pages.concat();
        order.dedup();
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 70);
        assert!(order[1..].is_sorted(), "{order:?}");
    }
}

#[tokio::test]
async fn a_cursor_of_a_star_outlives_a_removed_project_but_no_other_commit() {
    let (stack, client) = many_projects().await;
    let arguments = json!({ "pattern": "sesame", "project": "*", "limit": 25 });
    let next = async |arguments: &Value| {
        let reply = client.call("grep_codebase", arguments.clone()).await;
        let mut next = arguments.clone();
        next["cursor"] = both(&reply)["cursor"].clone();
        (projects(both(&reply)), next)
    };
    let (first, second) = next(&arguments).await;
    assert_eq!(first.last().unwrap(), "p10");
    let acme = stack.tenant_id("acme");
    let remove = async |tx: &mut TenantsTx| tx.remove_project(acme, "p11").await;
    stack.tenants().change(remove).await.unwrap();
    let gone = async || {
        let (page, _) = next(&second).await;
        (page[0] == "p12").then_some(())
    };
    stack.eventually(gone).await;
    let (_, third) = next(&second).await;
    let (page, within) = next(&third).await;
    assert_eq!(
        page,
        ["p24", "p25", "p26", "p27", "p28", "p29"],
        "p30 has no room here"
    );
    let (page, within) = next(&within).await;
    assert_eq!(page, ["p30"]);
    let folder = stack.folder("acme", "p30");
    fs::write(folder.join("a.txt"), "sesame\n").unwrap();
    e2e::git(&folder, &["commit", "-qam", "other"]);
    let refused = client.call("grep_codebase", within).await;
    assert_eq!(refused.code(), "invalid_arguments");
}

#[tokio::test]
async fn a_page_of_a_star_names_at_most_fifty_skipped_projects() {
    let (stack, client) = many_projects().await;
    for number in 0..60 {
        let folder = stack.folder("acme", &format!("p{number:02}"));
        fs::remove_dir_all(folder).unwrap();
    }
    let mut arguments = json!({ "pattern": "sesame", "project": "*" });
    let mut pages = Vec::new();
    for has_more in [true, false] {
        let reply = client.call("grep_codebase", arguments.clone()).await;
        let counts = reply.meta("projects");
        let skipped = column(&counts["skipped"], "code");
        let codes: BTreeSet<_> = skipped.iter().copied().collect();
        assert_eq!(codes, BTreeSet::from(["unavailable"]));
        pages.push((skipped.len(), both(&reply)["matches"].clone()));
        arguments["cursor"] = both(&reply)["cursor"].clone();
        assert_eq!(arguments["cursor"].is_string(), has_more);
    }
    assert_eq!(pages[0].0 + pages[1].0, 60);
    assert_eq!(pages[0], (50, json!([])));
    assert_eq!(pages[1].1.as_array().unwrap().len(), 20);
}

/// A page of 40 of 90 matches as `file:line`. The arguments become those of the next page.
async fn page_of_hits(client: &Client, arguments: &mut Value) -> Vec<String> {
    let reply = client.call("grep_codebase", arguments.clone()).await;
    let data = both(&reply);
    assert_eq!(data["totalMatches"], 90, "{arguments}");
    arguments["cursor"] = data["cursor"].clone();
    let matches = data["matches"].as_array().unwrap();
    let places = matches.iter().map(|it| {
        let file = it["file"].as_str().unwrap();
        format!("{file}:{}", it["line"])
    });
    places.collect()
}

#[tokio::test]
async fn a_cursor_of_a_scan_goes_on_under_the_index_and_back() {
    let files: Vec<String> = (0..30).map(|number| format!("f{number:02}.txt")).collect();
    let repo = files.iter().fold(Repo::new(), |repo, file| {
        repo.file(file, format!("hit in {file}\nno\nhit\nhit\n"))
    });
    let acme = Tenant::new("acme")
        .project("site", repo.commit())
        .project("mirror", Repo::new().file("a.txt", "").commit());
    let harness = Harness::new().search_cache(64 << 20).tenant(acme);
    let mut stack = harness.start().await;
    stack.make_mirror("acme", "site", "mirror");
    let client = stack.client("acme");
    let projects = ["site", "mirror"];
    let mut asked = projects.map(|it| json!({ "pattern": "hit", "project": it, "limit": 40 }));
    let mut found = projects.map(|_| Vec::new());
    for (arguments, found) in asked.iter_mut().zip(&mut found) {
        // Nothing is indexed before a first search.
        found.extend(page_of_hits(&client, arguments).await);
    }
    let indexed = projects.map(|project| (project, files.len()));
    stack.until_indexed(&["acme"], &indexed).await;
    for (arguments, found) in asked.iter_mut().zip(&mut found) {
        found.extend(page_of_hits(&client, arguments).await);
    }
    stack.restart_workers().await;
    let cache = stack.repositories().with_file_name("cache");
    for tenant in fs::read_dir(cache.join("search")).unwrap() {
        fs::remove_dir_all(tenant.unwrap().path()).unwrap();
    }
    let is_up = async || {
        let reply = client.call("list_projects", json!({})).await;
        (!reply.is_error()).then_some(())
    };
    stack.eventually(is_up).await;
    let lines = files
        .iter()
        .flat_map(|file| [1, 3, 4].map(|line| format!("{file}:{line}")));
    let expected: Vec<String> = lines.collect();
    for (arguments, found) in asked.iter_mut().zip(&mut found) {
        assert_eq!(found.len(), 80, "two pages: {arguments}");
        found.extend(page_of_hits(&client, arguments).await);
        assert_eq!(*found, expected, "{arguments}");
        assert_eq!(arguments["cursor"], Value::Null);
    }
}
