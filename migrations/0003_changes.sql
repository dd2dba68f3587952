-- Owned by archway-gateway: sessions that were ended, removed projects, and word of every change.

-- A session is its handle, which any gateway verifies by itself; a row says where one differs
-- from that. Rows go when their handles would have expired anyway.
create table sessions (
    tenant_id  uuid not null references tenants (id) on delete cascade,
    -- The owner: `key:<lineage>`.
    principal  text not null,
    id         uuid not null,
    ended      boolean not null default false,
    -- The least severity of log messages that the client wants; null: none were asked for.
    log_level  text check (log_level in ('debug', 'info', 'notice', 'warning', 'error',
                                         'critical', 'alert', 'emergency')),
    expires_at timestamptz not null,
    -- When the row was last written, for gateways that read only what is new to them.
    changed_at timestamptz not null default clock_timestamp(),
    primary key (tenant_id, principal, id)
);

create index sessions_changed on sessions (changed_at);
create index sessions_expired on sessions (expires_at);

-- All sessions of a principal that were issued before a moment are ended: what takes the place of
-- its rows when it has ended too many one by one.
create table session_floors (
    tenant_id     uuid not null references tenants (id) on delete cascade,
    principal     text not null,
    issued_before timestamptz not null,
    changed_at    timestamptz not null default clock_timestamp(),
    primary key (tenant_id, principal)
);

alter table sessions enable row level security;
alter table session_floors enable row level security;

create policy sessions_own on sessions to archway_gateway
    using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
create policy session_floors_own on session_floors to archway_gateway
    using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

grant select, insert, update, delete on sessions, session_floors to archway_gateway;

-- What a gateway keeps of all tenants, to look at handles without a look-up: what was written at
-- `since` or later, the earliest `most` of it. A row of a principal's floor has no id.
create function session_changes(since timestamptz, most bigint)
returns table (
    tenant_id  uuid,
    principal  text,
    id         uuid,
    ended      boolean,
    log_level  text,
    -- Of a session: when its handle expires. Of a floor: before when its handles were issued.
    moment     timestamptz,
    changed_at timestamptz
)
language sql stable security definer
set search_path = public, pg_temp
as $$
    (select s.tenant_id, s.principal, s.id, s.ended, s.log_level, s.expires_at, s.changed_at
     from sessions s where s.changed_at >= since and s.expires_at > now()
     order by s.changed_at limit most)
    union all
    (select f.tenant_id, f.principal, null, true, null, f.issued_before, f.changed_at
     from session_floors f
     where f.changed_at >= since and f.issued_before > now() - interval '1 day'
     order by f.changed_at limit most)
    order by changed_at limit most
$$;

revoke all on function session_changes(timestamptz, bigint) from public;
grant execute on function session_changes(timestamptz, bigint) to archway_gateway;

-- What has expired is nobody's any more. Any gateway may sweep, now and then.
create function forget_expired_sessions() returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    delete from sessions where expires_at <= now();
    delete from session_floors where issued_before <= now() - interval '1 day'
$$;

revoke all on function forget_expired_sessions() from public;
grant execute on function forget_expired_sessions() to archway_gateway;

-- A removed project answers to nobody; its slug is free again only when its rows are purged.
alter table projects add column removed_at timestamptz;

-- Every gateway listens on the channel `archway_changes`. Anybody who may connect may notify, so
-- a message only says what to look at again: {"kind": "key" | "tenant" | "sessions", "id"?}.
create function notify_change() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
declare
    row record;
begin
    if tg_level = 'STATEMENT' then
        perform pg_notify('archway_changes', json_build_object('kind', tg_argv[0])::text);
        return null;
    end if;
    if tg_op = 'DELETE' then row := old; else row := new; end if;
    perform pg_notify('archway_changes',
                      json_build_object('kind', tg_argv[0], 'id', row.id)::text);
    return null;
end
$$;

create trigger api_keys_changed after insert or update or delete on api_keys
    for each row execute function notify_change('key');
create trigger tenants_changed after update or delete on tenants
    for each row execute function notify_change('tenant');
create trigger sessions_changed after insert or update on sessions
    for each statement execute function notify_change('sessions');
create trigger session_floors_changed after insert or update on session_floors
    for each statement execute function notify_change('sessions');
