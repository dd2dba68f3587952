//! Chooses the tenants that metrics name: those with the most calls of the last day, at all gateways.

use std::time::Duration;

use archway_proto::chain::Chain;

use super::Admin;
use crate::store::{StoreError, Stores};

/// Interval at which they are chosen.
const CHOSEN_EVERY: Duration = Duration::from_secs(3600);
/// Pause after a failed reading.
const RETRY: Duration = Duration::from_secs(30);
/// Tenants read for each place, so that those who have one are among them.
const READ_PER_PLACE: i32 = 2;

/// Chooses now and then every hour, for as long as it is polled; nobody if metrics name no tenants.
pub(crate) async fn name_busiest(admin: &Admin) {
    let Some(metrics) = admin.metrics.tenants() else {
        return;
    };
    let most = i32::from(metrics.places()) * READ_PER_PLACE;
    loop {
        let pause = match busiest(&admin.stores, most).await {
            Ok(calls) => {
                metrics.choose(calls);
                CHOSEN_EVERY
            }
            // `/readyz` reports an unavailable Postgres.
            Err(error) => {
                tracing::debug!(error = %Chain(&error), "tenants with the most calls are not read yet");
                RETRY
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// At most so many tenants and their calls.
async fn busiest(stores: &Stores, most: i32) -> Result<Vec<(String, i64)>, StoreError> {
    let usage = stores.usage_overview(most).await?;
    let tenants = usage.tenants.into_iter();
    Ok(tenants.map(|it| (it.tenant, it.calls)).collect())
}
