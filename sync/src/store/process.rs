//! The row of this process, by which others find it and its mirrors.

use std::net::SocketAddr;

use super::{SyncStore, SyncStoreError};

/// What `archway status` needs to find a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct SyncProcess {
    name: String,
    host: Option<String>,
    /// `address:port` of its admin port.
    admin: Option<String>,
}

impl SyncProcess {
    /// `admin` is the host's name, and where others reach the admin port.
    pub(crate) fn new(name: &str, admin: Option<&(String, SocketAddr)>) -> SyncProcess {
        SyncProcess {
            name: name.to_owned(),
            host: admin.map(|(host, _)| host.clone()),
            admin: admin.map(|(_, address)| address.to_string()),
        }
    }
}

impl SyncStore {
    /// Says how the process is found.
    pub(crate) fn of_process(mut self, process: SyncProcess) -> SyncStore {
        self.process = process;
        self
    }

    /// Says that this process lives, and makes the rows of mirrors that have none yet.
    pub(crate) async fn add_mirrors(&self) -> Result<(), SyncStoreError> {
        let call = sqlx::query!(
            "select add_mirrors($1, $2, $3, $4, $5, $6, $7)",
            self.holder,
            env!("CARGO_PKG_VERSION"),
            self.process.name,
            self.process.host,
            self.process.admin,
            self.place,
            self.pool_name
        );
        self.execute(call, "adding mirrors").await
    }

    /// Says that this process ends.
    pub(crate) async fn end(&self) -> Result<(), SyncStoreError> {
        let call = sqlx::query!("select end_sync_process($1)", self.holder);
        self.execute(call, "saying that this process ends").await
    }
}
