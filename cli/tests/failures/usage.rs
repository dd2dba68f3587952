//! Usage equals the audit trail, whatever is killed while clients call: compared by everything that it is summed by.
//!
//! `ARCHWAY_TEST_USAGE_CALLS` sets the number of calls, 6,000 by default.

mod clients;
mod sums;

use std::collections::{BTreeMap, BTreeSet};

use archway::tenants::{KeyRequest, Tenants};
use archway_gateway::secrets::RootSecret;
use rustix::process::Signal;
use secrecy::ExposeSecret;
use serde_json::Value;
use sqlx::{AssertSqlSafe, ConnectOptions, Executor};
use tokio::time::Instant;

use crate::role::{Role, archway, wait_until};
use crate::scene::{Scene, counted};
use clients::Clients;
use sums::{Group, Sums, kept, recorded, total};

/// Calls, if the environment names no number.
const CALLS: u64 = 6_000;
/// How often a gateway is killed.
const KILLS: u64 = 6;
/// Before which kill PostgreSQL goes away.
const OUTAGE_BEFORE: u64 = 3;
/// Records of a batch that is about to be written, and calls that run.
const MOST_WAITING: u64 = 300;
/// Keys of two tenants, each with two projects.
fn keys(scene: &Scene) -> Vec<String> {
    let line = std::fs::read_to_string(scene.stage.path("secret")).unwrap();
    let secret = RootSecret::parse(line.trim()).unwrap();
    let tenants = Tenants::new(scene.stage.owner.clone());
    let site = scene.stage.path("repos/acme/site");
    for project in ["acme/shop", "zeta/site", "zeta/shop"] {
        let folder = scene.stage.path("repos").join(project);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy(site.join("greeting.txt"), folder.join("greeting.txt")).unwrap();
        std::fs::write(folder.join("other.txt"), "an answer of another size\n").unwrap();
    }
    let keys = async {
        let acme = tenants
            .change(async |tx| tx.find_tenant("acme").await)
            .await
            .unwrap();
        let zeta = tenants.create_tenant("zeta").await.unwrap();
        let mut keys = Vec::new();
        for (tenant, projects) in [(acme, &["shop"][..]), (zeta, &["site", "shop"])] {
            for project in projects {
                tenants.add_project(tenant, project, None).await.unwrap();
            }
            for label in ["one", "two"] {
                let request = KeyRequest {
                    label: label.to_owned(),
                    ..KeyRequest::default()
                };
                let issued = tenants.issue_key(tenant, &secret, request).await.unwrap();
                keys.push(issued.api_key.expose_secret().to_owned());
            }
        }
        keys
    };
    let keys = scene.stage.runtime.block_on(keys);
    scene.lift_limits();
    keys
}

/// Ends all connections to the database and admits none until this gateway has failed to write records.
fn interrupt_postgres(scene: &Scene, gateway: &Role) {
    let database = scene.stage.database();
    let name = database.get_database().unwrap().to_owned();
    let run = |statement: String| {
        scene.stage.runtime.block_on(async {
            let postgres = database.clone().database("postgres");
            let mut postgres = postgres.connect().await.unwrap();
            let statement = AssertSqlSafe(statement);
            postgres.execute(statement).await.unwrap();
        });
    };
    let failures = || counted(gateway, "archway_gateway_audit_write_failures_total");
    let before = failures();
    run(format!("alter database {name} allow_connections false"));
    run(format!(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"
    ));
    wait_until("a write fails", || failures() > before);
    run(format!("alter database {name} allow_connections true"));
    // What waited is written, so that the next kill loses none of it.
    let waiting = || counted(gateway, "archway_gateway_audit_records_waiting");
    wait_until("records are written", || waiting() < MOST_WAITING);
}

