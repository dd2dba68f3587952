//! Access rules of a tenant with 5,000 projects and 499 keys, each with a rule of its own, on three gateways and a worker in one process.
//!
//! Prints:
//! - how long after a change of the rules the slowest gateway has it in force (target: under 1 s in each round);
//! - the check of access itself, in ns: the functions that each call runs in a gateway and in a worker, in a loop, for a
//!   caller with one of the rules, for one with all of them, and for one of a tenant without rules (target 3 µs);
//! - the CPU of a call, from rounds that alternate with a tenant without rules; the spread of rounds says how much of the
//!   difference is noise;
//! - how much the process grows when each of the keys calls once (target 20 MiB), beside as many keys without rules.
//!
//! Run: `cargo bench -p archway-benches --bench access`. It starts a PostgreSQL, or uses that of
//! `ARCHWAY_TEST_DATABASE_URL`.

use std::{hint::black_box, sync::Arc};

use archway_benches::{Usage, median, number, quantile};
use archway_proto::{
    access::{AccessRule, is_given_anywhere},
    catalog::Scope,
    pass::{Pass, PassAccess},
};
use archway_store::Stores;
use archway_workers::access::{Families, ProjectAccess};
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
/// Checks of one round.
const CHECKS: u32 = 10_000;
/// The tool family that checks are for.
const FAMILIES: Families = &["files"];
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
    let mut rules = Vec::new();
    for label in 0..keys {
        let (who, projects) = rule(label);
        let projects = projects.each_ref().map(String::as_str);
        rules.push(stack.allow("ruled", &who, &projects).await);
    }
    checks(&stack, &rules).await;
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

/// Whom the rule of a key is about, and which projects it gives.
fn rule(label: usize) -> (String, [String; 3]) {
    let projects = [
        "site".to_owned(),
        format!("p-*{}?", label % 10),
        format!("p-{label}"),
    ];
    (format!("key:{label}"), projects)
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

/// The check of access, as a gateway runs it over the rules about a caller, and as a worker does for a pass.
async fn checks(stack: &Stack, ids: &[i64]) {
    let rules: Vec<AccessRule> = ids.iter().enumerate().map(written).collect();
    let access = ProjectAccess::new(Stores::with_options(stack.database().owner(), 2));
    for (what, tenant, count) in [
        ("one rule", "ruled", Some(1)),
        ("all rules", "ruled", Some(ids.len())),
        ("no rules in its tenant", "free", None),
    ] {
        let about = rules.get(..count.unwrap_or(0)).unwrap_or(&rules);
        let pass = pass(stack, tenant, count.and_then(|count| ids.get(..count)));
        let (mut gateway, mut worker) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let started = Instant::now();
            for _ in 0..CHECKS {
                let is_given =
                    count.is_none() || is_given_anywhere(black_box(about).iter(), "files");
                assert!(black_box(is_given));
            }
            gateway.push(started.elapsed().as_secs_f64() * 1e9 / f64::from(CHECKS));
            let started = Instant::now();
            for _ in 0..CHECKS {
                let readable = access.readable(black_box(&pass), FAMILIES).await;
                assert!(readable.expect("an answer").get("site").is_some());
            }
            worker.push(started.elapsed().as_secs_f64() * 1e9 / f64::from(CHECKS));
        }
        println!(
            "the check for a caller with {what}: gateway {:.0} ns, worker {:.0} ns, p90 {:.0} and {:.0} (target 3000 in sum)",
            median(&mut gateway),
            median(&mut worker),
            quantile(&mut gateway, 0.9),
            quantile(&mut worker, 0.9),
        );
    }
}

/// A rule as gateways read it.
fn written((label, id): (usize, &i64)) -> AccessRule {
    let (who, projects) = rule(label);
    let projects = projects.map(|it| it.try_into().expect("a project"));
    AccessRule {
        id: *id,
        who: vec![who.try_into().expect("a principal")],
        projects: projects.into(),
        families: None,
        deny: false,
    }
}

/// The pass of a caller of whom these rules are.
fn pass(stack: &Stack, tenant: &str, rules: Option<&[i64]>) -> Arc<Pass> {
    let access = rules.map(|rules| PassAccess {
        edition: 1,
        rules: rules.to_vec(),
        projects: None,
    });
    Arc::new(Pass {
        tenant_id: stack.tenant_id(tenant),
        tenant: tenant.to_owned(),
        principal: "key:0".to_owned(),
        projects: access.as_ref().map(|_| Vec::new()),
        default_project: None,
        scopes: vec![Scope::ToolsRead],
        families: None,
        access,
        hosted: None,
        pool: "shared".to_owned(),
    })
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
        "CPU a call: {:.1} µs with rules ({:.1} to {:.1}), {:.1} µs without ({:.1} to {:.1}): {:+.1} µs",
        ruled.0,
        ruled.1,
        ruled.2,
        free.0,
        free.1,
        free.2,
        ruled.0 - free.0
    );
}
