//! What a refusal reveals besides its text: its duration, status, headers and length.
//!
//! Durations are compared by the medians of alternating calls. The permitted factor exceeds the noise of
//! a busy machine, and would be exceeded by one more look-up or by opening a repository.

use std::{collections::BTreeSet, time::Duration};

use archway_gateway::terms::Level;

use e2e::{Client, Harness, Key, Repo, Stack, Tenant, http::Response, sample_calls};
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::time::Instant;

/// Calls of each kind.
const ROUNDS: usize = 30;
/// A machine is not three times busy with just one of the two kinds.
const TRIES: usize = 3;
/// The most that one median may be of the other.
const FACTOR: f64 = 2.5;
/// Medians below this are not distinguished.
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

/// Calls with both names in turn. Panics if the answers differ in more than the name, or if the medians
/// differ each time.
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

/// The medians of each, and the distinct answers.
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

/// An answer without its date, its duration and the requested name.
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
async fn foreign_and_unknown_projects_are_refused_alike_in_text_and_time() {
    let repo = || Repo::new().file("treasure.txt", "sesame").commit();
    let acme = Tenant::new("acme").project("vault", repo());
    let zeta = Tenant::new("zeta").project("shop", repo());
    let zeta = zeta.limit(Level::Key, "prompts/get", 0);
    let zeta = zeta.limit(Level::Tenant, "prompts/get", 0);
    let stack = Harness::new().tenant(acme).tenant(zeta).start().await;
    let zeta = stack.client("zeta");
    // Names of equal length, so that lengths are alike, too.
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
async fn every_tool_refuses_a_foreign_project_as_an_unknown_one() {
    let vault = sample_calls::fixture(Repo::new());
    let shop = Repo::new().file("own.txt", "nothing\n").commit();
    let stack = Harness::new()
        .tenant(Tenant::new("acme").project("vault", vault))
        .tenant(Tenant::new("zeta").project("shop", shop))
        .start()
        .await;
    assert_refused_as_unknown(&stack.client("zeta"), "vault").await;
}

/// Panics unless each tool that takes a project refuses `project` as it refuses one that does not exist.
pub(super) async fn assert_refused_as_unknown(client: &Client, project: &str) {
    let list = client.rpc("tools/list", json!({})).await.json();
    let listed = list["result"]["tools"].as_array().unwrap();
    let mut tried = 0;
    for (samples, entry) in sample_calls::of_listed(client).await.iter().zip(listed) {
        if entry["inputSchema"]["properties"]["project"].is_null() {
            continue;
        }
        let tool = samples.tool;
        let refusal = async |arguments: Value| {
            let slug = arguments["project"].as_str().unwrap().to_owned();
            let reply = client.call(tool, arguments).await;
            assert_eq!(
                reply.code(),
                "project_not_found",
                "{tool}: {}",
                reply.value()
            );
            reply.error().to_string().replace(&slug, "…")
        };
        let unknown = samples.in_project("nonesuch");
        for (foreign, unknown) in samples.in_project(project).into_iter().zip(unknown) {
            let answers = (refusal(foreign).await, refusal(unknown).await);
            assert_eq!(answers.0, answers.1, "{tool}");
        }
        tried += 1;
    }
    assert!(tried >= 15, "{tried} tools take a project");
}

/// Keys whose first bad use is measured in one go: failing ids are remembered for some seconds.
const KEYS: usize = 12;
/// As many unknown ids fail in each go. After sixty in a minute they would have to wait.
const GOES: usize = 2;

/// What is wrong with a key whose id exists.
#[derive(Clone, Copy, Debug)]
enum BadKey {
    /// Only its secret.
    Secret,
    Revoked,
    Expired,
    /// Its tenant is disabled.
    Disabled,
}

async fn many_keys(wrong: BadKey) -> Stack {
    let repo = Repo::new().file("a.txt", "a").commit();
    let acme = Tenant::new("acme").project("site", repo);
    let labels = 0..KEYS * GOES;
    let acme = labels.fold(acme, |acme, label| acme.key(Key::new(&label.to_string())));
    let stack = Harness::new().tenant(acme).start().await;
    let statement = match wrong {
        BadKey::Secret => return stack,
        BadKey::Revoked => "update api_keys set revoked_at = now()",
        BadKey::Expired => "update api_keys set expires_at = now()",
        BadKey::Disabled => "update tenants set disabled_at = now()",
    };
    let owner = PgPool::connect_with(stack.database().owner()).await;
    sqlx::query(statement)
        .execute(&owner.unwrap())
        .await
        .unwrap();
    stack
}

/// How long the refusals take of the key of this label, and of an unknown one.
async fn refused(stack: &Stack, wrong: BadKey, label: usize) -> [Duration; 2] {
    let good = stack.keyed("acme", &label.to_string());
    let parts: Vec<&str> = good.key().split('_').collect();
    let (id, secret) = (parts[1], parts[2]);
    let swapped: String = secret.chars().rev().collect();
    let known = match wrong {
        BadKey::Secret => format!("awy_{id}_{swapped}"),
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

/// Panics if the first use of such a key is distinguishable from an unknown one each time.
async fn assert_first_use_tells_nothing(wrong: BadKey) {
    // A new gateway for each: after sixty failures it would make callers wait.
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
async fn the_time_to_refuse_a_bad_key_does_not_reveal_a_known_id() {
    for wrong in [
        BadKey::Secret,
        BadKey::Revoked,
        BadKey::Expired,
        BadKey::Disabled,
    ] {
        assert_first_use_tells_nothing(wrong).await;
    }
}
