//! What a refusal tells beside its text: its time, and its status, headers and length.
//!
//! Times are compared by the medians of calls that take turns, with a factor that noise of a busy machine does
//! not reach, and a look-up more, or a repository opened, would.

use std::{collections::BTreeSet, time::Duration};

use archway_gateway::terms::Level;

use e2e::{Client, Harness, Key, Repo, Stack, Tenant, http::Response};
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::time::Instant;

use super::projects::two_tenants;

/// Calls of each kind.
const ROUNDS: usize = 30;
/// A machine that is busy with one of both alone is not so three times.
const TRIES: usize = 3;
/// How many times longer one median may be than the other.
const FACTOR: f64 = 2.5;
/// Below which medians are not told apart.
const NOISE: Duration = Duration::from_micros(1_500);

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

async fn timed(client: &Client, method: &str, params: &Value) -> (Duration, Response) {
    let began = Instant::now();
    let answer = client.rpc(method, params.clone()).await;
    (began.elapsed(), answer)
}

/// Asks for both in turn. Panics where the answers differ in more than the name, or their medians tell
/// them apart each time that they are taken.
async fn assert_alike(
    client: &Client,
    method: &str,
    params: impl Fn(&str) -> Value,
    names: [&str; 2],
) {
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let (medians, shapes) = measured(client, method, &params, names).await;
        assert_eq!(shapes.len(), 1, "{method}: not the same: {shapes:#?}");
        if are_alike(medians) {
            return;
        }
        seen.push(medians);
    }
    panic!("{method}: medians of {ROUNDS}, each time apart: {seen:?}");
}

/// The medians of each, and the answers that there were.
async fn measured(
    client: &Client,
    method: &str,
    params: &impl Fn(&str) -> Value,
    names: [&str; 2],
) -> ([Duration; 2], BTreeSet<String>) {
    let mut times = [Vec::new(), Vec::new()];
    let mut shapes = BTreeSet::new();
    for _ in 0..ROUNDS {
        for (times, name) in times.iter_mut().zip(names) {
            let (time, answer) = timed(client, method, &params(name)).await;
            times.push(time);
            shapes.insert(shape(&answer, name));
        }
    }
    (times.map(|mut times| median(&mut times)), shapes)
}

fn are_alike(medians: [Duration; 2]) -> bool {
    let (least, most) = (medians[0].min(medians[1]), medians[0].max(medians[1]));
    most < least.mul_f64(FACTOR) + NOISE
}

/// All of an answer but the time it was given at and took, and the name that was asked for.
fn shape(answer: &Response, name: &str) -> String {
    let mut message = answer.json();
    if let Some(meta) = message["result"]["_meta"].as_object_mut() {
        meta.remove("io.archway/durationMs");
    }
    let headers = answer.headers.iter();
    let known = ["date", "content-length", "ratelimit"];
    let headers: Vec<_> = headers
        .filter(|(name, _)| !known.contains(&name.as_str()))
        .collect();
    format!("{} {headers:?} {message}", answer.status).replace(name, "…")
}

#[tokio::test]
async fn refusals_of_foreign_and_unknown_projects_are_alike_also_in_time_by_medians_within_a_factor()
 {
    let repo = || Repo::new().file("treasure.txt", "sesame").commit();
    let acme = Tenant::new("acme").project("vault", repo());
    let zeta = Tenant::new("zeta").project("shop", repo());
    let zeta = zeta.limit(Level::Key, "prompts/get", 0);
    let zeta = zeta.limit(Level::Tenant, "prompts/get", 0);
    let stack = Harness::new().tenant(acme).tenant(zeta).start().await;
    let zeta = stack.client("zeta");
    // Names of one length, so that lengths are alike, too.
    let names = ["vault", "vaulx"];
    let call = |tool: &'static str, about: Value| {
        move |project: &str| {
            let mut arguments = about.clone();
            arguments["project"] = json!(project);
            json!({ "name": tool, "arguments": arguments })
        }
    };
    assert_alike(&zeta, "tools/call", call("list_files", json!({})), names).await;
    let read = json!({ "path": "treasure.txt" });
    assert_alike(&zeta, "tools/call", call("read_file", read), names).await;
    assert_alike(&zeta, "tools/call", call("search_memory", json!({})), names).await;
    let uri = |project: &str| json!({ "uri": format!("repo://{project}/treasure.txt") });
    assert_alike(&zeta, "resources/read", uri, names).await;
    let prompt = |project: &str| json!({ "name": format!("{project}/greet") });
    assert_alike(&zeta, "prompts/get", prompt, names).await;
}

