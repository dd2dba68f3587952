//! Passes at a worker that say more of their owner's access than is true. A worker applies the rules of a tenant as they
//! are, and the answers of hosts. So no pass makes it show more than those give.

use std::slice;

use archway_proto::method::Method;
use e2e::{Harness, Repo, Stack, Tenant};
use serde_json::{Value, json};
use sqlx::PgPool;
use tonic::Code;

use super::{
    access::{acme, until_sees},
    passes::{ask_for, but, claims},
};

const ALL: [&str; 3] = ["site", "vault", "wiki"];
const OPEN: [&str; 2] = ["site", "wiki"];

/// `acme` with rules to come, and another tenant whose rule gives everybody everything. Returns that rule, too.
async fn two_tenants() -> (Stack, i64) {
    let shop = Repo::new().file("own.txt", "nothing\n").commit();
    let zeta = Tenant::new("zeta").project("shop", shop);
    let stack = Harness::new().tenant(acme()).tenant(zeta).start().await;
    stack.until_listening().await;
    let foreign = stack.allow("zeta", "everyone", &["*"]).await;
    (stack, foreign)
}

/// How often the rules of `acme`, and what hosts say of it, have changed.
async fn edition(stack: &Stack) -> i64 {
    let owner = PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    let edition = sqlx::query_scalar("select edition from access_editions where tenant_id = $1");
    let edition = edition.bind(stack.tenant_id("acme"));
    let edition = edition.fetch_one(&owner).await.unwrap();
    owner.close().await;
    edition
}

/// The claims of a caller about whom these rules are, of an edition.
fn ruled(stack: &Stack, rules: &[i64], edition: i64) -> Value {
    let access = json!({ "edition": edition, "rules": rules, "projects": null });
    but(but(claims(stack), "projects", json!([])), "access", access)
}

/// The claims of a caller without accounts of a tenant that has rules or not. Some of them name its key by the label.
fn hosted(stack: &Stack, rules: Option<&[i64]>, by_label: &[i64]) -> Value {
    let hosted = json!({
        "edition": 1, "rules": rules, "by_label": by_label, "accounts": [], "projects": null,
    });
    but(but(claims(stack), "projects", json!([])), "hosted", hosted)
}

fn tool(name: &str, arguments: Value) -> (Method, Value) {
    let params = json!({ "name": name, "arguments": arguments });
    (Method::ToolsCall, params)
}

fn treasure() -> (Method, Value) {
    tool(
        "read_file",
        json!({ "path": "treasure.txt", "project": "vault" }),
    )
}

/// Calls that would show something of `vault`.
fn calls() -> Vec<(Method, Value)> {
    let file = json!({ "uri": "repo://vault/treasure.txt" });
    let document = json!({ "uri": "architecture://vault/adr/0001-lantern" });
    let slugs = json!({
        "ref": { "type": "ref/resource", "uri": "repo://{project}/{path}" },
        "argument": { "name": "project", "value": "" },
    });
    let everywhere = json!({ "pattern": "lantern", "project": "*" });
    vec![
        treasure(),
        // The default project of the claims is `vault`.
        tool("list_files", json!({})),
        tool("search_memory", json!({})),
        tool("list_projects", json!({})),
        tool("grep_codebase", everywhere.clone()),
        tool("search_files", everywhere),
        (Method::ResourcesRead, file),
        (Method::ResourcesRead, document),
        (Method::ResourcesList, json!({})),
        (Method::PromptsList, json!({})),
        (Method::PromptsGet, json!({ "name": "vault/greet" })),
        (Method::Complete, slugs),
    ]
}

/// Panics if a worker shows something of `vault` for these claims. Returns all that it says.
async fn assert_hides_vault(stack: &Stack, what: &str, claims: &Value) -> String {
    let pass = stack.signed(claims);
    let mut all = String::new();
    for (method, params) in calls() {
        let asked = format!("{what}: {} {params}", method.name());
        let names_it = params.to_string().contains("vault");
        let answer = ask_for(stack, (method, params), &[("archway-pass", &pass)]).await;
        let said = answer.unwrap_or_else(|status| status.to_string());
        assert!(!said.contains("sesame"), "{asked}: {said}");
        assert!(names_it || !said.contains("vault"), "{asked}: {said}");
        all += &said;
    }
    all
}

