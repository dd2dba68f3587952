//! A repository as the attacker: its `.archway.toml`, prompts, documents and rules open nothing of
//! another tenant and nothing closed, and names of others are treated as unknown.

use e2e::{Client, Harness, Repo, Stack, Tenant};
use serde_json::{Value, json};

use crate::result;

/// In acme's file, decision, pattern, memory and prompt.
const WORD: &str = "sesame";

fn prompt(name: &str, text: &str) -> String {
    let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
    json!({ "name": name, "description": name, "messages": [message] }).to_string()
}

/// The content that zeta would like to see.
fn vault() -> Repo {
    let rule = format!("# Gate\n\nIt MUST NOT use `{WORD}`.\n");
    Repo::new()
        .file("treasure.txt", format!("{WORD}\n"))
        .file(
            "docs/adr/0001-gate.md",
            format!("# Use {WORD}\n\nAccepted. We use {WORD}.\n"),
        )
        .file("docs/architecture/patterns/gate.md", rule)
        .file(".archway/prompts/gate.json", prompt("gate", WORD))
        .commit()
}

/// acme's vault, with this repository as `shop` of zeta.
async fn beside(shop: Repo) -> Stack {
    let shop = shop
        .file("own.txt", "own words\n")
        .file(".env", format!("{WORD}\n"));
    Harness::new()
        .tenant(Tenant::new("acme").project("vault", vault()))
        .tenant(Tenant::new("zeta").project("shop", shop.commit()))
        .indexing()
        .start()
        .await
}

async fn indexed(stack: &Stack, client: &Client, query: &str, scope: &str) -> Value {
    let answered = async || {
        let query = json!({ "query": query, "project_scope": scope, "limit": 20 });
        let reply = client.call("context_search", query).await;
        (!reply.is_error()).then(|| reply.value().clone())
    };
    stack.eventually(answered).await
}

#[tokio::test]
async fn a_link_to_another_tenants_project_is_as_one_to_nothing() {
    let links = "linked_projects = ['vault', 'acme/vault', '../acme/vault', 'nonesuch', '*']\n";
    let stack = beside(Repo::new().file(".archway.toml", links)).await;
    indexed(&stack, &stack.client("acme"), WORD, "current").await;
    let zeta = stack.client("zeta");
    let found = indexed(&stack, &zeta, "treasure gate decision", "all_linked").await;
    let projects: Vec<&Value> = found["structuredContent"]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| &result["project"])
        .collect();
    assert!(
        projects.iter().all(|project| *project == "shop"),
        "{projects:?}"
    );
    // The manifest is zeta's own file, which contains the names.
    let text = found["structuredContent"].to_string();
    assert!(
        !text.contains(WORD) && !text.contains("treasure.txt"),
        "{text}"
    );
}

/// Requests that would show what such a manifest points at.
fn questions() -> Vec<(&'static str, Value)> {
    let call = |tool: &str, arguments: Value| {
        (
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    };
    let read = |uri: &str| ("resources/read", json!({ "uri": uri }));
    vec![
        ("resources/list", json!({})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "gate" })),
        read("architecture://adr/0001-gate"),
        read("architecture://pattern/gate"),
        read("repo://shop/.env"),
        read("repo://shop/%2e%2e/%2e%2e/acme/vault/treasure.txt"),
        call("read_repo_file", json!({ "path": ".env" })),
        call(
            "read_repo_file",
            json!({ "path": "../../acme/vault/treasure.txt" }),
        ),
        call("search_architecture", json!({ "query": "use gate" })),
        call(
            "check_adr_alignment",
            json!({ "decision_description": "We use a gate" }),
        ),
        call(
            "validate_pattern",
            json!({ "pattern_name": "gate", "code": "a" }),
        ),
    ]
}

#[tokio::test]
async fn folders_and_globs_of_a_manifest_end_at_its_own_root() {
    let manifest = "allow = ['**', '../../acme/vault/**', '/etc/**']\n\
        [architecture]\nadr = ['../../acme/vault/docs/adr', '/etc', 'docs/adr']\n\
        patterns = ['../../acme/vault/docs/architecture/patterns']\n\
        prompts = ['../../acme/vault/.archway/prompts']\n";
    let shop = Repo::new()
        .file(".archway.toml", manifest)
        .link("docs/adr", "../../../acme/vault/docs/adr")
        .link(".archway/prompts", "../../../acme/vault/.archway/prompts");
    let stack = beside(shop).await;
    let zeta = stack.client("zeta");
    for (method, params) in questions() {
        let text = zeta.rpc(method, params.clone()).await.text();
        assert!(!text.contains(WORD), "{method} {params}: {text}");
    }
}