/// Runs a command as the owner.
fn administer(scene: &Scene, line: &[&str]) -> String {
    let url = scene.stage.database().to_url_lossy().to_string();
    let mut command = archway(line);
    command
        .env("ARCHWAY_MIGRATE_DATABASE_URL", url)
        .env("ARCHWAY_SECRET_FILE", scene.stage.path("secret"));
    let done = command.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// Has clients make so many calls while gateways are killed. Returns how many were answered.
fn call_and_kill(scene: &Scene, calls: u64) -> u64 {
    let keys = keys(scene);
    let worker = scene.worker("127.0.0.1:0");
    let mut gateways = vec![scene.gateway(&[&worker]), scene.gateway(&[&worker])];
    let clients = Clients::start(&keys, &[&gateways[0], &gateways[1]]);
    for kill in 1..=KILLS {
        clients.wait_for(calls * kill / (KILLS + 1));
        if kill == OUTAGE_BEFORE {
            // The gateway that has calls: the other one was just restarted and could confirm no key meanwhile.
            interrupt_postgres(scene, &gateways[0]);
        }
        let killed = gateways.remove(0);
        killed.signal(Signal::KILL);
        let address = killed.address.clone();
        killed.end();
        let mut again = scene.stage.gateway(&worker.address);
        again.env("ARCHWAY_LISTEN", address);
        let again = Role::start(again);
        again.becomes(200, "ready");
        gateways.push(again);
    }
    clients.wait_for(calls);
    let answered = clients.stop();
    for gateway in gateways {
        gateway.signal(Signal::TERM);
        let (code, log) = gateway.end();
        assert_eq!(code, Some(0), "{log}");
    }
    answered
}

/// Asserts that calls of every kind were recorded.
fn assert_varied(recorded: &BTreeMap<Group, Sums>) {
    let distinct = |place: usize| {
        let values = recorded.keys().map(|group| &group[place]);
        values.collect::<BTreeSet<_>>().len()
    };
    // Tenants, credentials, projects, tools, outcomes, agents.
    for (place, least) in [(0, 2), (3, 4), (4, 3), (5, 4), (6, 4), (7, 8)] {
        assert!(distinct(place) >= least, "{place}: {recorded:#?}");
    }
}

/// Asserts that commands and quotas are told the same sums.
fn assert_told(scene: &Scene, recorded: &BTreeMap<Group, Sums>) {
    let usage = administer(scene, &["usage", "--by", "tenant", "--json"]);
    let usage: Value = serde_json::from_str(&usage).unwrap();
    assert_eq!(usage["calls"], total(recorded, |it| it.calls));
    assert_eq!(usage["missing"], total(recorded, |it| it.missing));
    let month = "select sum(units)::bigint from usage_months";
    let month = sqlx::query_scalar(month).fetch_one(&scene.stage.owner);
    let month: i64 = scene.stage.runtime.block_on(month).unwrap();
    assert_eq!(month, total(recorded, |it| it.units));
}

#[test]
fn usage_equals_the_trail_whatever_is_killed_while_clients_call() {
    let calls = std::env::var_os("ARCHWAY_TEST_USAGE_CALLS");
    let calls = calls.map_or(CALLS, |calls| calls.to_str().unwrap().parse().unwrap());
    let began = Instant::now();
    let scene = Scene::set();
    let answered = call_and_kill(&scene, calls);
    let (kept, recorded) = (kept(&scene), recorded(&scene));
    let mut groups: Vec<&Group> = recorded.keys().chain(kept.keys()).collect();
    groups.retain(|group| {
        let both = kept.get(*group).zip(recorded.get(*group));
        !both.is_some_and(|(kept, recorded)| kept.equals(recorded))
    });
    assert!(groups.is_empty(), "these differ: {groups:#?}");
    let (counted, missing) = (total(&kept, |it| it.calls), total(&kept, |it| it.missing));
    println!(
        "{answered} answered, {counted} recorded and counted in {} groups, {missing} named as missing, {KILLS} kills, \
         {:.1} s",
        kept.len(),
        began.elapsed().as_secs_f64()
    );
    // A killed gateway loses what it had not written: what waited, and what was called since.
    let answered = i64::try_from(answered).unwrap();
    let lost = i64::try_from(KILLS * 2 * MOST_WAITING).unwrap();
    assert!(
        counted + missing + lost >= answered,
        "{counted} of {answered}"
    );
    assert_varied(&recorded);
    assert_told(&scene, &recorded);
    administer(&scene, &["audit", "verify"]);
}
