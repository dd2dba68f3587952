//! Usage equals the audit trail, whatever is killed while clients call: compared by everything that it is summed by.
//!
//! `ARCHWAY_TEST_USAGE_CALLS` sets the number of calls, 6,000 by default.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use archway::tenants::{KeyRequest, Tenants};
use archway_gateway::secrets::RootSecret;
use rustix::process::Signal;
use secrecy::ExposeSecret;
use serde_json::Value;
use sqlx::{AssertSqlSafe, ConnectOptions, Executor};
use tokio::time::Instant;

use crate::http::Connection;
use crate::role::{LOOK, Role, archway, wait_until};
use crate::scene::{Scene, counted};

/// Calls, if the environment names no number.
const CALLS: u64 = 6_000;
/// How often a gateway is killed.
const KILLS: u64 = 6;
/// After which kill PostgreSQL goes away, and for how long.
const OUTAGE_AFTER: u64 = 2;
const OUTAGE: Duration = Duration::from_secs(1);
/// Records of a batch that is about to be written, and calls that run.
const MOST_WAITING: u64 = 300;
/// Concurrent clients of each key.
const CLIENTS_PER_KEY: usize = 2;
/// A client leaves before its answer once in so many calls.
const LEAVES_EVERY: u64 = 97;

/// Messages that end in different ways: served, denied, refused as unknown, of other methods, of several projects.
const MESSAGES: [&str; 10] = [
    r#""tools/call","params":{"name":"hello","arguments":{}}"#,
    r#""tools/call","params":{"name":"read_file","arguments":{"path":"greeting.txt","project":"site"}}"#,
    r#""tools/call","params":{"name":"read_file","arguments":{"path":"absent.txt","project":"site"}}"#,
    r#""tools/call","params":{"name":"read_file","arguments":{"path":"passwd","project":"site"}}"#,
    r#""tools/call","params":{"name":"grep_codebase","arguments":{"pattern":"needle 7","project":"site"}}"#,
    r#""tools/call","params":{"name":"read_file","arguments":{"path":"other.txt","project":"shop"}}"#,
    r#""tools/call","params":{"name":"read_file","arguments":{"path":"x","project":"never-was"}}"#,
    r#""tools/call","params":{"name":"read_file","arguments":{"paht":"x"}}"#,
    r#""tools/call","params":{"name":"no_such_tool","arguments":{}}"#,
    r#""resources/read","params":{"uri":"repo://site/greeting.txt"}"#,
];

/// By tenant, hour, principal, credential, project, tool, outcome and agent.
type Group = [String; 8];

/// What is summed of a group.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    calls: i64,
    units: i64,
    bytes: i64,
    tokens: i64,
    missing: i64,
    milliseconds: f64,
}

impl Sums {
    /// Whether both are the same; milliseconds but for the order in which fractions were added.
    fn equals(&self, other: &Sums) -> bool {
        let counts = |of: &Sums| [of.calls, of.units, of.bytes, of.tokens, of.missing];
        let off = (self.milliseconds - other.milliseconds).abs();
        counts(self) == counts(other) && off <= 1e-9 * self.milliseconds.abs().max(1.0)
    }
}

/// Clients that call until they have made all calls.
struct Clients {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    gateways: Vec<String>,
    /// Messages sent, whatever became of them.
    sent: AtomicU64,
    answered: AtomicU64,
    stop: AtomicBool,
}

impl Clients {
    fn start(keys: &[String], gateways: &[&Role]) -> Clients {
        let shared = Arc::new(Shared {
            gateways: gateways.iter().map(|it| it.address.clone()).collect(),
            sent: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        });
        let threads = keys
            .iter()
            .flat_map(|key| [key; CLIENTS_PER_KEY])
            .enumerate();
        let threads = threads.map(|(number, key)| {
            let (shared, key) = (Arc::clone(&shared), key.clone());
            std::thread::spawn(move || shared.call(number, &key))
        });
        Clients {
            threads: threads.collect(),
            shared,
        }
    }

    fn wait_for(&self, answers: u64) {
        wait_until(&format!("{answers} answers"), || {
            self.shared.answered.load(Ordering::Relaxed) >= answers
        });
    }

    /// Ends them. Returns how many messages were sent, and how many were answered.
    fn stop(self) -> (u64, u64) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
        let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
        (count(&self.shared.sent), count(&self.shared.answered))
    }
}

