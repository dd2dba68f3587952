//! A project that no access rule gives to a principal is not there: for no tool, resource, prompt, list, count, cursor,
//! near name, completion, workflow or search. It is the same whether the principal had it before or never.

use e2e::{Client, Harness, Issuer, Key, Repo, Stack, Tenant, sample_calls};
use serde_json::{Value, json};

use super::refusals::assert_refused_as_unknown;
use crate::{refused, result};

/// `acme` has `vault` with what the sample calls ask for, and two more projects.
pub(super) fn acme() -> Tenant {
    let prompt = json!({
        "name": "greet", "description": "greet", "arguments": [],
        "messages": [{ "role": "user", "content": { "type": "text", "text": "{{tool:grep_codebase}}" } }],
    });
    let vault = Repo::new().file(".archway/prompts/greet.json", prompt.to_string());
    Tenant::new("acme")
        .project("vault", sample_calls::fixture(vault))
        .project("site", Repo::new().file("a.txt", "a\n").commit())
        .project("wiki", Repo::new().file("b.txt", "b\n").commit())
        .key(Key::new("dev"))
        .key(Key::new("owner"))
}

pub(super) async fn slugs(client: &Client) -> Vec<String> {
    let list = client.call("list_projects", json!({})).await;
    let projects = list.structured()["projects"].as_array().unwrap().iter();
    projects
        .map(|it| it["slug"].as_str().unwrap().to_owned())
        .collect()
}

/// Waits until a caller sees these projects.
pub(super) async fn until_sees(stack: &Stack, client: &Client, expected: &[&str]) {
    let sees = async || (slugs(client).await == expected).then_some(());
    stack.eventually(sees).await;
}

/// Panics if the caller can notice that there is a project `vault`.
pub(super) async fn assert_hidden(client: &Client) {
    assert_refused_as_unknown(client, "vault").await;
    let list = client.call("list_projects", json!({})).await;
    assert_eq!(list.structured()["total_count"], 2, "{}", list.value());
    for tool in ["grep_codebase", "search_files"] {
        let everywhere = json!({ "pattern": "sesame|treasure", "project": "*" });
        let found = client.call(tool, everywhere).await;
        assert_eq!(
            found.structured()["matches"],
            json!([]),
            "{tool}: {}",
            found.value()
        );
        assert_eq!(found.meta("projects")["searched"], 2, "{tool}");
    }
    let symbol = json!({ "name": "*", "project": "*" });
    let symbols = client.call("find_symbol", symbol).await;
    assert_eq!(symbols.structured()["total"], 0, "{}", symbols.value());
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        ("completion/complete", completion("project", "")),
        (
            "tools/call",
            json!({ "name": "list_files", "arguments": { "project": "vaul" } }),
        ),
        (
            "tools/call",
            json!({ "name": "list_files", "arguments": {} }),
        ),
        (
            "tools/call",
            json!({ "name": "context_search", "arguments": { "query": "treasure", "project_scope": "all" } }),
        ),
    ] {
        let answer = client.rpc(method, params.clone()).await.json();
        assert!(
            !answer.to_string().contains("vault"),
            "{method} {params}: {answer}"
        );
    }
    for uri in [
        "repo://vault/treasure.txt",
        "architecture://vault/adr/0001-use-postgresql",
    ] {
        let nowhere = uri.replace("vault", "nonesuch");
        let read = async |uri: &str| {
            let failed = refused(client, "resources/read", json!({ "uri": uri })).await;
            failed.to_string().replace(uri, "…")
        };
        assert_eq!(read(uri).await, read(&nowhere).await);
    }
    let prompt = async |name: &str| {
        let failed = refused(client, "prompts/get", json!({ "name": name })).await;
        failed.to_string().replace(name, "…")
    };
    assert_eq!(prompt("vault/greet").await, prompt("vaulx/greet").await);
}

