-- Owned by archway-sync: no request is lost, a place belongs to a living process, and a folder to one project.

-- The processes of `archway sync`.
create table sync_processes (
    id         uuid primary key,
    -- Whose mirrors it has: empty for a shared volume, else the machine's name.
    place      text not null check (length(place) <= 253),
    pool       text check (length(pool) <= 63),
    version    text not null check (length(version) <= 64),
    name       text not null check (length(name) <= 253),
    -- What its host calls itself, and `address:port` of its admin port; null without one.
    host       text check (length(host) between 1 and 253),
    admin      text check (length(admin) between 1 and 64),
    started_at timestamptz not null default now(),
    seen_at    timestamptz not null default now()
);

alter table sync_processes enable row level security;
create index mirrors_of_place on mirrors (place, project_id);

-- A host that limits us is not asked before then, whoever requests a listing.
alter table listings add column not_before timestamptz not null default '-infinity';

-- Says that a process lives, and makes the rows of sources that have none at its place: of the
-- tenants of one pool, or of all. Forgets rows of tenants that moved to another pool, processes that have not been
-- seen for an hour, and the mirrors of their places.
drop function add_mirrors(text, text);
create function add_mirrors(
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
    delete from mirrors m using tenants t
    where t.id = m.tenant_id and m.leased_until < now() and m.place = at_place and t.pool <> of_pool;
    delete from mirrors m
    where m.leased_until < now() and m.place in (
        select distinct place from mirrors except select place from sync_processes
    );
    insert into mirrors (project_id, tenant_id, place)
    select s.project_id, s.tenant_id, at_place
    from sources s
    join projects p on p.id = s.project_id and p.removed_at is null
    join tenants t on t.id = s.tenant_id and (of_pool is null or t.pool = of_pool)
    where not exists (select from mirrors m where m.project_id = s.project_id and m.place = at_place)
    on conflict do nothing;
end
$$;

-- A process that ends says so.
create function end_sync_process(process uuid)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    -- Its place stays for an hour: most processes come back at once.
    update sync_processes set seen_at = now() - interval '10 minutes' where id = process
$$;

-- Leases the mirror that is due for longest, unless its host is busy. `app_settings` are those of a connection
-- with a GitHub App.
drop function lease_mirror(text, uuid, text[], integer);
create function lease_mirror(at_place text, holder uuid, busy_hosts text[], lease_seconds integer)
returns table (
    project_id uuid, tenant_id uuid, tenant text, project text, url text, reference text, credential text, ca_file text,
    https_proxy text, app_settings jsonb, is_listed boolean, lease_number bigint,
    attempts integer, quiet_seconds bigint
)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with due as (
        select m.project_id, m.tenant_id, t.slug as tenant, p.slug as project, s.url, s.reference, s.credential,
               s.ca_file, s.https_proxy, s.connection_id
        from mirrors m
        join sources s on s.project_id = m.project_id
        join projects p on p.id = m.project_id and p.removed_at is null
        join tenants t on t.id = m.tenant_id and t.disabled_at is null
        where m.place = at_place and m.next_at <= now() and m.leased_until < now()
          and s.host <> all (busy_hosts)
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
    returning due.project_id, due.tenant_id, due.tenant, due.project, due.url, due.reference, due.credential, due.ca_file,
              due.https_proxy, case when c.settings -> 'credential' ? 'app' then c.settings end,
              coalesce(l.vouches_until > now(), false), m.lease_number, m.attempts,
              extract(epoch from now() - coalesce(m.changed_at, now()))::bigint;
end
$$;

-- When the next run is due: a request that came while this one ran is served.
create function next_run(m mirrors, next_seconds double precision)
returns timestamptz
language sql stable
set search_path = public, pg_temp
as $$
    select case when m.is_requested then greatest(now(), m.tried_at + interval '10 seconds')
                else now() + make_interval(secs => next_seconds) end
$$;

-- Ends a run that succeeded, and notifies the workers of a new state. Nothing if the lease was lost.
create or replace function record_mirror(
    project uuid, at_place text, number bigint, new_state text, has_changed boolean, new_head text,
    new_bytes bigint, next_seconds double precision
)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    with ended as (
        update mirrors m
        set state = new_state, since = case when m.state = new_state then m.since else now() end,
            attempts = 0, message = null, percent = null, head = new_head, bytes = new_bytes, fetched_at = now(),
            changed_at = case when has_changed then now() else coalesce(m.changed_at, now()) end,
            next_at = next_run(m, next_seconds), leased_until = '-infinity', lease_holder = null
        where m.project_id = project and m.place = at_place and m.lease_number = number
        returning m.tenant_id
    )
    select pg_notify('archway_projects', tenant_id::text || '/' || project) from ended where has_changed
$$;

-- Ends a run that failed.
create or replace function record_mirror_failure(
    project uuid, at_place text, number bigint, new_state text, new_message text, next_seconds double precision
)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update mirrors m
    set state = new_state, since = case when m.state = new_state then m.since else now() end,
        attempts = m.attempts + 1, message = left(new_message, 300), percent = null,
        next_at = next_run(m, next_seconds), leased_until = '-infinity', lease_holder = null
    where m.project_id = project and m.place = at_place and m.lease_number = number
$$;

-- Ends a lease without a result, as of a process that ends. No listing vouches for what it did not bring.
create or replace function release_mirror_lease(project uuid, at_place text, number bigint)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update mirrors
    set leased_until = '-infinity', lease_holder = null, percent = null, is_requested = true
    where project_id = project and place = at_place and lease_number = number
$$;

-- Puts off due mirrors for which a listing vouches: nothing was pushed since they were fetched. What changed in the
-- last quarter of an hour is fetched nevertheless, and everything once a day. A run that was killed brought nothing.
create or replace function vouch_for_mirrors(at_place text, seconds double precision)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update mirrors m
    set fetched_at = now(), next_at = now() + make_interval(secs => seconds * (0.8 + 0.2 * random()))
    from sources s join listings l on l.connection_id = s.connection_id
    where m.place = at_place and m.next_at <= now() and m.leased_until < now() and m.lease_holder is null
      and m.state = 'ok' and not m.is_requested and s.project_id = m.project_id and l.vouches_until > now()
      and m.fetched_at > s.pushed_at + make_interval(secs => l.lag_seconds)
      and m.changed_at < now() - interval '15 minutes' and m.tried_at > now() - interval '1 day'
$$;

-- A new or changed connection is listed at once, and as a whole. A listing that is under way goes by the old
-- settings: it may record nothing more.
create or replace function make_listing() returns trigger
language plpgsql security definer
set search_path = public, pg_temp
as $$
begin
    insert into listings (connection_id, tenant_id) values (new.id, new.tenant_id)
    on conflict (connection_id) do update
        set next_at = now(), attempts = 0, mark = null, not_before = '-infinity',
            lease_number = listings.lease_number + 1, leased_until = '-infinity', vouches_until = '-infinity';
    perform pg_notify('archway_sources', '');
    return null;
end
$$;

-- Leases the listing that is due for longest: of the tenants of one pool, or of all. It is due again when the lease
-- ends, unless it is requested before.
drop function lease_listing(integer);
create function lease_listing(lease_seconds integer, of_pool text)
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
    returning due.connection_id, due.tenant, due.name, due.settings, l.mark, l.settings_digest, l.guard,
              l.accepts_losses, l.attempts,
              extract(epoch from now() - l.whole_at)::bigint, l.lease_number;
end
$$;

-- When the next listing is due: one that was requested while this one ran is served.
create function next_listing(l listings, next_seconds double precision)
returns timestamptz
language sql stable
set search_path = public, pg_temp
as $$
    select case when l.next_at < l.leased_until then l.next_at
                else now() + make_interval(secs => next_seconds) end
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

-- Ends a listing that failed. The host is not asked for `wait_seconds`; 0 if it did not say.
drop function record_listing_failure(uuid, bigint, text, double precision);
create function record_listing_failure(
    connection uuid, number bigint, new_message text, next_seconds double precision, wait_seconds double precision
)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update listings l
    set attempts = l.attempts + 1, message = left(new_message, 300), leased_until = '-infinity',
        next_at = next_listing(l, next_seconds),
        not_before = case when wait_seconds > 0 then now() + make_interval(secs => wait_seconds)
                          else '-infinity' end
    where l.connection_id = connection and l.lease_number = number
$$;

-- Ends a lease without a result, as of a process that ends.
create function release_listing_lease(connection uuid, number bigint)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update listings set leased_until = '-infinity', next_at = now()
    where connection_id = connection and lease_number = number
$$;

-- The mirrors that there may be at this place, by their projects' ids; and whether the database has seen them made.
drop function mirror_names(text);
create function mirrors_at(at_place text)
returns table (project_id uuid, tenant text, project text, is_made boolean)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select m.project_id, t.slug, p.slug, m.fetched_at is not null
    from mirrors m join projects p on p.id = m.project_id join tenants t on t.id = p.tenant_id
    where m.place = at_place
$$;

-- Mirrors that are gone from the volume are made anew.
create function make_mirrors_anew(at_place text, projects uuid[])
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update mirrors m
    set state = 'new', since = now(), fetched_at = null, head = null, bytes = null, next_at = now()
    where m.place = at_place and m.project_id = any (projects) and m.leased_until < now()
$$;

-- Other access to a remote is tried at once.
create function request_with_new_access() returns trigger
language plpgsql security definer
set search_path = public, pg_temp
as $$
begin
    update mirrors m
    set is_requested = true, next_at = greatest(now(), coalesce(m.tried_at, '-infinity') + interval '10 seconds')
    where m.project_id = new.project_id;
    return null;
end
$$;

create trigger source_access_changed after update on sources
    for each row when ((old.credential, old.ca_file, old.https_proxy)
                       is distinct from (new.credential, new.ca_file, new.https_proxy))
    execute function request_with_new_access();

revoke all on function
    lease_mirror(text, uuid, text[], integer), add_mirrors(uuid, text, text, text, text, text, text), end_sync_process(uuid), next_run(mirrors, double precision),
    lease_listing(integer, text), next_listing(listings, double precision),
    record_listing_failure(uuid, bigint, text, double precision, double precision),
    release_listing_lease(uuid, bigint), mirrors_at(text), make_mirrors_anew(text, uuid[]),
    request_with_new_access()
    from public;
grant execute on function
    lease_mirror(text, uuid, text[], integer), add_mirrors(uuid, text, text, text, text, text, text), end_sync_process(uuid), lease_listing(integer, text),
    record_listing_failure(uuid, bigint, text, double precision, double precision),
    release_listing_lease(uuid, bigint), mirrors_at(text), make_mirrors_anew(text, uuid[])
    to archway_sync;
