//! Random interleaved calls of two tenants, and of keys from which access rules hide a project: no word planted where a
//! caller may not look reaches it, the log, `/metrics` or `/status`.
//!
//! The calls run in a process of their own, so that its log, at debug level and in the operators' format,
//! contains nothing else. `ARCHWAY_TEST_CALLS` sets the number of calls, and `ARCHWAY_TEST_SEED` repeats
//! a run, which prints its seed.

mod requests;
pub(super) mod planted;
mod tour;
mod values;
mod witness;

use std::{collections::BTreeMap, env, fs, net::SocketAddr, process::Stdio, time::Duration};

use archway::logging::{LogArgs, LogFormat};
use e2e::{
    Harness, Stack,
    http::{Request, Response},
};
use futures::future::join_all;
use rand::{Rng, SeedableRng, rngs::StdRng};

use super::access::until_sees;
use crate::number_from;
use planted::{Kind, NARROW, Planted};
use requests::Requester;
use tokio::{
    process::Command,
    time::{Instant, timeout},
};
use witness::Witness;

const NAME: &str =
    "isolation::interleaved::no_planted_word_reaches_another_caller_a_log_or_a_metric";
/// Set in the process that makes the calls.
const INSIDE: &str = "ARCHWAY_TEST_INTERLEAVED";
const CALLS: u32 = 400;
/// The number of concurrent calls.
const TOGETHER: u32 = 4;
/// Per call, with some more for the start.
const PATIENCE: Duration = Duration::from_millis(500);
const START: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread")]
async fn no_planted_word_reaches_another_caller_a_log_or_a_metric() {
    if env::var_os(INSIDE).is_some() {
        return inside().await;
    }
    let folder = tempfile::tempdir().unwrap();
    let (said, log) = (folder.path().join("said"), folder.path().join("log"));
    let mut process = Command::new(env::current_exe().unwrap());
    process
        .args(["--exact", NAME, "--nocapture"])
        .env(INSIDE, "1")
        // The message of a panic is enough, and is not cut from a long report.
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(fs::File::create(&said).unwrap())
        .stderr(fs::File::create(&log).unwrap())
        .kill_on_drop(true);
    let patience = START + PATIENCE * number_from("ARCHWAY_TEST_CALLS", CALLS);
    let status = timeout(patience, process.status()).await;
    let text = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let (said, log) = (text(&said), text(&log));
    println!("{said}");
    let is_good = status.is_ok_and(|status| status.unwrap().success());
    // A panic's message is the only text there that is not JSON.
    let panics: Vec<&str> = log.lines().filter(|line| !line.starts_with('{')).collect();
    assert!(is_good, "within {patience:?}: {panics:#?}");
    judge_log(&said, &log);
}

