//! The schema as PostgreSQL reports it: which tables have row-level security, what its policies admit,
//! and which functions run with their owner's rights.

use std::collections::{BTreeMap, BTreeSet};

use super::{definers::DEFINERS, projects::two_tenants};
use e2e::{Harness, Repo, Stack, Tenant};
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

pub(super) const ROLES: [&str; 3] = ["archway_gateway", "archway_worker", "archway_sync"];

/// Tables without a tenant, and why.
const NOBODYS: [(&str, &str); 9] = [
    (
        "_sqlx_migrations",
        "which migrations ran; no running part may read it",
    ),
    (
        "administration_cuts",
        "where pruning ended; nobody but the owner has a right to it",
    ),
    (
        "administration_records",
        "what administration changed, also of tenants that are gone; nobody but the owner has a right to it",
    ),
    (
        "call_hours",
        "calls of the whole installation by the hour; a trigger writes it, a function reads it",
    ),
    (
        "catalogs",
        "the tools of a pool of workers, which are the same for all its tenants",
    ),
    (
        "gateways",
        "where admin ports of gateways are, and what these say about themselves; read by functions",
    ),
    (
        "sync_processes",
        "which processes of `archway sync` live; they have no right to it, functions write it",
    ),
    (
        "principals",
        "revoked principals of any tenant; read by functions only",
    ),
    (
        "worker_reports",
        "when each worker was last there; written and read by functions",
    ),
];

pub(super) async fn owner(stack: &Stack) -> PgConnection {
    PgConnection::connect_with(&stack.database().owner())
        .await
        .unwrap()
}

/// The first column of an answer, as text.
pub(super) async fn texts(connection: &mut PgConnection, query: &str) -> BTreeSet<String> {
    let rows = sqlx::query(AssertSqlSafe(query.to_owned()))
        .fetch_all(connection)
        .await;
    rows.unwrap().iter().map(|row| row.get(0)).collect()
}

/// Rows that no call creates, or not at once.
const ROWS: [&str; 17] = [
    "insert into file_accesses (tenant_id, project_id, principal, path, day, count, last_at) \
     select tenant_id, id, 'key:1', 'a', current_date, 1, now() from projects on conflict do nothing",
    "insert into sessions (tenant_id, principal, id, expires_at) \
     select id, 'key:1', gen_random_uuid(), now() + interval '1 hour' from tenants",
    "insert into session_floors (tenant_id, principal, issued_before) \
     select id, 'key:1', now() from tenants",
    "insert into worker_mounts (worker, pool, tenant_id, project_id) \
     select 'w', 'shared', tenant_id, id from projects",
    "insert into limits (tenant_id, level, of, per_minute) \
     select id, 'tenant', 'anything', 1 from tenants",
    "insert into sources (project_id, tenant_id, url, host) \
     select id, tenant_id, 'https://host/a', 'host' from projects",
    "insert into mirrors (project_id, tenant_id, place) select project_id, tenant_id, '' from sources",
    // Its listing and its permissions are made by triggers.
    "insert into connections (tenant_id, name, settings) select id, 'org', '{\"permissions\": \"host\"}' from tenants",
    "insert into host_readers (project_id, connection_id, tenant_id, readers) \
     select s.project_id, h.connection_id, s.tenant_id, '{1}' from sources s join host_permissions h using (tenant_id)",
    "insert into host_accounts (connection_id, tenant_id, account, login) \
     select connection_id, tenant_id, 1, 'ada' from host_permissions",
    "insert into access_rules (tenant_id, who, projects) select id, array['everyone'], array['*'] from tenants",
    "insert into memory_erasures (tenant_id, project_id, what, reason) \
     select tenant_id, id, 'x/1', 'a test' from projects",
    "select make_audit_month((extract(epoch from now()) * 1000000)::bigint)",
    "insert into audit_records (tenant_id, chain, number, at, record, mac) \
     select id, gen_random_uuid(), 1, now(), '{}', sha256('x') from tenants",
    "insert into audit_anchors (tenant_id, chain, number, mac, seal) \
     select id, gen_random_uuid(), 1, sha256('x'), sha256('x') from tenants",
    "insert into usage_months (tenant_id, month) select id, now() - interval '1 day' from tenants",
    "insert into usage_hours (tenant_id, hour) select id, date_trunc('hour', now()) from tenants",
];

