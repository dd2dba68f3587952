//! Access rules of a tenant with 5,000 projects and 499 keys, each with a rule of its own, on three gateways and a worker in one process.
//!
//! Prints:
//! - how long after a change of the rules the slowest gateway has it in force (target: under 1 s in each round);
//! - what the rules add to the CPU of a call, from rounds that alternate with a tenant without rules (target 3 µs; the
//!   spread of rounds says how much of it is noise);
//! - how much the process grows when each of the keys calls once (target 20 MiB), beside as many keys without rules.
//!
//! Run: `cargo bench -p archway-benches --bench access`. It starts a PostgreSQL, or uses that of
//! `ARCHWAY_TEST_DATABASE_URL`.

use archway_benches::{Usage, median, number, quantile};
use e2e::{Client, Harness, Key, Repo, Stack, Tenant};
use futures::future::join_all;
use serde_json::json;
use sqlx::PgPool;
use tokio::time::Instant;

const REPLICAS: usize = 3;
const PROJECTS: i32 = 5_000;
/// A tenant has at most 500 rules, one of which is for the change.
const KEYS: usize = 499;
const ROUNDS: usize = 20;
const CALLS: usize = 500;
/// The tenant with rules, and the one without.
const TENANTS: [&str; 2] = ["ruled", "free"];

#[tokio::main]
async fn main() {
    let keys = number("--keys", KEYS);
    let tenant = |slug: &str| {
        let repo = Repo::new().file("a.txt", "a\n").commit();
        let tenant = Tenant::new(slug).project("site", repo);
        (0..keys).fold(tenant, |it, label| it.key(Key::new(&label.to_string())))
    };
    let harness = Harness::new().replicas(REPLICAS);
    let harness = TENANTS
        .iter()
        .fold(harness, |it, slug| it.tenant(tenant(slug)));
    let stack = harness.start().await;
    stack.until_listening().await;
    add_projects(&stack).await;
    // Each key has another set: a tenth of the projects by their last digit but one, and one of its own.
    for label in 0..keys {
        let projects = [
            "site".to_owned(),
            format!("p-*{}?", label % 10),
            format!("p-{label}"),
        ];
        let projects = projects.each_ref().map(String::as_str);
        stack
            .allow("ruled", &format!("key:{label}"), &projects)
            .await;
    }
    let (before, without) = (resident(), grown(&stack, "free", keys).await);
    let with = grown(&stack, "ruled", keys).await;
    println!(
        "memory: {before:.0} MiB, {without:+.1} MiB by {keys} keys without rules, {with:+.1} MiB by {keys} with (target 20)"
    );
    let mut taken = Vec::new();
    for _ in 0..ROUNDS {
        taken.push(change(&stack).await);
    }
    let longest = quantile(&mut taken, 1.0);
    println!(
        "a change of {keys} rules over {PROJECTS} projects, in force on {REPLICAS} gateways: p50 {:.1} ms, p100 {longest:.1} ms (target < 1000)",
        median(&mut taken)
    );
    costs(&stack).await;
}

async fn add_projects(stack: &Stack) {
    let owner = PgPool::connect_with(stack.database().owner()).await;
    let statement = "insert into projects (tenant_id, slug) \
                     select t.id, 'p-' || n from tenants t, generate_series(1, $1) n";
    let added = sqlx::query(statement).bind(PROJECTS);
    added
        .execute(&owner.expect("the database"))
        .await
        .expect("projects");
}

fn resident() -> f64 {
    Usage::of(std::process::id()).anonymous_mib
}

/// MiB by which the process grows when each key calls once.
async fn grown(stack: &Stack, tenant: &str, keys: usize) -> f64 {
    let before = resident();
    for label in 0..keys {
        let client = stack.keyed(tenant, &label.to_string());
        let arguments = json!({ "project": "site" });
        client.call("list_files", arguments).await.structured();
    }
    resident() - before
}

/// Milliseconds from the beginning of a change until every gateway has it in force.
async fn change(stack: &Stack) -> f64 {
    let clients: Vec<Client> = (0..REPLICAS).map(|at| stack.at(at, "ruled", "0")).collect();
    let started = Instant::now();
    let rule = stack.deny("ruled", "key:0", &["site"]).await;
    join_all(clients.iter().map(|client| until(client, true))).await;
    let taken = started.elapsed().as_secs_f64() * 1e3;
    stack.remove_rule("ruled", rule).await;
    join_all(clients.iter().map(|client| until(client, false))).await;
    taken
}

async fn until(client: &Client, is_hidden: bool) {
    loop {
        let reply = client
            .call("list_files", json!({ "project": "site" }))
            .await;
        if reply.is_error() == is_hidden {
            return;
        }
    }
}

/// The CPU of calls with and without rules, in turn.
async fn costs(stack: &Stack) {
    let mut micros = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (tenant, micros) in TENANTS.iter().zip(&mut micros) {
            let client = stack.keyed(tenant, "0");
            let before = Usage::of(std::process::id()).cpu_seconds;
            for _ in 0..CALLS {
                let arguments = json!({ "project": "site" });
                client.call("list_files", arguments).await.structured();
            }
            let spent = Usage::of(std::process::id()).cpu_seconds - before;
            micros.push(spent / CALLS as f64 * 1e6);
        }
    }
    let [ruled, free] = micros.map(|mut it| {
        let spread = (quantile(&mut it, 0.1), quantile(&mut it, 0.9));
        (median(&mut it), spread.0, spread.1)
    });
    println!(
        "CPU a call: {:.1} µs with rules ({:.1} to {:.1}), {:.1} µs without ({:.1} to {:.1}): {:+.1} µs (target 3)",
        ruled.0,
        ruled.1,
        ruled.2,
        free.0,
        free.1,
        free.2,
        ruled.0 - free.0
    );
}