/// The process's output is its log, and contains no word but names.
fn judge_log(said: &str, log: &str) {
    let debug = log
        .lines()
        .filter(|line| line.contains(r#""level":"DEBUG""#));
    assert!(
        debug.count() > 100,
        "the log exists, at debug level: {} bytes",
        log.len()
    );
    let words = said
        .lines()
        .filter_map(|line| line.strip_prefix("planted: "));
    let words: Vec<(&str, &str)> = words.filter_map(|line| line.rsplit_once(' ')).collect();
    assert!(words.len() > 40, "{said}");
    let named = said
        .lines()
        .filter_map(|line| line.strip_prefix("named: tenant id "));
    for id in named {
        assert!(log.contains(id), "calls of either tenant are logged");
    }
    let mut found = BTreeMap::new();
    for line in log.lines() {
        for (place, _) in words.iter().filter(|(_, word)| line.contains(word)) {
            found.entry(*place).or_insert(line);
        }
    }
    assert!(
        found.is_empty(),
        "words in the log, each with a line: {found:#?}"
    );
}

/// Makes the calls and judges their answers.
async fn inside() {
    let debug = LogArgs {
        log: Some("debug".to_owned()),
        log_format: LogFormat::Json,
    };
    archway::logging::start(&debug, "", false);
    let seed = number_from("ARCHWAY_TEST_SEED", rand::rng().random());
    let calls = number_from("ARCHWAY_TEST_CALLS", CALLS);
    println!("\nARCHWAY_TEST_SEED={seed} ARCHWAY_TEST_CALLS={calls}");
    let mut random = StdRng::seed_from_u64(seed);
    let harness = Harness::new().replicas(2).workers(2).indexing();
    let (stack, mut planted) = planted::two(&mut random, harness).await;
    for tenant in &mut planted {
        planted::more_words(&stack, tenant);
    }
    let mut parties = Vec::new();
    for (own, other) in [(0, 1), (1, 0)] {
        let (own, other) = (&planted[own], &planted[other]);
        tour::tour(&stack, own, other).await;
        let asker = Requester::new(&stack, "", (own, other)).await;
        parties.push((asker, Witness::new(own, other)));
        narrow(&stack, own).await;
        let asker = Requester::new(&stack, NARROW, (own, other)).await;
        let (seen, hidden) = own.narrowed(other);
        parties.push((asker, Witness::new(&seen, &hidden)));
    }
    let began = Instant::now();
    let mut answered = BTreeMap::new();
    for _ in 0..calls.div_ceil(TOGETHER) {
        round(&mut parties, &mut random, &mut answered).await;
    }
    println!("{answered:?} in {:?}", began.elapsed());
    assert!(
        answered
            .get("result")
            .is_some_and(|count| *count > calls / 8),
        "{answered:?}"
    );
    ports(&stack, &planted).await;
    for word in planted.iter().flat_map(|tenant| &tenant.words) {
        let kind = if word.kind == Kind::Name {
            "named"
        } else {
            "planted"
        };
        println!("{kind}: {} {}", word.place, word.text);
    }
}

/// Hides the second project of a tenant from the key `narrow`.
async fn narrow(stack: &Stack, of: &Planted) {
    stack.allow(of.tenant, "everyone", &["*"]).await;
    let denied = format!("key:{NARROW}");
    stack.deny(of.tenant, &denied, &[of.at("slug")]).await;
    for gateway in 0..stack.gateways().len() {
        let client = stack.at(gateway, of.tenant, NARROW);
        until_sees(stack, &client, &["site"]).await;
    }
}

/// Some concurrent calls, of any party.
async fn round(
    parties: &mut [(Requester, Witness)],
    random: &mut StdRng,
    answered: &mut BTreeMap<&'static str, u32>,
) {
    let mut asked = Vec::new();
    for _ in 0..TOGETHER {
        let who = random.random_range(0..parties.len());
        let (asker, witness) = &mut parties[who];
        let (request, to) = asker.next(random);
        witness.says(&request.bytes(to));
        asked.push((who, request, to));
    }
    let answers = asked.iter().map(|(_, request, to)| request.send(*to));
    let answers: Vec<Response> = join_all(answers).await;
    for ((who, request, to), answer) in asked.iter().zip(answers) {
        let (_, witness) = &parties[*who];
        let asked = || String::from_utf8_lossy(&request.bytes(*to)).into_owned();
        let leaks = witness.judge(&answer);
        assert!(
            leaks.is_empty(),
            "{leaks:#?}\n{}\n→ {}",
            asked(),
            answer.text()
        );
        let text = answer.text();
        // A busy machine may report that something is unavailable. An id may end in `-32603…`.
        let broken = answer.status >= 500 && answer.status != 503;
        let bug = broken || text.contains("internal_error") || text.contains(r#""code":-32603"#);
        assert!(!bug, "{} {}\n→ {text}", answer.status, asked());
        let outcome = match answer.status {
            200 if text.contains("\"error\"") => "refusal",
            200 => "result",
            _ => "other status",
        };
        *answered.entry(outcome).or_default() += 1;
        // Each learns the other's cursors and handles too, since they could be passed on.
        for (asker, _) in parties.iter_mut() {
            asker.learn(&answer);
        }
    }
}

/// The admin ports show no word but names of tenants.
async fn ports(stack: &Stack, planted: &[Planted]) {
    let gateways = stack.admins().into_iter();
    let gateways =
        gateways.flat_map(|admin| [(admin, "/metrics"), (admin, "/status"), (admin, "/readyz")]);
    let workers = stack
        .worker_admins()
        .into_iter()
        .map(|admin| (admin, "/metrics"));
    let asked: Vec<(SocketAddr, &str)> = gateways.chain(workers).collect();
    assert_eq!(asked.len(), 8);
    for (admin, path) in asked {
        let answer = Request::new("GET", path).send(admin).await;
        assert_eq!(answer.status, 200, "{path}");
        let text = answer.text();
        let words = planted.iter().flat_map(|tenant| &tenant.words);
        let seen = words.filter(|word| word.kind != Kind::Name && text.contains(&word.text));
        let seen: Vec<_> = seen.collect();
        assert!(seen.is_empty(), "{path}: {seen:?}");
    }
}