/// Prompts of zeta that include these references, as zeta gets them: expanded, or skipped with a reason.
async fn expanded(asks: &[&str]) -> Vec<String> {
    let name = |number: usize| format!("spy-{number}-");
    let shop = asks
        .iter()
        .enumerate()
        .fold(Repo::new(), |shop, (number, asks)| {
            let path = format!(".archway/prompts/{}.json", name(number));
            shop.file(&path, prompt(&name(number), asks))
        });
    let stack = beside(shop).await;
    let zeta = stack.client("zeta");
    let list = result(&zeta, "prompts/list", json!({})).await;
    let skipped = list["_meta"]["io.archway/skipped"].as_array().cloned();
    let mut texts = Vec::new();
    for number in 0..asks.len() {
        let own = name(number);
        let got = zeta.rpc("prompts/get", json!({ "name": own })).await.text();
        let why = skipped.iter().flatten().map(Value::to_string);
        let why: String = why.filter(|why| why.contains(&own)).collect();
        texts.push(format!("{got}\n{why}").replace(&own, "spy"));
    }
    texts
}

#[tokio::test]
async fn a_prompt_cannot_include_documents_of_another_tenant() {
    let asks = [
        "{{resource:repo://vault/treasure.txt}}",
        "{{resource:architecture://vault/adr/0001-gate}}",
        "{{resource:architecture://vault/pattern/gate}}",
        "{{tool:vault}}",
    ];
    let invented = asks.map(|asks| asks.replace("vault", "vaulx"));
    let both: Vec<&str> = asks
        .into_iter()
        .chain(invented.iter().map(String::as_str))
        .collect();
    let texts = expanded(&both).await;
    let (real, invented) = texts.split_at(asks.len());
    for (real, invented) in real.iter().zip(invented) {
        assert!(!real.contains(WORD), "{real}");
        assert_eq!(*real, invented.replace("vaulx", "vault"));
    }
}

#[tokio::test]
async fn a_prompt_opens_nothing_that_is_shut_and_runs_nothing_that_it_is_given() {
    let asks = [
        "{{resource:repo://shop/.env}}",
        "{{resource:repo://shop/%2eenv}}",
        "{{resource:repo://shop/../../acme/vault/treasure.txt}}",
        "{{resource:file:///etc/passwd}}",
        "{{resource:workflow://current}}",
        "{{result:../vault}}",
    ];
    for (asks, text) in asks.iter().zip(expanded(&asks).await) {
        assert!(
            !text.contains(WORD) && !text.contains("root:"),
            "{asks}: {text}"
        );
    }
    // An argument is inserted as it is and never expanded.
    let template = json!({
        "name": "spy", "description": "spy", "arguments": [{ "name": "what", "required": true }],
        "messages": [{ "role": "user", "content": { "type": "text", "text": "<{{what}}>" } }],
    });
    let shop = Repo::new().file(".archway/prompts/spy.json", template.to_string());
    let stack = beside(shop).await;
    let what = "{{resource:repo://shop/own.txt}}";
    let got = json!({ "name": "spy", "arguments": { "what": what } });
    let got = result(&stack.client("zeta"), "prompts/get", got).await;
    assert_eq!(got["messages"][0]["content"]["text"], format!("<{what}>"));
}

#[tokio::test]
async fn rules_of_a_document_read_no_file_and_no_other_document() {
    let fence = |rule: &str| format!("# Spy\n\n```ast-grep\n{rule}\n```\n");
    let rules = [
        "id: spy\nlanguage: ../../acme/vault/treasure.txt\nrule:\n  pattern: a",
        "id: spy\nlanguage: rust\nrule:\n  matches: gate",
        "id: spy\nlanguage: rust\nrule: !include ../../acme/vault/treasure.txt",
        "id: spy\nlanguage: rust\nutilDirs: ['../../acme/vault']\nrule:\n  pattern: a",
        "id: spy\nlanguage: rust\nmessage: '{{resource:repo://vault/treasure.txt}}'\nrule:\n  pattern: a",
    ];
    let folder = "docs/architecture/patterns";
    let named = rules.iter().enumerate();
    let shop = named.fold(Repo::new(), |repo, (number, rule)| {
        repo.file(&format!("{folder}/spy{number}.md"), fence(rule))
    });
    let stack = beside(shop).await;
    let zeta = stack.client("zeta");
    for number in 0..rules.len() {
        let arguments =
            json!({ "pattern_name": format!("spy{number}"), "code": "a", "language": "rust" });
        let reply = zeta.call("validate_pattern", arguments).await;
        let text = reply.value().to_string();
        assert!(
            !text.contains(WORD) && !text.contains("internal_error"),
            "{number}: {text}"
        );
        assert!(
            !text.contains(stack.repositories().to_str().unwrap()),
            "{number}: {text}"
        );
    }
    // Names of patterns are not paths.
    for name in [
        "../../../../acme/vault/docs/architecture/patterns/gate",
        "vault/gate",
        "gate",
    ] {
        let reply = zeta
            .call(
                "validate_pattern",
                json!({ "pattern_name": name, "code": "a" }),
            )
            .await;
        assert_eq!(reply.code(), "pattern_not_found", "{name}");
        assert!(!reply.value().to_string().contains(WORD), "{name}");
    }
}
