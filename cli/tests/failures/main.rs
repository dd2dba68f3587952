//! Parts of Archway are killed, frozen, drained and replaced while clients call. Each part is a separate
//! process with a real database and files. No client may lose a call that another worker could answer; if
//! no worker can, the client is told when to retry.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test"
)]

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use impostor::{Impostor, Manner};
use load::CLIENTS;
use relay::Relay;
use role::{Role, wait_until};
use scene::{Scene, counted, served};

#[path = "../processes/stage.rs"]
mod stage;

#[path = "../processes/role.rs"]
mod role;

#[path = "../processes/http.rs"]
mod http;

mod impostor;
mod index;
mod load;
mod memory;
mod relay;
mod scene;
mod unread;
mod usage;
mod embedding_service;

/// How many successful calls show that everything works.
const ENOUGH: u64 = 200;
/// The longest call, whatever happens to its worker: half of the default deadline, after which a gateway
/// notices a frozen worker, and what a busy machine adds, still below the deadline.
const BEARABLE: Duration = Duration::from_millis(9_500);
/// When calls must succeed again after workers are back: a circuit tries after 5 s.
const BACK_AGAIN: Duration = Duration::from_secs(12);

#[test]
fn a_worker_that_is_killed_under_load_costs_no_call() {
    let scene = Scene::set();
    let (one, two) = scene.workers();
    let gateway = scene.gateway(&[&one, &two]);
    let load = scene.load(&[&gateway]);
    load.passes(ENOUGH);
    wait_until("both workers serve", || {
        served(&one) > 0 && served(&two) > 0
    });
    one.signal(Signal::KILL);
    load.passes(3 * ENOUGH);
    load.stop().assert_lossless();
    let retried = counted(&gateway, "archway_gateway_upstream_retries_total");
    assert!(retried <= CLIENTS as u64, "{retried} tried again");
}

#[test]
fn without_workers_calls_get_a_retry_time_and_tools_stay_listed() {
    let scene = Scene::set();
    let (one, two) = scene.workers();
    let gateway = scene.gateway(&[&one, &two]);
    let listed = scene.tools(&gateway);
    let load = scene.load(&[&gateway]);
    load.passes(ENOUGH);
    let addresses = [one.address.clone(), two.address.clone()];
    one.signal(Signal::KILL);
    one.end();
    // A call that loses both workers would be taken for one that kills workers, so each is answered in between.
    load.passes(ENOUGH);
    assert_eq!(scene.tools(&gateway), listed);
    load.begin_again();
    two.signal(Signal::KILL);
    two.end();
    wait_until("the circuits open", || {
        load.so_far().told.contains_key("circuit_open")
    });
    assert_eq!(scene.tools(&gateway), listed);
    let gone = load.begin_again();
    assert!(gone.broken.is_empty(), "{gone:?}");

    let _back = addresses.map(|address| scene.worker(&address));
    let back = Instant::now();
    load.passes(ENOUGH);
    let took = back.elapsed();
    assert!(took < BACK_AGAIN, "calls passed after {took:?}");
    wait_until("every family passes", || {
        load.begin_again();
        load.passes(ENOUGH);
        load.so_far().failed() == 0
    });
    assert_eq!(scene.tools(&gateway), listed);
    let tally = load.stop();
    assert!(tally.broken.is_empty(), "{tally:?}");
    for code in gone.told.keys() {
        let known = ["unavailable", "circuit_open"].contains(&code.as_str());
        assert!(known, "{gone:?}");
    }
    assert!(gone.slowest < BEARABLE, "{gone:?}");
}

#[test]
fn a_gateway_started_without_workers_lists_the_known_tools() {
    let scene = Scene::set();
    let worker = scene.worker("127.0.0.1:0");
    let address = worker.address.clone();
    let first = scene.gateway(&[&worker]);
    let listed = scene.tools(&first);
    worker.signal(Signal::KILL);
    worker.end();
    let second = Role::start(scene.stage.gateway(&address));
    wait_until("the same tools", || {
        scene.tools(&first) == listed && scene.tools(&second) == listed
    });
}

#[test]
fn a_worker_frozen_under_load_loses_no_call_and_serves_again_later() {
    let scene = Scene::set();
    let (one, two) = scene.workers();
    let gateway = scene.gateway(&[&one, &two]);
    let load = scene.load(&[&gateway]);
    load.passes(ENOUGH);
    wait_until("both workers serve", || {
        served(&one) > 0 && served(&two) > 0
    });
    one.signal(Signal::STOP);
    load.passes(3 * ENOUGH);
    one.signal(Signal::CONT);
    let before = served(&one);
    wait_until("it serves again", || served(&one) > before + CLIENTS as u64);
    let tally = load.stop();
    tally.assert_lossless();
    assert!(tally.slowest < BEARABLE, "{tally:?}");
}

