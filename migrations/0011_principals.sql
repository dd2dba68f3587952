-- Owned by archway-gateway: callers by tokens of OIDC issuers, as far as they were taken back.

-- Tokens of a principal that were issued before a moment are refused. Whose subject it is says its
-- issuer, not a tenant: one principal may act in several.
create table principals (
    -- SHA-256 of issuer and subject, in base64url.
    id             text primary key check (id ~ '^[0-9A-Za-z_-]{43}$'),
    issuer         text not null,
    subject        text not null,
    revoked_before timestamptz not null
);

create index principals_revoked on principals (revoked_before);

-- Read by the functions below alone: no role of a running part has a grant or a policy.
alter table principals enable row level security;

create trigger principals_changed after insert or update or delete on principals
    for each row execute function notify_change('principal');

-- What a call by a good token is judged by, beside the token: asked before a tenant's transaction
-- can be. No row for a slug that no tenant has.
create function find_principal(of_tenant text, principal_id text)
returns table (
    tenant_id uuid,
    pool text,
    -- Objects {level, of, per_minute, of_key}: the rows of the tenant.
    limits jsonb,
    -- False while the tenant is disabled.
    live boolean,
    -- Tokens issued before are refused; null: none were taken back.
    revoked_before timestamptz
)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select t.id, t.pool,
           (select coalesce(jsonb_agg(jsonb_build_object(
                       'level', l.level, 'of', l.of, 'per_minute', l.per_minute,
                       'of_key', false)), '[]')
            from limits l where l.tenant_id = t.id and l.lineage is null),
           t.disabled_at is null,
           (select p.revoked_before from principals p where p.id = principal_id)
    from tenants t where t.slug = of_tenant
$$;

-- No token lives for longer than an hour and its issuer's leeway: what was taken back earlier has
-- ended by itself. Any gateway may sweep, now and then.
create function forget_old_revocations() returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    delete from principals where revoked_before < now() - interval '2 hours'
$$;

revoke all on function find_principal(text, text), forget_old_revocations() from public;
grant execute on function find_principal(text, text), forget_old_revocations() to archway_gateway;
