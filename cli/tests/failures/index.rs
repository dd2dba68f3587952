//! A worker is killed while it indexes. Another continues from what is stored, and until all of it is
//! there, no search uses the incomplete index.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use sqlx::ConnectOptions;
use tokio::time::Instant;

use crate::embedding_service::{EmbeddingService, MARK};
use crate::http::{Connection, message, tool_call};
use crate::role::{LOOK, Role, archway, wait_until};
use crate::scene::Scene;

/// A batch of the indexer, which is one request to the service.
const BATCH: usize = 64;
/// The number of files at first: several batches.
const FILES: usize = 3 * BATCH;
/// When another worker must have completed the index: half a minute on an idle machine, and more here,
/// where other tests run.
const TAKEN_OVER: Duration = Duration::from_secs(90);

/// A project that is indexed with a service's vectors.
struct Indexed {
    scene: Scene,
    embedding_service: EmbeddingService,
}

/// The result of a search: the failure, or the matches.
type SearchOutcome = Result<Value, Value>;

impl Indexed {
    /// A repository, and a service that answers this many index requests.
    fn set(answers: usize) -> Indexed {
        let scene = Scene::set();
        let site = scene.stage.path("repos/acme/site");
        std::fs::remove_dir_all(site.join("src")).unwrap();
        git(&site, &["init", "-q"]);
        let indexed = Indexed {
            scene,
            embedding_service: EmbeddingService::start(answers),
        };
        indexed.commit("first", FILES);
        indexed
    }

    /// Commits this many files in a folder. Returns the commit id.
    fn commit(&self, folder: &str, files: usize) -> String {
        let site = self.scene.stage.path("repos/acme/site");
        std::fs::create_dir_all(site.join(folder)).unwrap();
        for number in 0..files {
            let file = site.join(format!("{folder}/{number}.txt"));
            std::fs::write(file, format!("{MARK} {folder} {number}\n")).unwrap();
        }
        git(&site, &["add", "-A"]);
        git(&site, &["commit", "-qm", folder]);
        git(&site, &["rev-parse", "HEAD"])
    }

    fn worker(&self) -> Role {
        let mut command = self.scene.stage.worker("127.0.0.1:0");
        command
            .env("ARCHWAY_EMBEDDER_URL", &self.embedding_service.url)
            .env("ARCHWAY_EMBEDDER_MODEL", "double")
            .env("ARCHWAY_EMBEDDER_DIMENSIONS", "2");
        Role::start(command)
    }

    /// How many texts of the marked files are stored.
    fn at_home(&self) -> usize {
        let count = sqlx::query_scalar("select count(*) from index_texts where chunks > 0");
        let stage = &self.scene.stage;
        let count: i64 = stage
            .runtime
            .block_on(count.fetch_one(&stage.owner))
            .unwrap();
        usize::try_from(count).unwrap()
    }

    /// Waits until a worker waits for the service in the middle of a run.
    fn stops_half_way(&self, at_home: usize) {
        wait_until("a batch is at home, and the next is not", || {
            self.embedding_service.stands_still() && self.at_home() >= at_home
        });
    }

