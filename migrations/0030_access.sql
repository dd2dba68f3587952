-- Owned by archway-gateway: which principals may use which projects and tool families of a tenant.

-- The number of changes to a tenant's access rules. An update notifies gateways, which then read the rules again.
alter table tenants add column access_edition bigint not null default 0;

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

alter table access_rules enable row level security;

create policy access_rules_own on access_rules to archway_gateway, archway_worker
    using (tenant_id = current_tenant());

grant select on access_rules to archway_gateway, archway_worker;
-- The workers read no other column of it.
grant select (id, access_edition) on tenants to archway_worker;

create function count_access_change() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
declare
    changed uuid := case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end;
begin
    update tenants set access_edition = access_edition + 1 where id = changed;
    return null;
end
$$;

create trigger access_rules_changed after insert or update or delete on access_rules
    for each row execute function count_access_change();
