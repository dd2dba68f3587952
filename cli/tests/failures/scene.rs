//! The setup of failure tests: files to search, lifted limits, and one scenario at a time, because each needs the
//! whole machine.

use std::path::Path;

use parking_lot::{Mutex, MutexGuard};

use crate::http::{Connection, get, message};
use crate::load::Load;
use crate::role::Role;
use crate::stage::Stage;

static TURN: Mutex<()> = Mutex::new(());

/// What the load spends, far more than the default limits allow.
const LIFT: &str = "insert into limits (tenant_id, level, of, per_minute) \
    select id, level, of, 0 from tenants, unnest(array['session', 'key', 'tenant']) level, \
    unnest(array['total', 'hello', 'read_file', 'list_files', 'grep_codebase', 'search_files', \
                 'write_memory_entry', 'context_search']) of \
    where not (level = 'session' and of = 'total') on conflict do nothing";

/// The setup of one scenario.
pub(crate) struct Scene {
    pub(crate) stage: Stage,
    /// Released last.
    _turn: MutexGuard<'static, ()>,
}

impl Scene {
    pub(crate) fn set() -> Scene {
        let turn = TURN.lock();
        let stage = Stage::set();
        write_files(&stage.path("repos/acme/site"));
        let scene = Scene { stage, _turn: turn };
        scene.lift_limits();
        scene
    }

    /// Lifts the limits of all tenants that exist.
    pub(crate) fn lift_limits(&self) {
        let lifted = sqlx::query(LIFT).execute(&self.stage.owner);
        self.stage.runtime.block_on(lifted).unwrap();
    }

    /// A worker at this address.
    pub(crate) fn worker(&self, address: &str) -> Role {
        Role::start(self.stage.worker(address))
    }

    pub(crate) fn workers(&self) -> (Role, Role) {
        (self.worker("127.0.0.1:0"), self.worker("127.0.0.1:0"))
    }

    /// A gateway that is ready.
    pub(crate) fn gateway(&self, workers: &[&Role]) -> Role {
        let addresses: Vec<&str> = workers.iter().map(|role| role.address.as_str()).collect();
        self.gateway_for(&addresses)
    }

    /// The same, for addresses of workers.
    pub(crate) fn gateway_for(&self, workers: &[&str]) -> Role {
        let mut command = self.stage.gateway(workers[0]);
        for worker in &workers[1..] {
            command.args(["--worker", &format!("http://{worker}")]);
        }
        let gateway = Role::start(command);
        gateway.becomes(200, "ready");
        gateway
    }

    /// Clients that call these gateways.
    pub(crate) fn load(&self, gateways: &[&Role]) -> Load {
        let addresses: Vec<&str> = gateways.iter().map(|role| role.address.as_str()).collect();
        Load::start(&self.stage.key, &addresses)
    }

    /// The exact answer to `tools/list`.
    pub(crate) fn tools(&self, gateway: &Role) -> String {
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let list = message(&self.stage.key, list);
        let mut connection = Connection::open(&gateway.address).unwrap();
        connection.exchange(&list).unwrap().body
    }
}

/// How many calls a worker has answered.
pub(crate) fn served(worker: &Role) -> u64 {
    counted(worker, "archway_worker_tool_calls_total")
}

/// A counter of a role, summed over its labels.
pub(crate) fn counted(role: &Role, name: &str) -> u64 {
    let metrics = get(&role.admin, "/metrics").unwrap().body;
    let own = metrics.lines().filter(|line| line.starts_with(name));
    own.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum()
}

fn write_files(site: &Path) {
    for number in 0..40 {
        let folder = site.join(format!("src/part{}", number % 10));
        std::fs::create_dir_all(&folder).unwrap();
        let line = |line| format!("pub fn part{number}_{line}() {{}} // needle {line}\n");
        let text: String = (0..30).map(line).collect();
        std::fs::write(folder.join(format!("file{number}.rs")), text).unwrap();
    }
}