#[test]
fn calls_succeed_again_after_all_workers_froze_past_a_deadline() {
    let scene = Scene::set();
    let (one, two) = scene.workers();
    let gateway = scene.gateway(&[&one, &two]);
    let load = scene.load(&[&gateway]);
    load.passes(ENOUGH);
    for worker in [&one, &two] {
        worker.signal(Signal::STOP);
    }
    // All calls in flight have lost both workers by then.
    wait_until("calls are given up", || {
        load.so_far().failed() >= CLIENTS as u64
    });
    for worker in [&one, &two] {
        worker.signal(Signal::CONT);
    }
    wait_until("every call passes", || {
        load.begin_again();
        load.passes(ENOUGH);
        load.so_far().failed() == 0
    });
    let tally = load.stop();
    assert!(tally.broken.is_empty(), "{tally:?}");
}

#[test]
fn a_frozen_worker_is_left_out_and_another_answers_its_calls() {
    let scene = Scene::set();
    let (one, two) = scene.workers();
    let gateway = scene.gateway(&[&one, &two]);
    let load = scene.load(&[&gateway]);
    load.passes(ENOUGH);
    one.signal(Signal::STOP);
    // The other worker answers all calls of the frozen one, which gets no more calls.
    wait_until("it is found out", || {
        load.begin_again();
        load.passes(ENOUGH);
        let tally = load.so_far();
        tally.assert_lossless();
        tally.slowest < Duration::from_secs(1) && load.longest_wait() < Duration::from_secs(1)
    });
    load.stop().assert_lossless();
}

#[test]
fn calls_fail_fast_while_a_worker_is_slow_and_succeed_afterwards() {
    let scene = Scene::set();
    let worker = scene.worker("127.0.0.1:0");
    let relay = Relay::start(&worker.address);
    let mut command = scene.stage.gateway(&relay.address);
    command.args(["--call-deadline", "2"]);
    let gateway = Role::start(command);
    gateway.becomes(200, "ready");
    let listed = scene.tools(&gateway);
    // More than half of the deadline, but less than all of it.
    relay.delay(Duration::from_millis(1_200));
    let load = scene.load(&[&gateway]);
    wait_until("the circuits open", || {
        load.so_far().told.contains_key("circuit_open")
    });
    assert_eq!(scene.tools(&gateway), listed);

    relay.delay(Duration::ZERO);
    wait_until("every family passes", || {
        load.begin_again();
        load.passes(ENOUGH);
        load.so_far().failed() == 0
    });
    let tally = load.stop();
    assert!(tally.broken.is_empty(), "{tally:?}");
    let opened = counted(&gateway, "archway_gateway_circuit_openings_total");
    assert!(opened > 0, "the metrics tell of it");
}

#[test]
fn workers_that_are_replaced_one_after_the_other_under_load_lose_no_call() {
    let scene = Scene::set();
    let (one, two) = scene.workers();
    let gateway = scene.gateway(&[&one, &two]);
    let load = scene.load(&[&gateway]);
    let mut replaced = Vec::new();
    for worker in [one, two] {
        load.passes(ENOUGH);
        wait_until("it serves", || served(&worker) > 0);
        let address = worker.address.clone();
        worker.signal(Signal::TERM);
        let (code, log) = worker.end();
        assert_eq!(code, Some(0), "{log}");
        let new = scene.worker(&address);
        wait_until("the new one serves", || served(&new) > 0);
        replaced.push(new);
    }
    load.passes(ENOUGH);
    load.stop().assert_lossless();
}

#[test]
fn a_gateway_stopped_under_load_loses_no_call_if_clients_know_another() {
    let scene = Scene::set();
    let (one, two) = scene.workers();
    let first = scene.gateway(&[&one, &two]);
    let second = scene.gateway(&[&one, &two]);
    let load = scene.load(&[&first, &second]);
    load.passes(ENOUGH);
    first.signal(Signal::TERM);
    let (code, log) = first.end();
    assert_eq!(code, Some(0), "{log}");
    load.passes(ENOUGH);
    load.stop().assert_lossless();
}

#[test]
fn listeners_that_are_no_workers_cost_no_call() {
    let scene = Scene::set();
    let worker = scene.worker("127.0.0.1:0");
    let impostors = Manner::ALL.map(Impostor::start);
    let mut workers: Vec<&str> = impostors.iter().map(Impostor::address).collect();
    workers.insert(1, &worker.address);
    let gateway = scene.gateway_for(&workers);
    let load = scene.load(&[&gateway]);
    load.passes(3 * ENOUGH);
    load.stop().assert_lossless();
    for impostor in &impostors {
        assert!(impostor.met() > 0, "{impostor:?} was never tried");
    }
}
