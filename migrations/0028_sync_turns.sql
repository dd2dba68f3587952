-- Owned by archway-sync: what is served already does not wait behind first clones, events of a host list everything
-- anew, and what is not in use costs nothing.

-- In whose turn a due mirror is: what was requested, what is served and may have changed, first clones.
alter table mirrors add column turn smallint not null
    generated always as (case when is_requested and fetched_at is not null then 0
                              when fetched_at is not null then 1
                              when is_requested then 2 else 3 end) stored;
drop index mirrors_due;
create index mirrors_due on mirrors (place, turn, next_at);

-- Digests are of fewer settings from now on: another one would pass for an operator's edit.
update listings set settings_digest = null;

-- Somebody knows of a change that a listing of the newest pushes does not show.
alter table listings add column wants_whole boolean not null default false;

-- A process looks for rows to make only if a source was added or came into use again.
drop trigger sources_changed on sources;
create or replace function notify_source_change() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
begin
    perform pg_notify('archway_sources', 'source');
    return null;
end
$$;
create trigger sources_added after insert on sources
    for each row execute function notify_source_change();

-- The mirrors of a project or tenant that comes into use again are due.
create function request_in_use_again() returns trigger
language plpgsql security definer
set search_path = public, pg_temp
as $$
begin
    if tg_table_name = 'tenants' then
        update mirrors set next_at = now() where tenant_id = new.id;
    else
        update mirrors set next_at = now() where project_id = new.id;
    end if;
    perform pg_notify('archway_sources', 'source');
    return null;
end
$$;
create trigger project_in_use_again after update of removed_at on projects
    for each row when (old.removed_at is not null and new.removed_at is null)
    execute function request_in_use_again();
create trigger tenant_in_use_again after update of disabled_at on tenants
    for each row when (old.disabled_at is not null and new.disabled_at is null)
    execute function request_in_use_again();

-- Says that a process lives, and makes the rows of sources that have none at its place: of the tenants of one pool, or
-- of all. Forgets rows of tenants that moved to another pool, processes that have not been seen for an hour, and the
-- mirrors of their places. Puts off what is not in use.
create or replace function add_mirrors(
    process uuid, process_version text, process_name text, process_host text, process_admin text, at_place text,
    of_pool text
)
returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
    insert into sync_processes (id, place, pool, version, name, host, admin)
    values (process, at_place, of_pool, left(process_version, 64), process_name, process_host, process_admin)
    on conflict (id) do update set seen_at = now();
    delete from sync_processes s where s.seen_at < now() - interval '1 hour';
    if found then
        delete from mirrors m
        where m.leased_until < now() and not exists (select from sync_processes s where s.place = m.place);
    end if;
    delete from mirrors m using tenants t
    where t.id = m.tenant_id and m.leased_until < now() and m.place = at_place and t.pool <> of_pool;
    update mirrors m set next_at = now() + interval '1 hour'
    from projects p join tenants t on t.id = p.tenant_id
    where m.place = at_place and m.next_at <= now() and p.id = m.project_id
      and (p.removed_at is not null or t.disabled_at is not null);
    insert into mirrors (project_id, tenant_id, place)
    select s.project_id, s.tenant_id, at_place
    from sources s
    join projects p on p.id = s.project_id and p.removed_at is null
    join tenants t on t.id = s.tenant_id and (of_pool is null or t.pool = of_pool)
    where not exists (select from mirrors m where m.project_id = s.project_id and m.place = at_place)
    on conflict do nothing;
end
$$;

-- Leases a mirror that is due, unless its host is busy. What was requested has every second turn first, what is served
-- and first clones every fourth: none waits for ever. A host, or the process, may be too busy for clones alone.
drop function lease_mirror(text, uuid, text[], integer);
create function lease_mirror(
    at_place text, holder uuid, busy_hosts text[], hosts_without_clones text[], may_clone boolean,
    lease_seconds integer
)
returns table (
    project_id uuid, tenant_id uuid, tenant text, project text, url text, reference text, credential text, ca_file text,
    https_proxy text, app_settings jsonb, is_listed boolean, is_first boolean, lease_number bigint,
    attempts integer, quiet_seconds bigint
)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
#variable_conflict use_column
declare
    draw double precision := random();
    turns smallint[] := case when draw < 0.5 then '{0,1,2,3}' when draw < 0.75 then '{1,0,2,3}' else '{2,3,0,1}' end;
    of_turn smallint;