    /// Repeats a search until its answer is `wanted`, which earlier answers must not be. Returns how
    /// long that took.
    fn until(
        &self,
        gateway: &Role,
        is_whole: impl Fn(&SearchOutcome) -> bool,
        check: impl Fn(&SearchOutcome),
    ) -> (Value, Duration) {
        let began = Instant::now();
        let search = tool_call(1, "context_search", r#"{"query":"greeting","limit":20}"#);
        loop {
            let mut connection = Connection::open(&gateway.address).unwrap();
            let answer = connection.exchange(&message(&self.scene.stage.key, &search));
            let answer = read(&answer.unwrap().body);
            if is_whole(&answer) {
                return (answer.unwrap(), began.elapsed());
            }
            check(&answer);
            assert!(began.elapsed() < TAKEN_OVER, "it is still {answer:?}");
            std::thread::sleep(LOOK);
        }
    }
}

/// Parses an answer's result.
fn read(body: &str) -> SearchOutcome {
    let answer: Value = serde_json::from_str(body).unwrap();
    let result = &answer["result"];
    if result["isError"] == true {
        return Err(result["_meta"]["io.archway/error"]["error"].clone());
    }
    Ok(result["structuredContent"].clone())
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(folder)
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let done = git.output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

#[test]
fn another_worker_completes_a_killed_workers_index_within_30_seconds() {
    let site = Indexed::set(1);
    let one = site.worker();
    site.stops_half_way(BATCH);
    let two = site.worker();
    let gateway = site.scene.gateway(&[&two]);
    one.signal(Signal::KILL);
    one.end();
    site.embedding_service.answer(usize::MAX);
    let (found, took) = site.until(&gateway, Result::is_ok, |refused| {
        let refused = refused.as_ref().unwrap_err();
        assert_eq!(refused["code"], "index_not_ready", "{refused}");
        let details = &refused["details"];
        let half = details["indexed"].as_u64() <= details["total"].as_u64();
        assert!(half, "{refused}");
    });
    assert!(took < TAKEN_OVER, "{took:?}");
    assert_eq!(found["index"]["behind"], 0, "{found}");
    assert!(found["totalFound"].as_u64() >= Some(100), "{found}");
    assert_eq!(site.at_home(), FILES + 1, "and the greeting");
    let asked = site.embedding_service.asked();
    let (first, later) = asked.split_first().unwrap();
    let twice = later.iter().flatten().find(|text| first.contains(text));
    assert_eq!(twice, None, "what is at home is not made again");
}

#[test]
fn during_a_takeover_the_last_complete_index_answers() {
    let site = Indexed::set(usize::MAX);
    let one = site.worker();
    let gateway = site.scene.gateway(&[&one]);
    let (found, _) = site.until(&gateway, Result::is_ok, |_| ());
    let first = found["index"]["commit"].clone();
    site.embedding_service.answer(1);
    let second = site.commit("second", 2 * BATCH);
    site.stops_half_way(FILES + BATCH);
    let two = site.worker();
    let gateway = site.scene.gateway(&[&two]);
    one.signal(Signal::KILL);
    one.end();
    site.embedding_service.answer(usize::MAX);
    let is_of = |commit: Value| {
        move |answer: &SearchOutcome| answer.as_ref().unwrap()["index"]["commit"] == commit
    };
    let (found, took) = site.until(&gateway, is_of(json!(second)), |before| {
        assert!(is_of(first.clone())(before), "{before:?}");
        let before = before.as_ref().unwrap();
        assert_eq!(before["index"]["behind"], 1, "{before}");
        let results = before["results"].as_array().unwrap();
        let early = results.iter().find(|result| {
            let path = result["path"].as_str().unwrap();
            path.starts_with("second/")
        });
        assert_eq!(early, None, "nothing of what is half made");
    });
    assert!(took < TAKEN_OVER, "{took:?}");
    assert_eq!(found["index"]["behind"], 0);
    assert_eq!(site.at_home(), FILES + 2 * BATCH + 1);
}

#[test]
fn waiting_for_an_index_uses_one_connection_and_ends_when_complete() {
    let site = Indexed::set(0);
    let _worker = site.worker();
    site.stops_half_way(0);
    let stage = &site.scene.stage;
    let mut run = archway(&["index", "run", "acme", "--project", "site", "--json"]);
    run.env(
        "ARCHWAY_MIGRATE_DATABASE_URL",
        stage.database().to_url_lossy().as_str(),
    )
    .stdout(Stdio::piped())
    .stderr(Stdio::piped());
    let run = run.spawn().unwrap();
    // It polls four times a second.
    let lasts = "select count(*) from pg_stat_activity where application_name = 'archway-admin' \
                 and datname = current_database() and now() - backend_start > interval '1 second'";
    wait_until("a connection outlasts several looks", || {
        let count = sqlx::query_scalar(lasts).fetch_one(&stage.owner);
        let count: i64 = stage.runtime.block_on(count).unwrap();
        count == 1
    });
    site.embedding_service.answer(usize::MAX);
    let told = run.wait_with_output().unwrap();
    assert!(told.status.success(), "{told:?}");
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let state = &told["indexes"][0];
    let all = FILES + 1;
    assert_eq!(state["state"], "whole", "{state}");
    assert_eq!(
        (&state["done"], &state["total"]),
        (&json!(all), &json!(all))
    );
}
