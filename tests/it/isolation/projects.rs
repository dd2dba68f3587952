//! A tenant can neither list, read nor search another's project. `refusals` shows that it cannot learn of
//! its existence either. A narrowed key is as separate from its tenant's other projects.

use e2e::{Client, Harness, Key, Repo, Stack, Tenant, sample_calls};
use serde_json::{Value, json};

use super::{
    access::{acme, until_sees},
    refusals::assert_refused_as_unknown,
};

fn treasure() -> Repo {
    Repo::new()
        .file("treasure.txt", "sesame\n")
        .file("docs/treasure.md", "sesame\n")
        .commit()
}

/// `acme` has `vault`. `zeta` has `shop`. Both have a project called `both`.
pub(super) async fn two_tenants() -> Stack {
    let other = Repo::new().file("own.txt", "nothing\n").commit();
    let both = |word: &str| Repo::new().file("who.txt", word).commit();
    let acme = Tenant::new("acme")
        .project("vault", treasure())
        .project("both", both("acme"));
    let zeta = Tenant::new("zeta")
        .project("shop", other)
        .project("both", both("zeta"));
    Harness::new().tenant(acme).tenant(zeta).start().await
}

#[tokio::test]
async fn a_list_of_projects_shows_the_caller_s_own_only() {
    let stack = two_tenants().await;
    let list = stack.client("zeta").call("list_projects", json!({})).await;
    assert_eq!(slugs(&list.structured()["projects"]), ["both", "shop"]);
    assert_eq!(list.structured()["total_count"], 2);
    let query = stack
        .client("zeta")
        .call("list_projects", json!({ "query": "vault" }))
        .await;
    assert_eq!(query.structured()["projects"], json!([]));
    let needed = stack.client("zeta").call("list_files", json!({})).await;
    assert_eq!(needed.code(), "project_required");
    assert!(
        !needed.value().to_string().contains("vault"),
        "{}",
        needed.value()
    );
}

