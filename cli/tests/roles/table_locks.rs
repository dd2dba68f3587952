//! Calls, and locks that delay calls, for the tests of roles.

use std::sync::mpsc::{Receiver, channel};

use sqlx::AssertSqlSafe;

use crate::http::{Connection, HttpResponse, get, message, tool_call};
use crate::role::{Role, wait_until};
use crate::stage::Stage;

impl Stage {
    /// A worker, and a gateway that has found it.
    pub(crate) fn both(&self) -> (Role, Role) {
        let worker = Role::start(self.worker("127.0.0.1:0"));
        let gateway = Role::start(self.gateway(&worker.address));
        gateway.becomes(200, "ready");
        (worker, gateway)
    }

    /// The result of a query for one number.
    pub(crate) fn count(&self, query: &'static str) -> i64 {
        let asked = sqlx::query_scalar(query).fetch_one(&self.owner);
        self.runtime.block_on(asked).unwrap()
    }

    /// Locks the list of projects: while this lives, every call waits.
    pub(crate) fn hold_projects(&self) -> TableLock<'_> {
        self.hold("projects")
    }

    /// Locks a table: while this lives, whatever needs it waits.
    pub(crate) fn hold(&self, table: &str) -> TableLock<'_> {
        let lock = AssertSqlSafe(format!("lock table {table} in access exclusive mode"));
        let table_locks = self.runtime.block_on(async {
            let mut tx = self.owner.begin().await.unwrap();
            sqlx::query(lock).execute(&mut *tx).await.unwrap();
            tx
        });
        TableLock {
            stage: self,
            table_locks: Some(table_locks),
        }
    }

    /// A small call that needs the list of projects.
    pub(crate) fn call(
        &self,
        gateway: &Role,
        tool: &str,
        arguments: &str,
    ) -> std::io::Result<HttpResponse> {
        post(&gateway.address, &self.key, tool, arguments)
    }

    /// The same on a thread. Returns once the worker has the call.
    pub(crate) fn call_in_flight(
        &self,
        gateway: &Role,
        worker: &Role,
    ) -> Receiver<std::io::Result<HttpResponse>> {
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
pub(crate) struct TableLock<'a> {
    stage: &'a Stage,
    table_locks: Option<sqlx::Transaction<'static, sqlx::Postgres>>,
}

impl Drop for TableLock<'_> {
    fn drop(&mut self) {
        let table_locks = self.table_locks.take().unwrap();
        self.stage.runtime.block_on(table_locks.rollback()).unwrap();
    }
}

fn post(address: &str, key: &str, tool: &str, arguments: &str) -> std::io::Result<HttpResponse> {
    let call = message(key, &tool_call(1, tool, arguments));
    Connection::open(address)?.exchange(&call)
}