/// A stack with rows of both tenants in every table, without which a test would show nothing.
pub(super) async fn full() -> Stack {
    let repo = || Repo::new().file("a.rs", "pub fn open_gate() {}\n").commit();
    let tenant = |slug| Tenant::new(slug).project("site", repo());
    let harness = Harness::new().tenant(tenant("acme")).tenant(tenant("zeta"));
    let stack = harness.indexing().start().await;
    let mut owner = owner(&stack).await;
    for statement in ROWS {
        sqlx::query(statement).execute(&mut owner).await.unwrap();
    }
    for slug in ["acme", "zeta"] {
        let client = stack.client(slug);
        let entry = json!({ "timestamp": "2026-01-07T14:00:00Z", "event": "x" });
        let write = json!({ "file": "progress_log.jsonl", "entry": entry });
        client.call("write_memory_entry", write).await.structured();
        let discovery = json!({ "type": "rule", "content": "x" });
        client
            .call("record_discovery", discovery)
            .await
            .structured();
        let prompt = json!({ "name": "review-a-decision", "arguments": { "decision": "x" } });
        crate::result(&client, "prompts/get", prompt).await;
        let indexed = async || {
            let reply = client
                .call("context_search", json!({ "query": "gate" }))
                .await;
            (!reply.is_error()).then_some(())
        };
        stack.eventually(indexed).await;
    }
    stack
}

#[tokio::test]
async fn every_table_but_those_that_are_nobodys_has_a_tenant_and_is_fenced() {
    let stack = two_tenants().await;
    let mut owner = owner(&stack).await;
    let tables = "select relname::text from pg_class where relkind in ('r', 'p') \
         and relnamespace = 'public'::regnamespace";
    let fenced = format!("{tables} and relrowsecurity");
    let with_tenant = "select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid \
         where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace \
         and a.attname = 'tenant_id' and a.attnotnull";
    let all = texts(&mut owner, tables).await;
    let nobodys: BTreeSet<String> = NOBODYS
        .iter()
        .map(|(table, _)| (*table).to_owned())
        .collect();
    let mut tenants = texts(&mut owner, with_tenant).await;
    tenants.insert("tenants".to_owned());
    let expected: BTreeSet<String> = all.difference(&nobodys).cloned().collect();
    assert_eq!(
        tenants, expected,
        "each other table says whose its rows are"
    );
    let fenced = texts(&mut owner, &fenced).await;
    assert!(
        expected.is_subset(&fenced),
        "and has row-level security: {fenced:?}"
    );
    // A table's owner bypasses its policies, and so do roles that may bypass or become the owner.
    let roles = "select rolname::text from pg_roles r where rolname like 'archway\\_%' \
         and not rolsuper and not rolbypassrls and not rolcreaterole \
         and not exists (select from pg_auth_members m where m.member = r.oid) \
         and not exists (select from pg_class c where c.relowner = r.oid) \
         and not exists (select from pg_proc p where p.proowner = r.oid)";
    assert_eq!(
        texts(&mut owner, roles).await,
        ROLES.map(str::to_owned).into()
    );
    // Reading and writing are checked separately. If a policy has no check for writes, its condition for
    // reads applies; one for inserts has no condition for reads.
    let own = "'^\\((tenant_id|id) = current_tenant\\(\\)\\)$'";
    let policies = format!(
        "select tablename || ', ' || policyname from pg_policies where schemaname = 'public' \
         and (not coalesce(qual ~ {own}, cmd = 'INSERT') \
              or not coalesce(with_check ~ {own}, cmd <> 'INSERT'))"
    );
    assert_eq!(
        texts(&mut owner, &policies).await,
        BTreeSet::new(),
        "no policy says anything else"
    );
}

