//! The one script of the shared store: what `local.rs` does for a process, on the store's clock and
//! in one step.
//!
//! All buckets of a call belong to one tenant, whose id is the hash tag of their keys: they are in
//! one slot of a cluster. The server adds and compares; what a call costs was computed here, so
//! that both stores agree to the microsecond.

use redis::{Script, aio::MultiplexedConnection};
use uuid::Uuid;

use super::failure::StoreFailure;
use crate::limits::charge::{BucketId, Charge, Debts, MOST_CHARGES, Verdict};

/// The bucket of [`Spend::probe`]: no tenant's.
const PROBE: &str = "archway:{probe}";

/// The script, hashed once.
pub(super) struct Spend(Script);

impl Spend {
    pub(super) fn new() -> Self {
        Spend(Script::new(include_str!("spend.lua")))
    }

    /// Spends the charges, all or none. One round trip, unless the server has forgotten the script.
    pub(super) async fn spend(
        &self,
        connection: &mut MultiplexedConnection,
        tenant: Uuid,
        charges: &[Charge],
    ) -> Result<Verdict, StoreFailure> {
        let buckets = charges
            .iter()
            .map(|charge| (key(tenant, &charge.id), charge.step));
        let told = self.ask(connection, buckets).await?;
        verdict(&told, charges.len()).ok_or(StoreFailure::Nonsense)
    }

    /// Spends next to nothing of a bucket that is nobody's: whether the server has the script, may
    /// run it, and lets it write.
    pub(super) async fn probe(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<(), StoreFailure> {
        let told = self.ask(connection, [(PROBE.to_owned(), 1)]).await?;
        let _any = verdict(&told, 1).ok_or(StoreFailure::Nonsense)?;
        Ok(())
    }

    async fn ask(
        &self,
        connection: &mut MultiplexedConnection,
        buckets: impl IntoIterator<Item = (String, u64)>,
    ) -> Result<Vec<u64>, StoreFailure> {
        let mut call = self.0.prepare_invoke();
        for (key, step) in buckets {
            call.key(key).arg(step);
        }
        Ok(call.invoke_async(connection).await?)
    }
}

/// The bucket's name in the store.
fn key(tenant: Uuid, id: &BucketId) -> String {
    let id = Uuid::from_bytes(*id.as_bytes());
    format!("archway:{{{}}}:{}", tenant.simple(), id.simple())
}

/// What the script told of so many charges.
fn verdict(told: &[u64], charges: usize) -> Option<Verdict> {
    let [passed, _judged_at, told @ ..] = told else {
        return None;
    };
    let mut debts: Debts = [0; MOST_CHARGES];
    debts
        .get_mut(..charges)?
        .copy_from_slice(told.get(..charges)?);
    match passed {
        1 => Some(Verdict::Passed(debts)),
        0 => Some(Verdict::Refused(debts)),
        _ => None,
    }
}
