//! Registers this gateway's admin port and its state in Postgres, where `archway status` and the operator's page of
//! every gateway find them.
//!
//! Runs in the background. The row is written every 10 s, and within a second if the gateway's state is another; it is
//! deleted at shutdown; readers ignore
//! rows older than 30 s. While Postgres is down the row expires, with no other effect.

use std::{net::SocketAddr, time::Duration};

use archway_proto::chain::Chain;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{Admin, report::GatewayReport};

/// Interval of the refresh.
const REFRESH: Duration = Duration::from_secs(10);
/// Interval of looks at the gateway's state.
const LOOK: Duration = Duration::from_secs(1);
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
    /// Keeps the row of the gateway until `ended`.
    pub(crate) async fn run(&self, gateway: &Admin, ended: &CancellationToken) {
        let id = Uuid::new_v4();
        let (name, stores) = (&gateway.name, &gateway.stores);
        let address = self.address.to_string();
        let reporting = async {
            let mut written: Option<(Instant, GatewayReport)> = None;
            loop {
                let report = GatewayReport::of(gateway);
                let is_due = written.as_ref().is_none_or(|(at, before)| {
                    at.elapsed() >= REFRESH || report.is_other_than(before)
                });
                if is_due {
                    let text = report.json();
                    let reported = stores.report_gateway(id, name, (&self.host, &address), &text);
                    let reported = reported.await;
                    // `/readyz` reports an unavailable Postgres.
                    if let Err(error) = reported {
                        tracing::debug!(error = %Chain(&error), "the admin port is not registered yet");
                    }
                    written = Some((Instant::now(), report));
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        ended.run_until_cancelled(reporting).await;
        // A row that could not be deleted expires by itself.
        tokio::time::timeout(DELETE_TIMEOUT, stores.forget_gateway(id))
            .await
            .ok();
    }
}
