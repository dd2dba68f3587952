//! The logs of a good start: nothing in them needs attention.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::READ;
use crate::http::{Connection, get, message, tool_call};
use crate::role::wait_until;
use crate::stage::Stage;

/// A process, and its log from the first line on.
struct Logged {
    child: Child,
    log: PathBuf,
}

impl Logged {
    fn start(mut command: Command, log: &Path) -> Logged {
        command.stdout(Stdio::null());
        let child = command.stderr(File::create(log).unwrap()).spawn().unwrap();
        let log = log.to_owned();
        Logged { child, log }
    }

    fn lines(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.log).unwrap();
        // The last line may be incomplete.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let lines = whole.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// A field of any line, once there is one.
    fn field(&self, name: &str) -> String {
        let find = || {
            let lines = self.lines().into_iter();
            lines
                .filter_map(|line| Some(line["fields"][name].as_str()?.to_owned()))
                .next()
        };
        wait_until(name, || find().is_some());
        find().unwrap()
    }

    /// Waits until `/readyz` answers 200.
    fn is_ready(&self) {
        let admin = self.field("admin");
        wait_until("it is ready", || {
            get(&admin, "/readyz").is_ok_and(|answer| answer.status == 200)
        });
    }

    fn says(&self, what: &str) -> bool {
        let of = |line: &Value| {
            line["fields"]["message"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        self.lines().iter().any(|line| of(line).contains(what))
    }

    /// Ends it, and asserts that it logged no warning.
    fn ends_well(mut self) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        for line in self.lines() {
            // If the kernel cannot confine it, each worker warns.
            let said = line["fields"]["message"].as_str().unwrap_or_default();
            let unconfined = said.starts_with("not confined");
            let level = line["level"].as_str().unwrap();
            assert!(["INFO", "DEBUG"].contains(&level) || unconfined, "{line}");
        }
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        // It has usually ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn free_port() -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap();
    port.local_addr().unwrap().to_string()
}

/// A limits store at this address.
struct Redis(Child);

impl Redis {
    fn start(address: &str) -> Redis {
        let (host, port) = address.rsplit_once(':').unwrap();
        let mut server = Command::new("redis-server");
        server.args([
            "--bind",
            host,
            "--port",
            port,
            "--save",
            "",
            "--appendonly",
            "no",
        ]);
        let redis = Redis(server.stdout(Stdio::null()).spawn().unwrap());
        wait_until("the store listens", || TcpStream::connect(address).is_ok());
        redis
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Stage {
    fn reads(&self, gateway: &Logged) {
        let call = message(&self.key, &tool_call(1, "read_file", READ));
        let mut connection = Connection::open(&gateway.field("address")).unwrap();
        let answer = connection.exchange(&call).unwrap();
        assert!(answer.body.contains("sesame"), "{answer:?}");
    }

    /// The gateway is ready, answers from the worker and shares limits. Neither log has a warning.
    fn all_is_well(&self, gateway: Logged, worker: Logged) {
        gateway.is_ready();
        self.reads(&gateway);
        wait_until("limits are shared", || gateway.says("limits are shared"));
        gateway.ends_well();
        worker.ends_well();
    }
}

#[test]
fn a_start_in_the_usual_order_logs_no_warning() {
    let stage = Stage::set();
    let store = free_port();
    let _store = Redis::start(&store);
    let worker = Logged::start(stage.worker("127.0.0.1:0"), &stage.path("worker.log"));
    worker.is_ready();
    let mut command = stage.gateway(&worker.field("address"));
    command.env("ARCHWAY_LIMITS_URL", format!("redis://{store}"));
    let gateway = Logged::start(command, &stage.path("gateway.log"));
    stage.all_is_well(gateway, worker);
}

#[test]
fn a_gateway_that_starts_before_worker_and_store_logs_no_warning() {
    let stage = Stage::set();
    let (store, address) = (free_port(), free_port());
    // By name, as in Compose.
    let port = address.rsplit(':').next().unwrap();
    let mut command = stage.gateway(&format!("localhost:{port}"));
    command.env("ARCHWAY_LIMITS_URL", format!("redis://{store}"));
    let gateway = Logged::start(command, &stage.path("gateway.log"));
    let notes = [
        "worker can't be reached yet",
        "no catalogue is stored yet: waiting for the first worker",
        "the store of limits is not there yet",
    ];
    for note in notes {
        wait_until(note, || gateway.says(note));
    }
    let worker = Logged::start(stage.worker(&address), &stage.path("worker.log"));
    let _store = Redis::start(&store);
    stage.all_is_well(gateway, worker);
}

#[test]
fn a_missing_worker_is_warned_of() {
    let stage = Stage::set();
    let gateway = Logged::start(stage.gateway(&free_port()), &stage.path("gateway.log"));
    let warned = |what: &str| {
        let is_it = |line: &&Value| {
            line["level"] == "WARN" && line["fields"]["message"].as_str() == Some(what)
        };
        gateway.lines().iter().filter(is_it).count()
    };
    let unreachable = "worker can't be reached";
    wait_until(unreachable, || warned(unreachable) > 0);
    assert_eq!(warned(unreachable), 1);
    assert_eq!(warned("catalogue not refreshed"), 0);
}

#[test]
fn a_gateway_survives_the_loss_of_its_log_reader() {
    let stage = Stage::set();
    let address = free_port();
    let (log, errors) = std::io::pipe().unwrap();
    let mut command = stage.gateway(&address);
    command.stdout(Stdio::null());
    let mut child = command.stderr(errors).spawn().unwrap();
    // The command holds the other end of the pipe as well.
    drop(command);
    let mut lines = BufReader::new(log).lines();
    let listens = lines.find_map(|line| {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        Some(line["fields"]["admin"].as_str()?.to_owned())
    });
    drop(lines);
    // From here on, writing to its log fails.
    let _worker = Logged::start(stage.worker(&address), &stage.path("worker.log"));
    let admin = listens.unwrap();
    wait_until("it is ready", || {
        get(&admin, "/readyz").is_ok_and(|answer| answer.status == 200)
    });
    child.kill().unwrap();
    child.wait().unwrap();
}
