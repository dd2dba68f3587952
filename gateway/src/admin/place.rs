//! Where this gateway's admin port is, as a row in Postgres by which `archway status` finds it.
//!
//! Beside the path. The row is written every 10 s and taken out at the end. Whoever reads it believes
//! rows of the last 30 s. While Postgres is away the row grows old, and nothing else is lost.

use std::{net::SocketAddr, time::Duration};

use archway_proto::chain::Chain;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::store::Stores;

/// How often the row is written.
const EVERY: Duration = Duration::from_secs(10);
/// How long the end waits for the row to be taken out.
const LEAVING: Duration = Duration::from_secs(1);

/// Where a gateway's admin port can be reached.
#[derive(Clone, Debug)]
pub struct AdminPlace {
    /// What the host calls itself: an address of loopback is good there alone.
    pub host: String,
    /// The address and port to ask.
    pub address: SocketAddr,
}

impl AdminPlace {
    /// Keeps the row of the gateway of this name until it has ended.
    pub(crate) async fn keep(&self, name: &str, stores: &Stores, ended: &CancellationToken) {
        let id = Uuid::new_v4();
        let admin = self.address.to_string();
        let reporting = async {
            loop {
                let reported = stores.report_gateway(id, name, &self.host, &admin).await;
                // `/readyz` tells of a Postgres that does not answer.
                if let Err(error) = reported {
                    tracing::debug!(error = %Chain(&error), "the admin port is not reported yet");
                }
                tokio::time::sleep(EVERY).await;
            }
        };
        ended.run_until_cancelled(reporting).await;
        // A row that stays grows old by itself.
        tokio::time::timeout(LEAVING, stores.forget_gateway(id))
            .await
            .ok();
    }
}