#[tokio::test]
async fn a_pass_with_rules_that_do_not_hold_shows_nothing_they_gave() {
    let (stack, foreign) = two_tenants().await;
    let open = stack.allow("acme", "everyone", &OPEN).await;
    let given = stack.allow("acme", "key:dev", &["vault"]).await;
    let dev = stack.keyed("acme", "dev");
    until_sees(&stack, &dev, &ALL).await;
    let before = edition(&stack).await;
    let old = ruled(&stack, &[open, given], before);
    let pass = stack.signed(&old);
    let said = ask_for(&stack, treasure(), &[("archway-pass", &pass)]).await;
    assert!(said.unwrap().contains("sesame"), "while the rule holds");

    stack.remove_rule("acme", given).await;
    let whole = stack.allow("acme", "key:owner", &["*"]).await;
    let denied = stack.deny("acme", "key:dev", &["vault"]).await;
    until_sees(&stack, &dev, &OPEN).await;
    let now = edition(&stack).await;
    let of = |rules: &[i64], edition: i64| ruled(&stack, rules, edition);
    let mut narrow = of(&[whole], now);
    narrow["access"]["projects"] = json!(OPEN);
    for (what, claims) in [
        ("of an old edition", old),
        ("of no edition", of(&[open, given], 0)),
        ("with a rule that is gone", of(&[open, given], now)),
        ("with a rule that denies", of(&[whole, denied], now)),
        ("with another tenant's rule", of(&[foreign], now)),
        ("with rules that nobody made", of(&[-1, 0, i64::MAX], now)),
        ("without rules", of(&[], now)),
        ("of an edition to come", of(&[open], now + 1_000)),
        ("for other projects", narrow),
    ] {
        assert_hides_vault(&stack, what, &claims).await;
    }
}

#[tokio::test]
async fn a_holder_cannot_add_a_rule_to_a_pass() {
    let (stack, _) = two_tenants().await;
    let open = stack.allow("acme", "everyone", &OPEN).await;
    let whole = stack.allow("acme", "key:owner", &["*"]).await;
    let now = edition(&stack).await;
    let [own, wished] = [open, whole].map(|rule| {
        let claims = ruled(&stack, slice::from_ref(&rule), now);
        stack.signed(&claims)
    });
    let (head, rest) = own.split_once('.').unwrap();
    let (_, signature) = rest.split_once('.').unwrap();
    let body = wished.split('.').nth(1).unwrap();
    let forged = format!("{head}.{body}.{signature}");
    for call in calls() {
        let refused = ask_for(&stack, call, &[("archway-pass", &forged)]).await;
        assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated);
    }
    assert_hides_vault(&stack, "unchanged", &ruled(&stack, &[open], now)).await;
}

#[tokio::test]
async fn a_pass_that_says_nothing_of_hosts_shows_nothing_that_they_guard() {
    let (stack, foreign) = two_tenants().await;
    let visibilities = [
        ("vault", "private"),
        ("site", "public"),
        ("wiki", "internal"),
    ];
    stack.guard("acme", &visibilities).await;
    let whole = stack.allow("acme", "everyone", &["*"]).await;
    let dev = stack.keyed("acme", "dev");
    until_sees(&stack, &dev, &OPEN).await;
    let now = edition(&stack).await;
    for (what, claims) in [
        ("without rules and hosts", claims(&stack)),
        ("with rules alone", ruled(&stack, &[whole], now)),
        ("of nobody's account", hosted(&stack, None, &[])),
        ("by a label without rules", hosted(&stack, None, &[whole])),
        (
            "by a label in another tenant's rule",
            hosted(&stack, Some(&[whole]), &[foreign]),
        ),
    ] {
        let said = assert_hides_vault(&stack, what, &claims).await;
        assert!(said.contains("site"), "{what}: what is public is there");
    }
}
