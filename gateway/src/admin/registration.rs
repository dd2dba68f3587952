//! Registers this gateway's admin port in Postgres, where `archway status` finds it.
//!
//! Runs in the background. The row is refreshed every 10 s and deleted at shutdown; readers ignore
//! rows older than 30 s. While Postgres is down the row expires, with no other effect.

use std::{net::SocketAddr, time::Duration};

use archway_proto::chain::Chain;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::store::Stores;

/// Interval of the refresh.
const REFRESH: Duration = Duration::from_secs(10);
/// How long shutdown waits for the row to be deleted.
const DELETE_TIMEOUT: Duration = Duration::from_secs(1);

/// The address of a gateway's admin port.
#[derive(Clone, Debug)]
pub struct AdminAddress {
    /// The host's name: a loopback address is valid on that host only.
    pub host: String,
    /// The address and port to connect to.
    pub address: SocketAddr,
}

impl AdminAddress {
    /// Keeps the row of the gateway with this name until `ended`.
    pub(crate) async fn run(&self, name: &str, stores: &Stores, ended: &CancellationToken) {
        let id = Uuid::new_v4();
        let admin = self.address.to_string();
        let reporting = async {
            loop {
                let reported = stores.report_gateway(id, name, &self.host, &admin).await;
                // `/readyz` reports an unavailable Postgres.
                if let Err(error) = reported {
                    tracing::debug!(error = %Chain(&error), "the admin port is not registered yet");
                }
                tokio::time::sleep(REFRESH).await;
            }
        };
        ended.run_until_cancelled(reporting).await;
        // A row that could not be deleted expires by itself.
        tokio::time::timeout(DELETE_TIMEOUT, stores.forget_gateway(id))
            .await
            .ok();
    }
}