#[tokio::test]
async fn every_tool_that_takes_a_project_refuses_a_foreign_one_as_one_that_does_not_exist() {
    let stack = two_tenants().await;
    let zeta = stack.client("zeta");
    let listed = zeta.rpc("tools/list", json!({})).await.json();
    let tools = listed["result"]["tools"].as_array().unwrap();
    let takes = |tool: &&Value| tool["inputSchema"]["properties"].get("project").is_some();
    let mut asked = 0;
    for tool in tools.iter().filter(takes) {
        let name = tool["name"].as_str().unwrap();
        let refusal = async |project: &str| {
            let reply = zeta.call(name, arguments(name, project)).await;
            assert_eq!(
                reply.code(),
                "project_not_found",
                "{name}: {}",
                reply.value()
            );
            reply.error().to_string().replace(project, "…")
        };
        assert_eq!(refusal("vault").await, refusal("nonesuch").await, "{name}");
        asked += 1;
    }
    assert!(asked >= 15, "{asked} tools take a project");
}

/// Arguments that are good but for their project.
fn arguments(tool: &str, project: &str) -> Value {
    let mut arguments = match tool {
        "read_file" => json!({ "path": "treasure.txt" }),
        "read_repo_file" => json!({ "path": "docs/treasure.md" }),
        "search_files" | "grep_codebase" => json!({ "pattern": "sesame" }),
        "git_blame" => json!({ "file_path": "treasure.txt" }),
        "context_search" | "search_architecture" => json!({ "query": "sesame" }),
        "check_adr_alignment" => json!({ "decision_description": "sesame" }),
        "validate_pattern" => json!({ "code": "a", "pattern_name": "a" }),
        "record_discovery" => json!({ "type": "rule", "content": "a" }),
        "write_memory_entry" => json!({
            "file": "decisions.jsonl",
            "entry": { "timestamp": "2026-01-07T14:00:00Z", "decision": "a" },
        }),
        _ => json!({}),
    };
    arguments["project"] = json!(project);
    arguments
}

/// Keys whose first bad use is measured in one go: failing ids are remembered for some seconds.
const KEYS: usize = 12;
/// With each as many unknown ids fail; above sixty a minute they would be told to wait.
const GOES: usize = 2;

/// What is wrong with a key whose id is known.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    /// Its secret, and nothing else.
    Secret,
    Revoked,
    Expired,
    /// Its tenant is disabled.
    Disabled,
}

async fn many_keys(wrong: Wrong) -> Stack {
    let repo = Repo::new().file("a.txt", "a").commit();
    let acme = Tenant::new("acme").project("site", repo);
    let labels = 0..KEYS * GOES;
    let acme = labels.fold(acme, |acme, label| acme.key(Key::new(&label.to_string())));
    let stack = Harness::new().tenant(acme).start().await;
    let statement = match wrong {
        Wrong::Secret => return stack,
        Wrong::Revoked => "update api_keys set revoked_at = now()",
        Wrong::Expired => "update api_keys set expires_at = now()",
        Wrong::Disabled => "update tenants set disabled_at = now()",
    };
    let owner = PgPool::connect_with(stack.database().owner()).await;
    sqlx::query(statement)
        .execute(&owner.unwrap())
        .await
        .unwrap();
    stack
}

/// How long it takes to refuse the key of this label, and one that nobody has.
async fn refused(stack: &Stack, wrong: Wrong, label: usize) -> [Duration; 2] {
    let good = stack.keyed("acme", &label.to_string());
    let parts: Vec<&str> = good.key().split('_').collect();
    let (id, secret) = (parts[1], parts[2]);
    let swapped: String = secret.chars().rev().collect();
    let known = match wrong {
        Wrong::Secret => format!("awy_{id}_{swapped}"),
        _ => format!("awy_{id}_{secret}"),
    };
    let unknown = format!("awy_{label:012}_{swapped}");
    let mut times = [Duration::ZERO; 2];
    for (time, key) in times.iter_mut().zip([known, unknown]) {
        let bad = crate::credentials::checked(&key);
        let client = Client::new(good.address(), &bad);
        let (took, answer) = timed(&client, "ping", &json!({})).await;
        assert_eq!(answer.status, 401, "{wrong:?}");
        *time = took;
    }
    times
}

/// Panics where the first use of such a key is told from that of an unknown one each time.
async fn assert_first_use_tells_nothing(wrong: Wrong) {
    // For each a gateway that has seen no failure: it would have callers wait after sixty.
    let stack = many_keys(wrong).await;
    let mut seen = Vec::new();
    for go in 0..GOES {
        let mut times = [Vec::new(), Vec::new()];
        for label in go * KEYS..(go + 1) * KEYS {
            let [known, unknown] = refused(&stack, wrong, label).await;
            times[0].push(known);
            times[1].push(unknown);
        }
        let medians = times.map(|mut times| median(&mut times));
        if are_alike(medians) {
            return;
        }
        seen.push(medians);
    }
    panic!("{wrong:?}: medians of {KEYS} known and unknown ids, each time apart: {seen:?}");
}

#[tokio::test]
async fn the_first_use_of_a_bad_key_tells_no_known_id_from_an_unknown_by_medians_within_a_factor() {
    for wrong in [
        Wrong::Secret,
        Wrong::Revoked,
        Wrong::Expired,
        Wrong::Disabled,
    ] {
        assert_first_use_tells_nothing(wrong).await;
    }
}
