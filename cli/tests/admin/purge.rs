//! `archway tenant purge`: no row of the tenant is left, in any table.

use crate::installation::Installation;

/// Statements that add a row per tenant or project to the tables that no command writes.
const ROWS: &str = "
    insert into sessions (tenant_id, principal, id, expires_at)
        select id, 'key:x', gen_random_uuid(), now() + interval '1 day' from tenants;
    insert into session_floors (tenant_id, principal, issued_before)
        select id, 'key:x', now() from tenants;
    insert into file_accesses (tenant_id, project_id, principal, path, day, count, last_at)
        select tenant_id, id, 'key:x', 'a.rs', current_date, 1, now() from projects;
    insert into worker_mounts (worker, pool, tenant_id, project_id)
        select 'w', 'shared', tenant_id, id from projects;
    insert into sources (tenant_id, project_id, url, host)
        select tenant_id, id, 'https://host/a', 'host' from projects;
    insert into mirrors (tenant_id, project_id, place) select tenant_id, project_id, '' from sources;
    insert into connections (tenant_id, name, settings) select id, 'org', '{\"permissions\": \"host\"}' from tenants;
    insert into host_readers (project_id, connection_id, tenant_id)
        select s.project_id, h.connection_id, s.tenant_id from sources s join host_permissions h using (tenant_id);
    insert into host_accounts (connection_id, tenant_id, account, login)
        select connection_id, tenant_id, 1, 'ada' from host_permissions;
    insert into access_rules (tenant_id, who, projects) select id, array['everyone'], array['*'] from tenants;
    insert into memory_logs (tenant_id, project_id, log, count, bytes, last_at)
        select tenant_id, id, 'discoveries', 1, 1, now() from projects;
    insert into memory_entries (tenant_id, project_id, file, number, principal, written_at, entry,
                                words)
        select tenant_id, id, 'decisions.jsonl', 1, 'key:x', now(), '{}', '' from projects;
    insert into discoveries (tenant_id, project_id, principal, kind, content, paths, created_at)
        select tenant_id, id, 'key:x', 'rule', 'x', '{}', now() from projects;
    insert into memory_writes (tenant_id, project_id, principal, tool, key, digest)
        select tenant_id, id, 'key:x', 'record_discovery', id::text, '' from projects;
    insert into memory_erasures (tenant_id, project_id, what, reason)
        select tenant_id, id, 'decisions.jsonl/1', 'x' from projects;
    insert into indexes (tenant_id, project_id, made_by)
        select tenant_id, id, 'x' from projects;
    insert into index_documents (tenant_id, index_id, source, name, blob)
        select tenant_id, id, 0, 'a.rs', decode(repeat('00', 20), 'hex') from indexes;
    insert into index_texts (tenant_id, index_id, blob, chunks, words)
        select tenant_id, id, decode(repeat('00', 20), 'hex'), 1, 1 from indexes;
    insert into index_pieces (tenant_id, project_id, made_by, blob, pieces)
        select tenant_id, id, 'x', decode(repeat('00', 20), 'hex'), '' from projects;
    insert into workflows (tenant_id, principal, session, prompt, arguments, tools)
        select id, 'key:x', gen_random_uuid(), 'x', '{}', '{}' from tenants;
    select make_audit_month((extract(epoch from now()) * 1000000)::bigint);
    insert into audit_records (tenant_id, chain, number, at, record, mac)
        select id, gen_random_uuid(), 1, now(), '{}', sha256('x') from tenants;
    insert into audit_anchors (tenant_id, chain, number, mac, seal)
        select id, gen_random_uuid(), 1, sha256('x'), sha256('x') from tenants;
    insert into usage_months (tenant_id, month) select id, now() from tenants;
    insert into usage_hours (tenant_id, hour) select id, date_trunc('hour', now()) from tenants;
";

/// All tables with a tenant's rows, in this version or a later one.
fn tables(installation: &Installation) -> Vec<String> {
    let tables = installation.texts(
        "select c.table_name::text from information_schema.columns c \
         join information_schema.tables t using (table_schema, table_name) \
         where c.column_name = 'tenant_id' and c.table_schema = 'public' \
               and t.table_type = 'BASE TABLE' order by 1",
    );
    assert!(tables.len() >= 6, "{tables:?}");
    tables
}

#[test]
fn purging_a_tenant_leaves_no_row_of_it_and_every_row_of_others() {
    let installation = Installation::new();
    for tenant in ["acme", "zeta"] {
        installation.run(&format!("tenant create {tenant}")).ok();
        installation.run(&format!("project add {tenant} site")).ok();
        for change in ["add", "remove"] {
            installation
                .run(&format!("project {change} {tenant} gone"))
                .ok();
        }
        installation.run(&format!("key issue {tenant}")).ok();
        installation
            .run(&format!("limits set {tenant} hello=5"))
            .ok();
    }
    installation.sql(ROWS);
    let tables = tables(&installation);
    let count = |table: &str, slug: &str| {
        installation.count(&format!(
            "select count(*) from {table} join tenants t on t.id = tenant_id where t.slug = '{slug}'"
        ))
    };
    let of_zeta: Vec<i64> = tables.iter().map(|table| count(table, "zeta")).collect();
    for table in &tables {
        assert!(count(table, "acme") > 0, "give {table} a row in this test");
    }
    let id = installation
        .texts("select id::text from tenants where slug = 'acme'")
        .remove(0);

    let purge = "tenant purge acme --confirm acme";
    let refusal = installation.run(purge).refusal();
    assert!(refusal.contains("in use; disable it first"), "{refusal}");
    installation.run("tenant disable acme").ok();
    for unsure in ["tenant purge acme", "tenant purge acme --confirm zeta"] {
        let refusal = installation.run(unsure).refusal();
        assert!(refusal.contains("projects (2) and keys (1)"), "{refusal}");
        assert!(refusal.contains("--confirm acme"), "{refusal}");
    }
    assert!(count("projects", "acme") > 0);
    assert_eq!(installation.run(purge).ok(), "tenant acme: erased\n");
    for table in &tables {
        let left = installation.count(&format!(
            "select count(*) from {table} where tenant_id = '{id}'"
        ));
        assert_eq!(left, 0, "{table}");
    }
    let still: Vec<i64> = tables.iter().map(|table| count(table, "zeta")).collect();
    assert_eq!(still, of_zeta);
    installation.run("tenant create acme").ok();
}