impl Shared {
    fn call(&self, number: usize, key: &str) {
        let mut connection = None;
        for turn in 0_u64.. {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let which = (turn as usize + number) % MESSAGES.len();
            let request = request(key, number, turn, MESSAGES[which]);
            let first = self.gateways.iter().cycle().skip(number);
            let mut gateways = first.take(self.gateways.len());
            if turn % LEAVES_EVERY == LEAVES_EVERY - 1 {
                let socket = gateways.find_map(|it| TcpStream::connect(it).ok());
                let sent = socket.map(|mut socket| socket.write_all(request.as_bytes()));
                self.sent
                    .fetch_add(sent.is_some().into(), Ordering::Relaxed);
                continue;
            }
            let new = || gateways.find_map(|it| Connection::open(it).ok());
            let Some(mut open) = connection.take().or_else(new) else {
                std::thread::sleep(LOOK);
                continue;
            };
            self.sent.fetch_add(1, Ordering::Relaxed);
            if open.exchange(&request).is_ok() {
                self.answered.fetch_add(1, Ordering::Relaxed);
                connection = Some(open);
            }
        }
    }
}

/// A message of a client with a program of its own.
fn request(key: &str, number: usize, id: u64, message: &str) -> String {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{message}}}"#);
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nUser-Agent: agent-{number}/1\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

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

/// Ends all connections to the database and admits none for a while.
fn interrupt_postgres(scene: &Scene) {
    let database = scene.stage.database();
    let name = database.get_database().unwrap().to_owned();
    let admit =
        |admits: bool| AssertSqlSafe(format!("alter database {name} allow_connections {admits}"));
    let interrupt = async {
        let mut postgres = database.database("postgres").connect().await.unwrap();
        postgres.execute(admit(false)).await.unwrap();
        let end = format!(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"
        );
        postgres.execute(AssertSqlSafe(end)).await.unwrap();
        tokio::time::sleep(OUTAGE).await;
        postgres.execute(admit(true)).await.unwrap();
    };
    scene.stage.runtime.block_on(interrupt);
}

/// The sums that are kept.
fn kept(scene: &Scene) -> BTreeMap<Group, Sums> {
    let query = "select array[t.slug, (extract(epoch from u.hour)::bigint)::text, u.principal, u.credential, u.project, \
                     u.tool, u.outcome, u.agent], \
                 array[u.calls, u.units, u.bytes_out, u.tokens, u.missing], u.duration_ms \
                 from usage_hours u join tenants t on t.id = u.tenant_id";
    let rows = sqlx::query_as(query).fetch_all(&scene.stage.owner);
    let rows: Vec<(Vec<String>, Vec<i64>, f64)> = scene.stage.runtime.block_on(rows).unwrap();
    let rows = rows.into_iter().map(|(group, counts, milliseconds)| {
        let [calls, units, bytes, tokens, missing] = counts[..] else {
            panic!("{counts:?}");
        };
        let sums = Sums {
            calls,
            units,
            bytes,
            tokens,
            missing,
            milliseconds,
        };
        (group.try_into().unwrap(), sums)
    });
    rows.collect()
}

/// The same sums, of the records.
fn recorded(scene: &Scene) -> BTreeMap<Group, Sums> {
    let query = "select t.slug, extract(epoch from date_trunc('hour', a.at))::bigint::text, a.record \
                 from audit_records a join tenants t on t.id = a.tenant_id";
    let rows = sqlx::query_as(query).fetch_all(&scene.stage.owner);
    let rows: Vec<(String, String, String)> = scene.stage.runtime.block_on(rows).unwrap();
    let mut groups: BTreeMap<Group, Sums> = BTreeMap::new();
    for (tenant, hour, record) in rows {
        let record: Value = serde_json::from_str(&record).unwrap();
        let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        let count = |name: &str| record[name].as_i64().unwrap_or_default();
        let calls = match record["kind"].as_str().unwrap() {
            "call" => 1,
            "refusals" => count("count"),
            "gap" => 0,
            _ => continue,
        };
        let project = Some(text("project")).filter(|it| ["site", "shop"].contains(&it.as_str()));
        let tool = record["tool"]
            .as_str()
            .map_or_else(|| text("method"), str::to_owned);
        let group = [
            tenant,
            hour,
            text("principal"),
            text("credential"),
            project.unwrap_or_default(),
            tool,
            text("outcome"),
            text("agent"),
        ];
        let sums = groups.entry(group).or_default();
        sums.calls += calls;
        sums.units += count("units");
        sums.bytes += count("bytes");
        sums.tokens += (count("bytes") + 3) / 4;
        sums.missing += count("missing");
        sums.milliseconds += record["duration_ms"].as_f64().unwrap_or_default();
    }
    groups
}

