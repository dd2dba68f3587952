//! Resources by caller: projects, families, tenants, limits, closed paths.

use archway_gateway::terms::Level;
use archway_proto::catalog::Scope;
use e2e::{Harness, Key, Tenant};
use serde_json::json;

use super::{read, site, uris};
use crate::{refused, result};

#[tokio::test]
async fn a_closed_resource_is_refused_by_name_whether_it_exists_or_not() {
    let other = Tenant::new("zeta").project("vault", site());
    let acme = Tenant::new("acme")
        .project(
            "site",
            site()
                .link("out", "/etc")
                .file("big.txt", vec![b'a'; (1 << 20) + 1]),
        )
        .project("hidden", site())
        .key(Key::new("narrow").projects(["site"]));
    let stack = Harness::new().tenant(acme).tenant(other).start().await;
    let client = stack.keyed("acme", "narrow");
    let message = async |uri: &str| {
        let error = refused(&client, "resources/read", json!({ "uri": uri })).await;
        assert_eq!(error["code"], -32602, "{uri}: {error}");
        assert_eq!(error["data"]["uri"], uri);
        let text = error["message"].as_str().unwrap().to_owned();
        assert!(!text.contains("/tmp") && !text.contains("SECRET"), "{text}");
        text
    };
    for uri in [
        "repo://site/../x",
        "repo://site/%2e%2e/x",
        "repo://site//etc/passwd",
        "repo://site/out/passwd",
    ] {
        assert!(message(uri).await.contains("outside"), "{uri}");
    }
    message("repo://site/big.txt").await;
    message("repo://site/src").await;
    message("repo://site/").await;
    message("file:///etc/passwd").await;
    // A blocked path is refused by name, and a project by slug: invented ones alike.
    for (real, invented) in [
        ("repo://site/.env", "repo://site/.env.none"),
        ("repo://hidden/src/main.rs", "repo://nowher/src/main.rs"),
        ("repo://vault/src/main.rs", "repo://nowhe/src/main.rs"),
        (
            "architecture://hidden/adr/0001-use-postgres",
            "architecture://nowher/adr/0001-use-postgres",
        ),
        (
            "architecture://vault/pattern/repository",
            "architecture://nowhe/pattern/repository",
        ),
    ] {
        let name = |uri: &str| uri.rsplit("://").next().unwrap().to_owned();
        let without = |text: String, uri: &str| {
            let path = name(uri);
            let path = path.strip_prefix("site/").unwrap_or(&path).to_owned();
            text.replace(uri, "X").replace(&path, "X")
        };
        let (real, invented) = (
            without(message(real).await, real),
            without(message(invented).await, invented),
        );
        assert_eq!(real, invented);
    }
    assert_eq!(uris(&client).await.len(), 3);
}

#[tokio::test]
async fn uris_name_the_project_unless_it_is_the_default() {
    let acme = Tenant::new("acme")
        .project("api", site())
        .project("web", site())
        .key(Key::new("web").default_project("web"));
    let stack = Harness::new().tenant(acme).start().await;
    let named = |project: &str| {
        [
            "adr/0001-use-postgres",
            "pattern/repository",
            "guideline/logs",
        ]
        .map(|it| format!("architecture://{project}{it}"))
    };
    let with_default = uris(&stack.keyed("acme", "web")).await;
    assert_eq!(with_default, [named(""), named("api/")].concat());
    let without = uris(&stack.client("acme")).await;
    assert_eq!(without, [named("api/"), named("web/")].concat());
    for uri in &without {
        let text = &read(&stack.keyed("acme", "web"), uri).await["contents"][0]["text"];
        assert!(text.is_string(), "{uri}");
    }
    let uri = "architecture://adr/0001-use-postgres";
    let error = refused(
        &stack.client("acme"),
        "resources/read",
        json!({ "uri": uri }),
    )
    .await;
    assert_eq!(error["code"], -32602);
    assert_eq!(error["data"]["projects"], json!(["api", "web"]));
    let form = "name its project, as architecture://api/adr/0001-use-postgres; \
        the projects are api, web";
    assert!(
        error["message"].as_str().unwrap().ends_with(form),
        "{error}"
    );
}

