-- Owned by archway-gateway: what tenants and keys may spend, their pools, the last known tools.

-- What is set otherwise than by default. `of` is a tool, a method with a limit of its own, or
-- 'total', the weighted budget of everything. A row of a key (by its lineage: it outlives a
-- rotation) goes before one of its tenant, and either sets its own level only.
create table limits (
    tenant_id  uuid not null references tenants (id) on delete cascade,
    lineage    uuid,
    level      text not null check (level in ('session', 'key', 'tenant')),
    of         text not null check (of ~ '^[a-z][a-z0-9_/]{0,63}$'),
    -- 0: without a limit at this level.
    per_minute integer not null check (per_minute between 0 and 1000000),
    -- A session has no total of its own, and what a key may spend says nothing of its tenant.
    check (not (level = 'session' and of = 'total')),
    check (not (level = 'tenant' and lineage is not null)),
    unique nulls not distinct (tenant_id, lineage, level, of)
);

-- Read by `find_api_key` alone: no role of a running part has a grant or a policy.
alter table limits enable row level security;

-- What changed is what the tenant's keys may do: their records are read again.
create function notify_limits() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
declare
    row record;
begin
    if tg_op = 'DELETE' then row := old; else row := new; end if;
    perform pg_notify('archway_changes',
                      json_build_object('kind', 'tenant', 'id', row.tenant_id)::text);
    return null;
end
$$;

create trigger limits_changed after insert or update or delete on limits
    for each row execute function notify_limits();

-- The workers that serve a tenant: those that all share, or its own.
alter table tenants add column pool text not null default 'shared'
    check (pool ~ '^[a-z0-9][a-z0-9-]{0,62}$');

-- The tools of a pool as its workers last gave them: what is listed while no worker is there.
create table catalogs (
    pool     text primary key check (pool ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    -- A `ToolList`, as it came.
    tools    bytea not null check (length(tools) <= 4194304),
    taken_at timestamptz not null default now()
);

-- They hold nothing of any tenant.
grant select, insert, update on catalogs to archway_gateway;

-- The one query that runs before a tenant is known, with all that a call is judged by.
drop function find_api_key(text);
create function find_api_key(key_id text)
returns table (
    tenant_id uuid,
    tenant_slug text,
    pool text,
    lineage uuid,
    secret_hash bytea,
    secret_line text,
    scopes text[],
    projects text[],
    families text[],
    default_project text,
    agents integer,
    -- Objects {level, of, per_minute, of_key}: the rows of the tenant and of this key.
    limits jsonb,
    -- False for a key that is revoked, or whose tenant is disabled.
    live boolean,
    -- For the caller to compare: what is good now may not be while the answer is kept.
    expires_at timestamptz
)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select k.tenant_id, t.slug, t.pool, k.lineage, k.secret_hash, k.secret_line, k.scopes,
           k.projects, k.families, k.default_project, k.agents,
           (select coalesce(jsonb_agg(jsonb_build_object(
                       'level', l.level, 'of', l.of, 'per_minute', l.per_minute,
                       'of_key', l.lineage is not null)), '[]')
            from limits l
            where l.tenant_id = k.tenant_id and (l.lineage is null or l.lineage = k.lineage)),
           t.disabled_at is null and k.revoked_at is null, k.expires_at
    from api_keys k join tenants t on t.id = k.tenant_id
    where k.id = key_id
$$;

revoke all on function find_api_key(text) from public;
grant execute on function find_api_key(text) to archway_gateway;