begin
    foreach of_turn in array turns loop
        continue when of_turn >= 2 and not may_clone;
        return query
        with due as (
            select m.project_id, m.tenant_id, t.slug as tenant, p.slug as project, s.url, s.reference, s.credential,
                   s.ca_file, s.https_proxy, s.connection_id, s.pushed_at
            from mirrors m
            join sources s on s.project_id = m.project_id
            join projects p on p.id = m.project_id and p.removed_at is null
            join tenants t on t.id = m.tenant_id and t.disabled_at is null
            where m.place = at_place and m.turn = of_turn and m.next_at <= now() and m.leased_until < now()
              and s.host <> all (case when of_turn < 2 then busy_hosts else hosts_without_clones end)
            order by m.next_at limit 1
            for update of m skip locked
        )
        update mirrors m
        set lease_holder = holder, lease_number = m.lease_number + 1,
            leased_until = now() + make_interval(secs => lease_seconds), tried_at = now(), is_requested = false,
            state = case when m.fetched_at is null and m.state in ('new', 'cloning') then 'cloning' else m.state end,
            since = case when m.state = 'new' then now() else m.since end
        from due
        left join connections c on c.id = due.connection_id
        left join listings l on l.connection_id = c.id
        where m.project_id = due.project_id and m.place = at_place
        returning due.project_id, due.tenant_id, due.tenant, due.project, due.url, due.reference, due.credential,
                  due.ca_file, due.https_proxy, case when c.settings -> 'credential' ? 'app' then c.settings end,
                  coalesce(l.vouches_until > now(), false), m.fetched_at is null, m.lease_number, m.attempts,
                  extract(epoch from now() - coalesce(m.changed_at, due.pushed_at, now()))::bigint;
        exit when found;
    end loop;
end
$$;

-- Ends a run that succeeded, and notifies the workers of a new state: also of one that a run published that was stopped
-- before it was recorded. Nothing if the lease was lost. A first clone is no activity: the host's last push is.
create or replace function record_mirror(
    project uuid, at_place text, number bigint, new_state text, has_changed boolean, new_head text,
    new_bytes bigint, next_seconds double precision
)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    with before as (
        select m.head, m.fetched_at, s.pushed_at from mirrors m join sources s on s.project_id = m.project_id
        where m.project_id = project and m.place = at_place and m.lease_number = number for update of m
    ), ended as (
        update mirrors m
        set state = new_state, since = case when m.state = new_state then m.since else now() end,
            attempts = 0, message = null, percent = null, head = new_head, bytes = new_bytes, fetched_at = now(),
            changed_at = case when before.fetched_at is null then coalesce(before.pushed_at, now())
                              when has_changed or before.head is distinct from new_head then now()
                              else coalesce(m.changed_at, now()) end,
            next_at = next_run(m, next_seconds), leased_until = '-infinity', lease_holder = null
        from before
        where m.project_id = project and m.place = at_place and m.lease_number = number
        returning m.tenant_id, has_changed or before.head is distinct from new_head as is_new
    )
    select pg_notify('archway_projects', tenant_id::text || '/' || project) from ended where is_new
$$;

-- Ends a run that failed. What it took room for is gone: `new_bytes` is the size of what is there.
drop function record_mirror_failure(uuid, text, bigint, text, text, double precision);
create function record_mirror_failure(
    project uuid, at_place text, number bigint, new_state text, new_message text, new_bytes bigint,
    next_seconds double precision
)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update mirrors m
    set state = new_state, since = case when m.state = new_state then m.since else now() end,
        attempts = m.attempts + 1, message = left(new_message, 300), percent = null, bytes = new_bytes,
        next_at = next_run(m, next_seconds), leased_until = '-infinity', lease_holder = null
    where m.project_id = project and m.place = at_place and m.lease_number = number
$$;