fn total(groups: &BTreeMap<Group, Sums>, of: fn(&Sums) -> i64) -> i64 {
    groups.values().map(of).sum()
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

#[test]
fn usage_equals_the_trail_whatever_is_killed_while_clients_call() {
    let calls = std::env::var("ARCHWAY_TEST_USAGE_CALLS");
    let calls = calls.map_or(CALLS, |calls| calls.parse().unwrap());
    let began = Instant::now();
    let scene = Scene::set();
    let keys = keys(&scene);
    let worker = scene.worker("127.0.0.1:0");
    let mut gateways = vec![scene.gateway(&[&worker]), scene.gateway(&[&worker])];
    let clients = Clients::start(&keys, &[&gateways[0], &gateways[1]]);
    for kill in 1..=KILLS {
        clients.wait_for(calls * kill / (KILLS + 1));
        let killed = gateways.remove(0);
        killed.signal(Signal::KILL);
        let address = killed.address.clone();
        killed.end();
        if kill == OUTAGE_AFTER {
            interrupt_postgres(&scene);
        }
        let mut again = scene.stage.gateway(&worker.address);
        again.env("ARCHWAY_LISTEN", address);
        let again = Role::start(again);
        again.becomes(200, "ready");
        gateways.push(again);
        // What waited for PostgreSQL is written before the next kill, so a loss stays a small one.
        wait_until("records are written", || {
            let waiting = |role| counted(role, "archway_gateway_audit_records_waiting");
            gateways.iter().all(|role| waiting(role) < MOST_WAITING)
        });
    }
    clients.wait_for(calls);
    let (sent, answered) = clients.stop();
    let called = began.elapsed();
    for gateway in gateways {
        gateway.signal(Signal::TERM);
        let (code, log) = gateway.end();
        assert_eq!(code, Some(0), "{log}");
    }

    let (kept, recorded) = (kept(&scene), recorded(&scene));
    let groups: Vec<&Group> = recorded.keys().chain(kept.keys()).collect();
    let differ: Vec<_> = groups
        .into_iter()
        .filter(|group| {
            let (kept, recorded) = (kept.get(*group), recorded.get(*group));
            !kept
                .zip(recorded)
                .is_some_and(|(kept, recorded)| kept.equals(recorded))
        })
        .collect();
    assert!(differ.is_empty(), "{differ:#?}");
    let (counted, missing) = (total(&kept, |it| it.calls), total(&kept, |it| it.missing));
    println!(
        "{sent} sent, {answered} answered, {counted} recorded and counted in {} groups, {missing} named as missing, \
         {KILLS} kills, in {:.1} s and {:.1} s in all",
        kept.len(),
        called.as_secs_f64(),
        began.elapsed().as_secs_f64()
    );
    let distinct = |place: usize| {
        let values = recorded.keys().map(|group| &group[place]);
        values.collect::<std::collections::BTreeSet<_>>().len()
    };
    // Tenants, credentials, projects, tools, outcomes, agents.
    for (place, least) in [(0, 2), (3, 4), (4, 3), (5, 4), (6, 4), (7, 8)] {
        assert!(distinct(place) >= least, "{place}: {recorded:#?}");
    }
    // A killed gateway loses what it had not written. At thousands of calls that is a part of all, never most of them.
    let answered = i64::try_from(answered).unwrap();
    assert!(counted + missing >= answered / 4, "{counted} of {answered}");
    let usage = administer(&scene, &["usage", "--by", "tenant", "--json"]);
    let usage: Value = serde_json::from_str(&usage).unwrap();
    assert_eq!(
        (&usage["calls"], &usage["missing"]),
        (&counted.into(), &missing.into())
    );
    let month = "select sum(units)::bigint from usage_months";
    let month = sqlx::query_scalar(month).fetch_one(&scene.stage.owner);
    let month: i64 = scene.stage.runtime.block_on(month).unwrap();
    assert_eq!(month, total(&recorded, |it| it.units));
    administer(&scene, &["audit", "verify"]);
}
