//! What the tests of the roles ask of their stage: calls, and locks that hold calls up.

use std::sync::mpsc::{Receiver, channel};

use sqlx::AssertSqlSafe;

use crate::http::{Answer, Connection, get, message, tool_call};
use crate::role::{Role, wait_until};
use crate::stage::Stage;

impl Stage {
    /// A worker and a gateway that has seen it.
    pub(crate) fn both(&self) -> (Role, Role) {
        let worker = Role::start(self.worker("127.0.0.1:0"));
        let gateway = Role::start(self.gateway(&worker.address));
        gateway.becomes(200, "ready");
        (worker, gateway)
    }

    /// What one number of a query comes to.
    pub(crate) fn count(&self, query: &'static str) -> i64 {
        let asked = sqlx::query_scalar(query).fetch_one(&self.owner);
        self.runtime.block_on(asked).unwrap()
    }

    /// While this lives, workers wait for their list of projects: every call is a slow one.
    pub(crate) fn hold_projects(&self) -> Held<'_> {
        self.hold("projects")
    }

    /// While this lives, whoever needs the table waits.
    pub(crate) fn hold(&self, table: &str) -> Held<'_> {
        let lock = AssertSqlSafe(format!("lock table {table} in access exclusive mode"));
        let held = self.runtime.block_on(async {
            let mut tx = self.owner.begin().await.unwrap();
            sqlx::query(lock).execute(&mut *tx).await.unwrap();
            tx
        });
        Held {
            stage: self,
            held: Some(held),
        }
    }

    /// A call of `hello`'s size that needs the list of projects.
    pub(crate) fn call(
        &self,
        gateway: &Role,
        tool: &str,
        arguments: &str,
    ) -> std::io::Result<Answer> {
        post(&gateway.address, &self.key, tool, arguments)
    }

    /// The same, on a thread; returns once the worker has it.
    pub(crate) fn call_in_flight(
        &self,
        gateway: &Role,
        worker: &Role,
    ) -> Receiver<std::io::Result<Answer>> {
        let (send, answer) = channel();
        let (address, key) = (gateway.address.clone(), self.key.clone());
        std::thread::spawn(move || {
            let call = post(&address, &key, "read_file", r#"{"path":"greeting.txt"}"#);
            send.send(call).ok();
        });
        wait_until("the worker has the call", || {
            let metrics = get(&worker.admin, "/metrics").unwrap();
            metrics
                .body
                .contains("archway_worker_tool_calls_in_flight 1\n")
        });
        answer
    }
}

/// A lock on a table.
pub(crate) struct Held<'a> {
    stage: &'a Stage,
    held: Option<sqlx::Transaction<'static, sqlx::Postgres>>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let held = self.held.take().unwrap();
        self.stage.runtime.block_on(held.rollback()).unwrap();
    }
}

fn post(address: &str, key: &str, tool: &str, arguments: &str) -> std::io::Result<Answer> {
    let call = message(key, &tool_call(1, tool, arguments));
    Connection::open(address)?.exchange(&call)
}