-- Ends a lease without a result, as of a process that ends. No listing vouches for what it did not bring.
drop function release_mirror_lease(uuid, text, bigint);
create function release_mirror_lease(project uuid, at_place text, number bigint, new_bytes bigint)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update mirrors
    set leased_until = '-infinity', lease_holder = null, percent = null, is_requested = true, bytes = new_bytes
    where project_id = project and place = at_place and lease_number = number
$$;

-- Makes a listing due that lists everything.
create or replace function request_listing(connection uuid)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update listings l
    set wants_whole = true,
        next_at = least(l.next_at, greatest(now(), coalesce(l.tried_at, '-infinity') + interval '10 seconds'))
    where l.connection_id = connection;
    select pg_notify('archway_sources', '');
$$;

-- Leases the listing that is due for longest: of the tenants of one pool, or of all. It is due again when the lease
-- ends, unless it is requested before. Without a mark it lists everything: as requested, but once a minute at most,
-- since hosts limit us.
create or replace function lease_listing(lease_seconds integer, of_pool text)
returns table (
    connection_id uuid, tenant text, name text, settings jsonb, mark jsonb, settings_digest text, guard jsonb,
    accepts_losses boolean, attempts integer, seconds_since_whole bigint, lease_number bigint
)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with due as (
        select l.connection_id, t.slug as tenant, c.name, c.settings
        from listings l
        join connections c on c.id = l.connection_id and c.removed_at is null
        join tenants t on t.id = c.tenant_id and t.disabled_at is null and (of_pool is null or t.pool = of_pool)
        where l.next_at <= now() and l.leased_until < now() and l.not_before <= now()
        order by l.next_at limit 1
        for update of l skip locked
    )
    update listings l
    set lease_number = l.lease_number + 1, tried_at = now(),
        leased_until = now() + make_interval(secs => lease_seconds),
        next_at = now() + make_interval(secs => lease_seconds)
    from due where l.connection_id = due.connection_id
    returning due.connection_id, due.tenant, due.name, due.settings, case when l.wants_whole and not coalesce(l.whole_at > now() - interval '1 minute', false)
                   then null else l.mark end,
              l.settings_digest, l.guard, l.accepts_losses, l.attempts,
              extract(epoch from now() - l.whole_at)::bigint, l.lease_number;
end
$$;

-- Ends a listing. `vouch_seconds` is how long it vouches for repositories without a new push.
create or replace function record_listing(connection uuid, number bigint, outcome jsonb, next_seconds double precision)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update listings l
    set mark = o.mark, settings_digest = o.settings_digest, guard = o.guard, attempts = 0,
        message = left(o.message, 300), listed_at = now(),
        whole_at = case when o.is_whole then now() else l.whole_at end,
        -- Who requested one while this one ran knows of something newer.
        wants_whole = l.wants_whole and (l.next_at < l.leased_until or not o.is_whole),
        served = case when o.is_whole then o.served else l.served end,
        left_out = case when o.is_whole then o.left_out else l.left_out end,
        vouches_until = case when o.vouch_seconds > 0 then now() + make_interval(secs => o.vouch_seconds)
                             else '-infinity' end,
        lag_seconds = o.lag_seconds, accepts_losses = l.accepts_losses and not o.accepted_losses,
        leased_until = '-infinity', next_at = next_listing(l, next_seconds)
    from jsonb_to_record(outcome) as o (
        mark jsonb, settings_digest text, guard jsonb, message text, is_whole boolean, served integer,
        left_out integer, vouch_seconds double precision, lag_seconds integer, accepted_losses boolean
    )
    where l.connection_id = connection and l.lease_number = number
$$;

-- Slugs of the tenant that a new project of the connection cannot have, and URLs that others of its projects serve.
-- Of two connections that serve one repository, the one that was made first does.
drop function taken_by_tenant(uuid);
create function taken_by_tenant(connection uuid)
returns table (slug text, url text, is_first boolean)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select p.slug, case when p.removed_at is null then s.url end,
           o.id is null or (o.created_at, o.id) < (c.created_at, c.id)
    from connections c join projects p on p.tenant_id = c.tenant_id
    left join sources s on s.project_id = p.id
    left join connections o on o.id = s.connection_id
    where c.id = connection and s.connection_id is distinct from connection
