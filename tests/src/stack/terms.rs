//! The limits of a stack's tenants: none, unless the test is about limits. How such a test sets limits,
//! and waits until they are enforced.
//!
//! Tests poll faster than an agent calls, and must not be refused for that.

use std::time::Duration;

use futures::future::join_all;
use serde_json::json;
use sqlx::PgPool;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::{Stack, keys::key_id};
use crate::{
    Client, Tenant,
    http::{Request, Response},
};

/// How long a change may take to reach every gateway. A second is promised, and
/// `it/revocation/measured.rs` measures it. This bound is for a busy machine; a gateway that misses the
/// notification keeps what it knew for 30 s.
const EVERYWHERE: Duration = Duration::from_secs(10);
/// The pause between polls. Faster polling would spend the limit under observation and delay the answers.
const BETWEEN: Duration = Duration::from_millis(25);

impl Stack {
    /// Waits until every gateway listens for change notifications, on a connection that it opens beside
    /// serving.
    pub async fn until_listening(&self) {
        let hears = "archway_gateway_listening_for_changes 1\n";
        for admin in self.admins() {
            let hearing = async || {
                let metrics = Request::new("GET", "/metrics").send(admin).await.text();
                metrics.contains(hears).then_some(())
            };
            self.eventually(hearing).await;
        }
    }

    /// Sets limits of a tenant, for all its keys or for one client's: level, tool or `total`, and calls
    /// per minute. They take effect at once on gateways that [listen](Stack::until_listening) for changes.
    pub async fn set_limits(
        &self,
        tenant: &str,
        of: Option<&Client>,
        limits: &[(&str, &str, u32)],
    ) {
        let owner = PgPool::connect_with(self.database().owner()).await.unwrap();
        set(&owner, self.tenant_id(tenant), of.map(key_id), limits).await;
        owner.close().await;
    }
}

/// Whether a call was admitted. Panics unless it succeeded or a limit refused it.
pub fn was_admitted(answer: &Response) -> bool {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let error = &answer.json()["result"]["_meta"]["io.archway/error"]["error"];
    assert!(
        error.is_null() || error["code"] == "rate_limited",
        "{error}"
    );
    error.is_null()
}

/// Waits until the answer to `hello` satisfies `is` for all these clients. Panics once the change should
/// be enforced by every gateway that [listens](Stack::until_listening) for changes.
pub async fn until_enforced(clients: &[Client], what: &str, is: impl Fn(&Response) -> bool) {
    let waiting = clients.iter().map(async |client| {
        let hello = json!({ "name": "hello", "arguments": {} });
        while !is(&client.rpc("tools/call", hello.clone()).await) {
            sleep(BETWEEN).await;
        }
    });
    let waited = timeout(EVERYWHERE, join_all(waiting)).await;
    assert!(
        waited.is_ok(),
        "{what} is not in force within {EVERYWHERE:?}"
    );
}

/// Waits until the tightest limit of `hello`, as the answers' headers state it, is `policy`.
pub async fn until_limit_enforced(clients: &[Client], policy: &str) {
    let is = |answer: &Response| answer.header("ratelimit-policy") == Some(policy);
    until_enforced(clients, policy, is).await;
}

/// Sets the limits that the test chose for a tenant.
pub(super) async fn of_tenant(owner: &PgPool, id: Uuid, tenant: &Tenant) {
    if !tenant.is_limited() {
        lift(owner, id).await;
    }
    set(owner, id, None, &tenant.limits()).await;
}

/// Removes every limit of a tenant at each level: the totals, and those of each tool that has one.
async fn lift(owner: &PgPool, tenant: Uuid) {
    let registry = archway_workers::tools::registry().unwrap();
    let tools = registry.list().tools.iter();
    let limited = tools.filter(|tool| tool.per_minute.is_some());
    let names: Vec<String> = limited.map(|tool| tool.name.clone()).collect();
    sqlx::query(
        "insert into limits (tenant_id, level, of, per_minute) \
         select $1, level, of, 0 \
         from unnest(array['session', 'key', 'tenant']) as level, unnest($2::text[]) as of \
         union all values ($1, 'key', 'total', 0), ($1, 'tenant', 'total', 0)",
    )
    .bind(tenant)
    .bind(names)
    .execute(owner)
    .await
    .unwrap();
}

/// Sets limits of a tenant, for all its keys or for this key and its successors.
async fn set(owner: &PgPool, tenant: Uuid, key: Option<&str>, limits: &[(&str, &str, u32)]) {
    let mut change = owner.begin().await.unwrap();
    for (level, of, per_minute) in limits {
        let written = sqlx::query(
            "insert into limits (tenant_id, lineage, level, of, per_minute) \
             select $1, (select lineage from api_keys where id = $2), $3, $4, $5 \
             on conflict (tenant_id, lineage, level, of) do update set per_minute = $5",
        )
        .bind(tenant)
        .bind(key)
        .bind(level)
        .bind(of)
        .bind(i32::try_from(*per_minute).unwrap())
        .execute(&mut *change);
        written.await.unwrap();
    }
    change.commit().await.unwrap();
}
