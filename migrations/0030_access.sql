-- Owned by archway-gateway: which principals may use which projects and tool families of a tenant.

-- Rules add up, and one that denies wins. A tenant without any gives everything to everyone.
create table access_rules (
    -- A pass names rules by it. A changed rule is a new one, so what a pass names never changes.
    id         bigint generated always as identity primary key,
    tenant_id  uuid not null references tenants (id) on delete cascade,
    -- Each of `everyone`, `group:NAME`, `subject:ISSUER#SUBJECT`, `key:LABEL`.
    who        text[] not null check (cardinality(who) between 1 and 100),
    -- Slugs, globs of slugs, `topic:NAME`.
    projects   text[] not null check (cardinality(projects) between 1 and 200),
    -- Null: all.
    families   text[] check (cardinality(families) between 1 and 20),
    deny       boolean not null default false,
    created_at timestamptz not null default now()
);

create index access_rules_tenant on access_rules (tenant_id, id);

-- How often a tenant's rules have changed: a worker that knows an earlier edition than a pass names reads them again.
create table access_editions (
    tenant_id uuid primary key references tenants (id) on delete cascade,
    edition   bigint not null
);

alter table access_rules enable row level security;
alter table access_editions enable row level security;

create policy access_rules_own on access_rules to archway_gateway, archway_worker
    using (tenant_id = current_tenant());
create policy access_editions_own on access_editions to archway_gateway, archway_worker
    using (tenant_id = current_tenant());

grant select on access_rules, access_editions to archway_gateway, archway_worker;

-- Counts the change, and notifies the gateways, which then read what they know of the tenant again.
create function count_access_change() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
declare
    changed uuid := case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end;
begin
    -- A tenant that is being erased has none any more.
    insert into access_editions as e select id, 1 from tenants where id = changed
    on conflict (tenant_id) do update set edition = e.edition + 1;
    perform pg_notify('archway_changes', json_build_object('kind', 'tenant', 'id', changed)::text);
    return null;
end
$$;

create trigger access_rules_changed after insert or update or delete on access_rules
    for each row execute function count_access_change();