fn completion(argument: &str, value: &str) -> Value {
    json!({
        "ref": { "type": "ref/resource", "uri": "repo://{project}/{+path}" },
        "argument": { "name": argument, "value": value },
    })
}

#[tokio::test]
async fn what_no_rule_gives_is_hidden_from_who_never_had_it() {
    let stack = Harness::new().tenant(acme()).start().await;
    stack.until_listening().await;
    stack.allow("acme", "key:owner", &["*"]).await;
    stack.allow("acme", "everyone", &["site", "wi*"]).await;
    let (dev, owner) = (stack.keyed("acme", "dev"), stack.keyed("acme", "owner"));
    until_sees(&stack, &dev, &["site", "wiki"]).await;
    assert_hidden(&dev).await;
    assert_eq!(slugs(&owner).await, ["site", "vault", "wiki"]);
}

#[tokio::test]
async fn what_a_rule_denies_is_hidden_from_who_had_it_and_cursors_end() {
    let stack = Harness::new().tenant(acme()).start().await;
    stack.until_listening().await;
    let dev = stack.keyed("acme", "dev");
    assert_eq!(
        slugs(&dev).await,
        ["site", "vault", "wiki"],
        "without rules"
    );
    let params = json!({ "name": "vault/greet", "arguments": {} });
    result(&dev, "prompts/get", params).await;
    let (page, grep) = first_page(&dev).await;
    let recorded = workflow(&dev).await;
    assert_ne!(
        recorded["results"]["grep_codebase"],
        Value::Null,
        "{recorded}"
    );

    stack.allow("acme", "everyone", &["*"]).await;
    let denied = stack.deny("acme", "key:dev", &["vault"]).await;
    until_sees(&stack, &dev, &["site", "wiki"]).await;
    assert_eq!(workflow(&dev).await, Value::Null, "it names the project");
    assert_hidden(&dev).await;
    for cursor in [&page, &grep] {
        let again = dev.call(cursor.0, cursor.1.clone()).await;
        assert_eq!(again.code(), "invalid_arguments", "{}", again.value());
    }

    stack.remove_rule("acme", denied).await;
    until_sees(&stack, &dev, &["site", "vault", "wiki"]).await;
}

/// Calls that ask for the second page of a list of `vault`, and of a search of all projects.
pub(super) async fn first_page(dev: &Client) -> ((&'static str, Value), (&'static str, Value)) {
    let second = async |tool: &'static str, mut arguments: Value| {
        let first = dev.call(tool, arguments.clone()).await;
        let cursor = first.structured()["cursor"].as_str();
        let cursor = cursor.unwrap_or_else(|| panic!("{}", first.value()));
        arguments["cursor"] = json!(cursor);
        (tool, arguments)
    };
    let log = json!({ "project": "vault", "max_count": 1 });
    let grep = json!({ "project": "*", "pattern": "e", "max_results": 1 });
    (
        second("git_log", log).await,
        second("grep_codebase", grep).await,
    )
}

