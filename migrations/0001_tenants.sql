-- Owned by archway-gateway: tenants, projects, API keys. The workers read projects, never write them.

-- The runtime roles own nothing and cannot bypass row-level security. They belong to the cluster,
-- not to the database, so another database's migration may be making them at this moment.
do $$
declare
    role text;
begin
    foreach role in array array['archway_gateway', 'archway_worker'] loop
        if not exists (select from pg_roles where rolname = role) then
            begin
                execute format('create role %I login nosuperuser nobypassrls nocreatedb nocreaterole', role);
            exception when duplicate_object or unique_violation then
                null;
            end;
        end if;
    end loop;
end
$$;

-- Whoever may make things in a schema may shadow the names others resolve in it. A new database of
-- PostgreSQL 15 begins like this; one that was upgraded does not.
revoke create on schema public from public;

-- The tenant of the running transaction, or null: no policy below lets null see a row.
create function current_tenant() returns uuid
language sql stable
as $$ select nullif(current_setting('archway.tenant_id', true), '')::uuid $$;

create table tenants (
    id          uuid primary key default gen_random_uuid(),
    slug        text not null unique check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    name        text not null,
    created_at  timestamptz not null default now(),
    -- Set: every credential of the tenant answers 401.
    disabled_at timestamptz
);

create table projects (
    id          uuid primary key default gen_random_uuid(),
    tenant_id   uuid not null references tenants (id),
    slug        text not null check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    -- The display name; null shows the slug.
    name        text,
    -- Globs of what read_repo_file may read; null for the built-in list.
    allow_globs text[],
    -- Globs that open names the path rules block, and that close further ones.
    open_globs  text[] not null default '{}',
    close_globs text[] not null default '{}',
    created_at  timestamptz not null default now(),
    unique (tenant_id, slug),
    -- For foreign keys that hold a row to a project of its own tenant.
    unique (tenant_id, id)
);

create table api_keys (
    -- The public part of the key.
    id              text primary key check (id ~ '^[0-9A-Za-z]{12}$'),
    tenant_id       uuid not null references tenants (id),
    -- The same for a key and what it was rotated to: sessions and limits belong to it.
    lineage         uuid not null default gen_random_uuid(),
    label           text not null default '',
    -- HMAC-SHA-256 of the secret part, and which line of the root secret keyed it.
    secret_hash     bytea not null check (length(secret_hash) = 32),
    secret_line     text not null,
    scopes          text[] not null,
    -- Null: all of the tenant's projects, all families of tools.
    projects        text[],
    families        text[],
    default_project text,
    agents          integer not null default 1 check (agents between 1 and 10000),
    created_at      timestamptz not null default now(),
    expires_at      timestamptz,
    revoked_at      timestamptz
);

create index api_keys_tenant on api_keys (tenant_id);

alter table tenants enable row level security;
alter table projects enable row level security;
alter table api_keys enable row level security;

create policy tenants_own on tenants to archway_gateway, archway_worker
    using (id = current_tenant());
create policy projects_own on projects to archway_gateway, archway_worker
    using (tenant_id = current_tenant());
create policy api_keys_own on api_keys to archway_gateway
    using (tenant_id = current_tenant());

grant select on tenants, projects, api_keys to archway_gateway;
grant select on projects to archway_worker;

-- The one query that runs before a tenant is known.
create function find_api_key(key_id text)
returns table (
    tenant_id uuid,
    tenant_slug text,
    lineage uuid,
    secret_hash bytea,
    secret_line text,
    scopes text[],
    projects text[],
    families text[],
    default_project text,
    agents integer,
    -- False for a key that is revoked, or whose tenant is disabled.
    live boolean,
    -- For the caller to compare: what is good now may not be while the answer is kept.
    expires_at timestamptz
)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select k.tenant_id, t.slug, k.lineage, k.secret_hash, k.secret_line, k.scopes, k.projects,
           k.families, k.default_project, k.agents,
           t.disabled_at is null and k.revoked_at is null, k.expires_at
    from api_keys k join tenants t on t.id = k.tenant_id
    where k.id = key_id
$$;

revoke all on function find_api_key(text) from public;
grant execute on function find_api_key(text) to archway_gateway;
