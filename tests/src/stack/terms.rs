//! What a tenant of a test may spend: as much as it likes, unless the test is about limits.
//!
//! Tests ask again and again until something is so, and faster than an agent; that they should not
//! be refused for it has nothing to do with what they are about.

use sqlx::PgPool;
use uuid::Uuid;

/// Lifts every limit of a tenant, level by level: of everything, and of each tool that states one.
pub(super) async fn lift(owner: &PgPool, tenant: Uuid) {
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