fn slugs(projects: &Value) -> Vec<&str> {
    projects
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["slug"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_search_of_every_project_stays_within_the_tenant() {
    let stack = two_tenants().await;
    for tool in ["search_files", "grep_codebase"] {
        let arguments = json!({ "pattern": "sesame", "project": "*" });
        let own = stack.client("acme").call(tool, arguments.clone()).await;
        assert_eq!(
            own.structured()["matches"].as_array().unwrap().len(),
            2,
            "{tool}"
        );
        assert_eq!(own.structured()["matches"][0]["project"], "vault");
        let foreign = stack.client("zeta").call(tool, arguments).await;
        assert_eq!(foreign.structured()["matches"], json!([]), "{tool}");
    }
}

#[tokio::test]
async fn projects_of_one_name_are_two_projects() {
    let stack = two_tenants().await;
    for tenant in ["acme", "zeta", "acme"] {
        let arguments = json!({ "path": "who.txt", "project": "both" });
        let reply = stack.client(tenant).call("read_file", arguments).await;
        assert_eq!(reply.structured()["file"]["content"], tenant);
    }
}

#[tokio::test]
async fn a_slug_is_no_path() {
    let stack = two_tenants().await;
    let zeta = stack.client("zeta");
    for project in [
        "../acme/vault",
        "acme/vault",
        "./shop",
        "shop/",
        "SHOP",
        "shop\u{0}",
        "..",
        ".",
    ] {
        let reply = zeta.call("list_files", json!({ "project": project })).await;
        assert_eq!(reply.code(), "project_not_found", "{project:?}");
    }
    assert_eq!(
        zeta.call("list_files", json!({ "project": "" }))
            .await
            .code(),
        "invalid_arguments"
    );
}

#[tokio::test]
async fn a_link_into_another_tenants_folder_leads_nowhere() {
    let zeta = Repo::new()
        .file("own.txt", "own\n")
        .link("door.txt", "../../acme/vault/treasure.txt")
        .link("hall", "../../acme/vault")
        .commit();
    let stack = Harness::new()
        .tenant(Tenant::new("acme").project("vault", treasure()))
        .tenant(Tenant::new("zeta").project("shop", zeta))
        .start()
        .await;
    let client = stack.client("zeta");
    for path in ["door.txt", "hall/treasure.txt", "hall"] {
        let reply = client.call("read_file", json!({ "path": path })).await;
        assert_eq!(reply.code(), "access_denied", "{path}");
    }
    let list = client.call("list_files", json!({})).await;
    assert_eq!(list.structured()["total_count"], 1, "{}", list.value());
    let found = client
        .call("grep_codebase", json!({ "pattern": "sesame" }))
        .await;
    assert_eq!(found.structured()["totalMatches"], 0);
}

#[tokio::test]
async fn a_narrowed_key_sees_its_projects_only() {
    let acme = Tenant::new("acme")
        .project("vault", sample_calls::fixture(Repo::new()))
        .project("site", Repo::new().file("a.txt", "a").commit())
        .project("wiki", Repo::new().file("b.txt", "b").commit())
        .key(Key::new("narrow").projects(["site", "wiki"]))
        .key(Key::new("single").projects(["site"]))
        .key(Key::new("default").default_project("vault"));
    let stack = Harness::new().tenant(acme).start().await;
    let narrow = stack.keyed("acme", "narrow");
    assert_refused_as_unknown(&narrow, "vault").await;
    let list = narrow.call("list_projects", json!({})).await;
    assert_eq!(slugs(&list.structured()["projects"]), ["site", "wiki"]);
    let required = narrow.call("list_files", json!({})).await;
    assert_eq!(required.code(), "project_required");
    assert!(
        !required.value().to_string().contains("vault"),
        "{}",
        required.value()
    );
    let everywhere = json!({ "pattern": "sesame", "project": "*" });
    let found = narrow.call("grep_codebase", everywhere).await;
    assert_eq!(found.structured()["totalMatches"], 0);
    // Without `project`: the only project that a key may read, else the key's default.
    let single = stack
        .keyed("acme", "single")
        .call("list_files", json!({}))
        .await;
    assert_eq!(single.structured()["files"][0]["path"], "a.txt");
    let default = stack
        .keyed("acme", "default")
        .call("list_files", json!({}))
        .await;
    assert_eq!(default.structured()["files"][0]["path"], "docs");
}

#[tokio::test]
async fn a_cursor_is_good_for_its_tenant_tool_and_arguments_only() {
    let many = || {
        (0..600).fold(Repo::new(), |repo, n| {
            repo.file(&format!("f{n:03}.txt"), "x\n")
        })
    };
    let stack = Harness::new()
        .tenant(Tenant::new("acme").project("site", many().commit()))
        .tenant(Tenant::new("zeta").project("site", many().commit()))
        .start()
        .await;
    let (acme, zeta) = (stack.client("acme"), stack.client("zeta"));
    let first = acme.call("list_files", json!({})).await;
    let cursor = first.structured()["cursor"]
        .as_str()
        .expect("a second page")
        .to_owned();
    let count = first.structured()["files"].as_array().unwrap().len();
    let rest = acme.call("list_files", json!({ "cursor": cursor })).await;
    let next = format!("f{count:03}.txt");
    assert_eq!(rest.structured()["files"][0]["path"], next);
    for (client, tool, arguments) in [
        (&zeta, "list_files", json!({ "cursor": cursor })),
        (
            &acme,
            "list_files",
            json!({ "cursor": cursor, "max_depth": 2 }),
        ),
        (
            &acme,
            "search_files",
            json!({ "cursor": cursor, "pattern": "x" }),
        ),
        (
            &acme,
            "list_files",
            json!({ "cursor": format!("{cursor}x") }),
        ),
        (&acme, "list_files", json!({ "cursor": "500" })),
    ] {
        let reply = client.call(tool, arguments.clone()).await;
        assert_eq!(reply.code(), "invalid_arguments", "{tool} {arguments}");
    }
}

#[tokio::test]
async fn a_cursor_of_another_project_is_refused() {
    let many = || {
        (0..600).fold(Repo::new(), |repo, n| {
            repo.file(&format!("f{n:03}.txt"), "x\n")
        })
    };
    let acme = Tenant::new("acme")
        .project("site", many().commit())
        .project("wiki", many().commit());
    let stack = Harness::new().tenant(acme).start().await;
    let client = stack.client("acme");
    let first = client
        .call("list_files", json!({ "project": "site" }))
        .await;
    let cursor = first.structured()["cursor"]
        .as_str()
        .expect("a second page");
    for (project, code) in [("wiki", Some("invalid_arguments")), ("site", None)] {
        let arguments = json!({ "project": project, "cursor": cursor });
        let reply = client.call("list_files", arguments).await;
        let refused = reply.is_error().then(|| reply.code());
        assert_eq!(refused, code, "{project}");
    }
}

#[tokio::test]
async fn a_default_project_that_is_hidden_is_as_none() {
    let acme = acme().key(Key::new("lost").default_project("vault"));
    let stack = Harness::new().tenant(acme).start().await;
    stack.until_listening().await;
    stack.allow("acme", "everyone", &["site"]).await;
    let (dev, lost) = (stack.keyed("acme", "dev"), stack.keyed("acme", "lost"));
    until_sees(&stack, &dev, &["site"]).await;
    until_sees(&stack, &lost, &["site"]).await;
    for (tool, arguments) in [
        ("list_files", json!({})),
        ("list_projects", json!({})),
        ("read_file", json!({ "path": "none.txt" })),
    ] {
        let answer = async |client: &Client| {
            let reply = client.call(tool, arguments.clone()).await;
            (reply.text().to_owned(), reply.is_error())
        };
        assert_eq!(answer(&lost).await, answer(&dev).await, "{tool}");
    }
}