pub(super) async fn workflow(client: &Client) -> Value {
    let read = result(
        client,
        "resources/read",
        json!({ "uri": "workflow://current" }),
    )
    .await;
    serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn a_project_is_there_for_the_families_that_rules_give_alone() {
    let acme = acme().key(Key::new("reader").families(["files"]));
    let stack = Harness::new().tenant(acme).start().await;
    stack.until_listening().await;
    stack.allow("acme", "key:owner", &["*"]).await;
    stack
        .allow_families("acme", "everyone", &["vault"], &["memory"])
        .await;
    stack
        .allow_families("acme", "everyone", &["site"], &["files"])
        .await;
    let dev = stack.keyed("acme", "dev");
    until_sees(&stack, &dev, &["site", "vault"]).await;
    // A key for files has no tool to call in `vault`.
    until_sees(&stack, &stack.keyed("acme", "reader"), &["site"]).await;
    let entries = dev
        .call("search_memory", json!({ "project": "vault" }))
        .await;
    assert!(!entries.is_error(), "{}", entries.value());
    for (tool, project, code) in [
        ("list_files", "vault", Some("project_not_found")),
        ("list_files", "site", None),
        ("search_memory", "site", Some("project_not_found")),
    ] {
        let reply = dev.call(tool, json!({ "project": project })).await;
        let refused = reply.is_error().then(|| reply.code());
        assert_eq!(refused, code, "{tool} {project}");
    }
    let file = json!({ "uri": "repo://vault/treasure.txt" });
    refused(&dev, "resources/read", file).await;
    let list = dev.rpc("tools/list", json!({})).await.json();
    assert!(
        !list.to_string().contains("\"git_log\""),
        "no rule gives git"
    );
    let unknown = dev
        .rpc("tools/call", json!({ "name": "git_log", "arguments": {} }))
        .await;
    assert_eq!(unknown.json()["error"]["code"], -32602);
    let prompts = result(&dev, "prompts/list", json!({})).await;
    assert_eq!(prompts["prompts"], json!([]), "all name such tools");
    assert!(
        !prompts.to_string().contains("check_adr_alignment"),
        "{prompts}"
    );
    let decision = json!({ "name": "review-a-decision", "arguments": { "decision": "none" } });
    refused(&dev, "prompts/get", decision).await;
}

#[tokio::test]
async fn tokens_get_what_their_groups_and_subjects_get() {
    let issuer = Issuer::start().await;
    let entry = issuer.entry("tenant: acme, groups_claim: [realm, groups]");
    let stack = Harness::new().tenant(acme()).issuer(entry).start().await;
    stack.until_listening().await;
    stack.allow("acme", "group:web", &["site"]).await;
    let ada = format!("subject:{}#ada", issuer.url());
    stack.allow("acme", &ada, &["wiki"]).await;
    let bearing = |subject: &str, groups: Value| {
        let mut claims = issuer.claims(subject);
        claims["realm"] = json!({ "groups": groups });
        Client::new(stack.gateways()[0], &issuer.sign(&claims))
    };
    until_sees(
        &stack,
        &bearing("ada", json!(["web", "ops"])),
        &["site", "wiki"],
    )
    .await;
    for (subject, groups, expected) in [
        ("ada", json!([]), &["wiki"][..]),
        ("eve", json!("web"), &["site"]),
    ] {
        let client = bearing(subject, groups);
        assert_eq!(slugs(&client).await, expected, "{subject}");
    }
    // Nothing is given: not even a tool.
    let eve = bearing("eve", json!(["Web"]));
    for (method, list) in [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        let listed = result(&eve, method, json!({})).await;
        assert_eq!(listed[list], json!([]), "{method}");
    }
    let many: Vec<String> = (0..201).map(|n| n.to_string()).collect();
    for groups in [json!(many), json!(["x".repeat(129)])] {
        let answer = bearing("ada", groups).rpc("tools/list", json!({})).await;
        assert_eq!(answer.status, 403);
        assert!(answer.text().contains("200 groups"), "{}", answer.text());
    }
    let answer = bearing("ada", json!([1]))
        .rpc("tools/list", json!({}))
        .await;
    assert_eq!(answer.status, 401);
}

#[tokio::test]
async fn a_change_of_rules_is_in_force_at_each_gateway() {
    let stack = Harness::new().tenant(acme()).replicas(3).start().await;
    stack.until_listening().await;
    let clients: Vec<Client> = (0..3).map(|it| stack.at(it, "acme", "dev")).collect();
    let rule = stack.allow("acme", "key:dev", &["site"]).await;
    for client in &clients {
        until_sees(&stack, client, &["site"]).await;
    }
    stack.remove_rule("acme", rule).await;
    for client in &clients {
        until_sees(&stack, client, &["site", "vault", "wiki"]).await;
    }
}