#[tokio::test]
async fn a_misspelt_uri_gets_near_ones_that_the_caller_may_read() {
    let acme = Tenant::new("acme")
        .project("site", site())
        .project(
            "sites",
            site()
                .file("docs/adr/0002-kraken.md", "# Kraken\n")
                .commit(),
        )
        .key(Key::new("narrow").projects(["site"]));
    let stack = Harness::new().tenant(acme).start().await;
    let message = async |label: &str, uri: &str| {
        let client = stack.keyed("acme", label);
        let error = refused(&client, "resources/read", json!({ "uri": uri })).await;
        assert_eq!(error["code"], -32602, "{uri}: {error}");
        error["message"].as_str().unwrap().to_owned()
    };
    let decision = "architecture://adr/0001-use-postgres";
    for (label, uri, meant) in [
        ("narrow", "architecture://adr/0001-use-postgre", decision),
        (
            "narrow",
            "architecture://pattern/0001-use-postgres",
            decision,
        ),
        ("narrow", "architecture://adr/0001", decision),
        (
            "narrow",
            "architecture://sitee/adr/0001",
            "architecture://site/adr/0001",
        ),
        ("narrow", "repo://sitee/src/main.rs", "repo://site/{path}"),
        ("narrow", "repo://site/src/mian.rs", "`src/main.rs`"),
        (
            "",
            "architecture://sites/adr/0002-karken",
            "architecture://sites/adr/0002-kraken",
        ),
    ] {
        let message = message(label, uri).await;
        let suggested = format!("did you mean {meant}? ");
        assert!(message.contains(&suggested), "{uri}: {message}");
    }
    for uri in ["architecture://adr/0002-karken", "repo://siets/a.txt"] {
        let message = message("narrow", uri).await;
        assert!(
            !message.contains("kraken") && !message.contains("sites"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn a_key_of_other_families_or_scopes_is_shown_nothing() {
    let acme = Tenant::new("acme")
        .project("site", site())
        .key(Key::new("git").families(["git"]))
        .key(Key::new("architecture").families(["architecture"]))
        .key(Key::new("writer").scopes(&[Scope::MemoryWrite]));
    let stack = Harness::new().tenant(acme).start().await;
    let templates = async |label: &str| {
        let client = stack.keyed("acme", label).modern();
        let list = result(&client, "resources/templates/list", json!({})).await;
        list["resourceTemplates"].as_array().unwrap().len()
    };
    let counts = (
        templates("").await,
        templates("architecture").await,
        templates("git").await,
    );
    assert_eq!(counts, (3, 2, 0));
    let document = json!({ "uri": "architecture://adr/0001-use-postgres" });
    let file = json!({ "uri": "repo://site/src/main.rs" });
    let git = stack.keyed("acme", "git");
    assert_eq!(uris(&git).await, [""; 0]);
    for params in [&document, &file] {
        assert_eq!(
            refused(&git, "resources/read", params.clone()).await["code"],
            -32602
        );
    }
    let architecture = stack.keyed("acme", "architecture");
    result(&architecture, "resources/read", document.clone()).await;
    assert_eq!(
        refused(&architecture, "resources/read", file).await["code"],
        -32602
    );
    let writer = stack.keyed("acme", "writer");
    assert_eq!(uris(&writer).await, [""; 0]);
    assert_eq!(writer.rpc("resources/read", document).await.status, 403);
}

#[tokio::test]
async fn reading_a_resource_spends_what_read_file_spends() {
    let acme = Tenant::new("acme").project("site", site()).limited();
    let acme = acme.limit(Level::Key, "read_file", 2);
    let stack = Harness::new().tenant(acme).start().await;
    let client = stack.client("acme").modern();
    read(&client, "repo://site/src/main.rs").await;
    client
        .call("read_file", json!({ "path": "src/main.rs" }))
        .await
        .structured();
    let uri = "architecture://pattern/repository";
    let response = client.rpc("resources/read", json!({ "uri": uri })).await;
    assert_eq!(response.status, 429);
    assert_eq!(response.json()["error"]["code"], 42900);
}