$$;

-- Puts projects out of use whose repositories are gone or no longer to be served. Their rows stay. One that an
-- operator removed stays the operator's. Nothing if the lease was lost.
create or replace function record_lost(connection uuid, number bigint, lost jsonb)
returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
    perform from listings h where h.connection_id = connection and h.lease_number = number for update;
    if not found then
        return;
    end if;
    with marked as (
        update sources s set out_of_use = left(l.reason, 32)
        from jsonb_to_recordset(lost) as l (host_id text, reason text), projects p
        where s.connection_id = connection and s.host_id = l.host_id and s.out_of_use is null
          and p.id = s.project_id and p.removed_at is null
        returning s.project_id
    )
    update projects p set removed_at = now() from marked where p.id = marked.project_id;
end
$$;

-- Leases mirrors at this place whose projects have been out of use for so long, to remove them: at most 100.
drop function expired_mirrors(text, double precision);
create function lease_expired_mirrors(at_place text, holder uuid, keep_seconds double precision, lease_seconds integer)
returns table (project_id uuid, tenant text, project text)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with expired as (
        select m.project_id, t.slug as tenant, p.slug as project
        from mirrors m join projects p on p.id = m.project_id join tenants t on t.id = p.tenant_id
        where m.place = at_place and m.leased_until < now()
          and p.removed_at < now() - make_interval(secs => keep_seconds)
        limit 100
        for update of m skip locked
    )
    update mirrors m
    set lease_holder = holder, lease_number = m.lease_number + 1,
        leased_until = now() + make_interval(secs => lease_seconds)
    from expired where m.project_id = expired.project_id and m.place = at_place
    returning expired.project_id, expired.tenant, expired.project;
end
$$;

-- Forgets a mirror that was removed. One whose project came into use meanwhile is made anew.
create or replace function forget_mirror(project uuid, at_place text)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    delete from mirrors m using projects p
    where m.project_id = project and m.place = at_place and p.id = project and p.removed_at is not null;
    update mirrors m
    set state = 'new', since = now(), fetched_at = null, head = null, bytes = null, next_at = now(),
        leased_until = '-infinity', lease_holder = null
    where m.project_id = project and m.place = at_place
$$;

-- The state of a mirror as it is shown: one whose run is late is behind.
create function shown_mirror_state(state text, next_at timestamptz)
returns text
language sql stable
as $$
    select case when state = 'ok' and next_at < now() - interval '1 minute' then 'behind' else state end
$$;

-- The mirrors at this place by state: how many are in use, the bytes of all, and the age of the one that was fetched
-- longest ago, or never since it was added. A source without a row counts as `new`.
create or replace function mirrors_overview(at_place text, of_pool text)
returns table (state text, mirrors bigint, bytes bigint, oldest_seconds double precision)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select coalesce(shown_mirror_state(m.state, m.next_at), 'new'),
           count(*) filter (where p.removed_at is null and t.disabled_at is null),
           coalesce(sum(m.bytes), 0)::bigint,
           coalesce(max(extract(epoch from now() - coalesce(m.fetched_at, m.since)))
                    filter (where p.removed_at is null and t.disabled_at is null), 0)::double precision
    from sources s
    join projects p on p.id = s.project_id
    join tenants t on t.id = s.tenant_id
    left join mirrors m on m.project_id = s.project_id and m.place = at_place
    where of_pool is null or t.pool = of_pool
    group by 1
$$;

revoke all on function
    lease_mirror(text, uuid, text[], text[], boolean, integer),
    record_mirror_failure(uuid, text, bigint, text, text, bigint, double precision),
    release_mirror_lease(uuid, text, bigint, bigint), taken_by_tenant(uuid),
    lease_expired_mirrors(text, uuid, double precision, integer), request_in_use_again()
    from public;
grant execute on function
    lease_mirror(text, uuid, text[], text[], boolean, integer),
    record_mirror_failure(uuid, text, bigint, text, text, bigint, double precision),
    release_mirror_lease(uuid, text, bigint, bigint), taken_by_tenant(uuid),
    lease_expired_mirrors(text, uuid, double precision, integer)
    to archway_sync;