#[tokio::test]
async fn a_query_sees_rows_of_its_stated_tenant_only_in_every_table() {
    let stack = full().await;
    let mut owner = owner(&stack).await;
    let tables = "select table_name::text from information_schema.columns \
         where table_schema = 'public' and column_name = 'tenant_id' and table_name <> 'tenants' \
         and not (select relispartition from pg_class where oid = table_name::regclass)";
    for table in texts(&mut owner, tables).await {
        let whose = format!("select distinct tenant_id::text from {table}");
        let ids = ["acme", "zeta"].map(|slug| stack.tenant_id(slug).to_string());
        let full: BTreeSet<String> = ids.into();
        assert_eq!(
            texts(&mut owner, &whose).await,
            full,
            "plant a row of each tenant in {table}"
        );
        for role in ROLES {
            let may =
                format!("select 'yes' where has_table_privilege('{role}', '{table}', 'select')");
            if texts(&mut owner, &may).await.is_empty() {
                continue;
            }
            let mut connection = PgConnection::connect(&stack.database().url(role))
                .await
                .unwrap();
            let none = texts(&mut connection, &whose).await;
            assert_eq!(none, BTreeSet::new(), "{role}, {table}: no tenant");
            for (stated, seen) in [
                (stack.tenant_id("zeta").to_string(), 1),
                (uuid::Uuid::nil().to_string(), 0),
                (String::new(), 0),
            ] {
                let mut transaction = connection.begin().await.unwrap();
                sqlx::query("select set_config('archway.tenant_id', $1, true)")
                    .bind(&stated)
                    .execute(&mut *transaction)
                    .await
                    .unwrap();
                let own = texts(&mut transaction, &whose).await;
                assert!(
                    own.len() == seen && own.iter().all(|id| *id == stated),
                    "{role}, {table}: {own:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn the_tenant_stated_in_a_transaction_ends_with_it() {
    let stack = full().await;
    let mut connection = PgConnection::connect(&stack.database().url("archway_worker"))
        .await
        .unwrap();
    let mut transaction = connection.begin().await.unwrap();
    sqlx::query("select set_config('archway.tenant_id', $1, true)")
        .bind(stack.tenant_id("acme").to_string())
        .execute(&mut *transaction)
        .await
        .unwrap();
    let whose = "select distinct tenant_id::text from memory_entries";
    assert_eq!(texts(&mut transaction, whose).await.len(), 1);
    transaction.commit().await.unwrap();
    assert_eq!(texts(&mut connection, whose).await, BTreeSet::new());
}

#[tokio::test]
async fn only_listed_functions_bypass_row_security_and_all_fix_search_path() {
    let stack = two_tenants().await;
    let mut owner = owner(&stack).await;
    let listed: BTreeMap<&str, &str> = DEFINERS.iter().copied().collect();
    assert_eq!(listed.len(), DEFINERS.len());
    let definers = "select proname::text from pg_proc where prosecdef \
         and pronamespace = 'public'::regnamespace";
    let found = texts(&mut owner, definers).await;
    let known: BTreeSet<String> = listed.keys().map(|name| (*name).to_owned()).collect();
    assert_eq!(found, known, "each has a line in this table that says why");
    let elsewhere = format!(
        "{definers} and not coalesce(proconfig @> array['search_path=public, pg_temp'], false)"
    );
    assert_eq!(
        texts(&mut owner, &elsewhere).await,
        BTreeSet::new(),
        "whose names could be shadowed"
    );
    let anybodys = format!("{definers} and has_function_privilege('public', oid, 'execute')");
    assert_eq!(
        texts(&mut owner, &anybodys).await,
        BTreeSet::new(),
        "that everybody may run"
    );
    // A role that cannot create objects in the schema cannot shadow what it calls.
    let makers = "select r.rolname::text from pg_roles r where r.rolname like 'archway\\_%' \
         and has_schema_privilege(r.oid, 'public', 'create')";
    assert_eq!(texts(&mut owner, makers).await, BTreeSet::new());
}
