-- Owned by archway-sync: organisations whose repositories become projects by themselves.

-- An organisation at a host, or a list of URLs.
create table connections (
    id         uuid primary key default gen_random_uuid(),
    tenant_id  uuid not null references tenants (id) on delete cascade,
    name       text not null check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    -- As `ConnectionSettings` writes it: checked, without a secret.
    settings   jsonb not null check (length(settings::text) <= 1048576),
    created_at timestamptz not null default now(),
    -- Its projects are out of use then. Adding it again brings them back under their slugs.
    removed_at timestamptz,
    unique (tenant_id, name),
    unique (tenant_id, id)
);

-- How the listings of a connection go. One process lists it for all.
create table listings (
    connection_id   uuid primary key,
    tenant_id       uuid not null,
    -- What the next listing needs: `ListingMark` and `RemovalGuard`. The mark is of settings with this digest.
    mark            jsonb,
    settings_digest text check (length(settings_digest) <= 64),
    guard           jsonb,
    -- Repositories that are served, and that the filters left out, in the last whole listing.
    served          integer not null default 0,
    left_out        integer not null default 0,
    -- Failed listings in a row, and why the last one failed or was held back.
    attempts        integer not null default 0,
    message         text check (length(message) <= 300),
    tried_at        timestamptz,
    listed_at       timestamptz,
    whole_at        timestamptz,
    -- Until then, a repository whose push is known needs no fetch; and how late the host may list a push.
    vouches_until   timestamptz not null default '-infinity',
    lag_seconds     integer not null default 0,
    next_at         timestamptz not null default now(),
    -- An operator said that what is missing is gone.
    accepts_losses  boolean not null default false,
    lease_number    bigint not null default 0,
    leased_until    timestamptz not null default '-infinity',
    foreign key (tenant_id, connection_id) references connections (tenant_id, id) on delete cascade
);

alter table connections enable row level security;
alter table listings enable row level security;
create policy connections_own on connections to archway_gateway, archway_worker
    using (tenant_id = current_tenant());
create policy listings_own on listings to archway_gateway, archway_worker
    using (tenant_id = current_tenant());

-- What a listing found. All null for a source that an operator wrote.
alter table sources
    add column connection_id  uuid,
    -- The host's id, by which a renamed repository is known, and its path there.
    add column host_id        text check (length(host_id) <= 2048),
    add column host_path      text check (length(host_path) <= 512),
    add column pushed_at      timestamptz,
    add column is_private     boolean not null default true,
    -- Why the listing put it out of use: its project is removed then. Null while it is in use.
    add column out_of_use     text check (length(out_of_use) <= 32),
    -- For agents.
    add column description    text check (length(description) <= 2000),
    add column default_branch text check (length(default_branch) <= 255),
    add column topics         text[] not null default '{}' check (cardinality(topics) <= 10),
    add foreign key (tenant_id, connection_id) references connections (tenant_id, id);

create unique index sources_of_connection on sources (connection_id, host_id);

grant select (description, default_branch, topics) on sources to archway_worker;
grant select (changed_at) on mirrors to archway_worker;

-- An operator, a webhook or a listing asked for a run, so that no listing can vouch for the mirror.
alter table mirrors add column is_requested boolean not null default false;

-- A new or changed connection is listed at once, and as a whole.
create function make_listing() returns trigger
language plpgsql security definer
set search_path = public, pg_temp
as $$
begin
    insert into listings (connection_id, tenant_id) values (new.id, new.tenant_id)
    on conflict (connection_id) do update set next_at = now(), attempts = 0, mark = null;
    perform pg_notify('archway_sources', '');
    return null;
end
$$;

create trigger connections_changed after insert or update on connections
    for each row execute function make_listing();

-- Leases the listing that is due for longest.
create function lease_listing(lease_seconds integer)
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
        join tenants t on t.id = c.tenant_id and t.disabled_at is null
        where l.next_at <= now() and l.leased_until < now()
        order by l.next_at limit 1
        for update of l skip locked
    )
    update listings l
    set lease_number = l.lease_number + 1, tried_at = now(),
        leased_until = now() + make_interval(secs => lease_seconds)
    from due where l.connection_id = due.connection_id
    returning due.connection_id, due.tenant, due.name, due.settings, l.mark, l.settings_digest, l.guard,
              l.accepts_losses, l.attempts,
              extract(epoch from now() - l.whole_at)::bigint, l.lease_number;
end
$$;

-- What a connection found before.
create function found_sources(connection uuid)
returns table (
    host_id text, slug text, host_path text, url text, pushed_at timestamptz, in_use boolean
)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select s.host_id, p.slug, s.host_path, s.url, s.pushed_at, s.out_of_use is null
    from sources s join projects p on p.id = s.project_id
    where s.connection_id = connection
$$;

-- Slugs of the tenant that a new project of the connection cannot have, and URLs that others of its projects serve.
create function taken_by_tenant(connection uuid)
returns table (slug text, url text)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select p.slug, case when p.removed_at is null then s.url end
    from connections c join projects p on p.tenant_id = c.tenant_id
    left join sources s on s.project_id = p.id
    where c.id = connection and s.connection_id is distinct from connection
$$;

-- One repository of `record_found`.
create type found_repository as (
    host_id text, slug text, url text, host text, host_path text, pushed_at timestamptz, is_private boolean,
    description text, default_branch text, topics text[], credential text, ca_file text, https_proxy text
);

-- Adds the projects of repositories that were found, and changes those that are known. It can touch no project
-- but the connection's own, and nothing if the lease was lost. A slug that somebody took meanwhile makes no
-- project: the next listing gives another.
create function record_found(connection uuid, number bigint, repositories jsonb)
returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
    owner uuid;
begin
    select l.tenant_id into owner from listings l
    where l.connection_id = connection and l.lease_number = number for update;
    if owner is null then
        return;
    end if;
    with listed as (
        select * from jsonb_populate_recordset(null::found_repository, repositories) as r
        where not exists (select from sources s where s.connection_id = connection and s.host_id = r.host_id)
    ), added as (
        insert into projects (tenant_id, slug) select owner, listed.slug from listed
        on conflict (tenant_id, slug) do nothing returning id, slug
    )
    insert into sources (project_id, tenant_id, url, host, connection_id, host_id)
    select added.id, owner, listed.url, listed.host, connection, listed.host_id
    from added join listed on listed.slug = added.slug;
    update projects p set removed_at = null
    from jsonb_populate_recordset(null::found_repository, repositories) as r
    join sources s on s.connection_id = connection and s.host_id = r.host_id and s.out_of_use is not null
    where p.id = s.project_id;
    update mirrors m
    set is_requested = true,
        next_at = least(m.next_at, greatest(now(), coalesce(m.tried_at, '-infinity') + interval '10 seconds'))
    from jsonb_populate_recordset(null::found_repository, repositories) as r
    join sources s on s.connection_id = connection and s.host_id = r.host_id
    where m.project_id = s.project_id
      and (s.out_of_use is not null or (s.url, s.pushed_at, s.default_branch)
           is distinct from (r.url, r.pushed_at, r.default_branch));
    update sources s
    set url = r.url, host = r.host, host_path = r.host_path, pushed_at = r.pushed_at, is_private = r.is_private,
        description = r.description, default_branch = r.default_branch, topics = r.topics,
        credential = r.credential, ca_file = r.ca_file, https_proxy = r.https_proxy, out_of_use = null
    from jsonb_populate_recordset(null::found_repository, repositories) as r
    where s.connection_id = connection and s.host_id = r.host_id
      and (s.url, s.host, s.host_path, s.pushed_at, s.is_private, s.description, s.default_branch, s.topics,
           s.credential, s.ca_file, s.https_proxy, s.out_of_use)
          is distinct from
          (r.url, r.host, r.host_path, r.pushed_at, r.is_private, r.description, r.default_branch, r.topics,
           r.credential, r.ca_file, r.https_proxy, null);
end
$$;

-- Puts projects out of use whose repositories are gone or no longer to be served. Their rows stay. One that an
-- operator removed stays the operator's.
create function record_lost(connection uuid, number bigint, lost jsonb)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    with lost_now as (
        select s.project_id, l.reason
        from jsonb_to_recordset(lost) as l (host_id text, reason text)
        join sources s on s.connection_id = connection and s.host_id = l.host_id and s.out_of_use is null
        where exists (select from listings h where h.connection_id = connection and h.lease_number = number)
    ), marked as (
        update sources s set out_of_use = left(lost_now.reason, 32) from lost_now
        join projects p on p.id = lost_now.project_id and p.removed_at is null
        where s.project_id = lost_now.project_id
        returning s.project_id
    )
    update projects p set removed_at = now() from marked where p.id = marked.project_id
$$;

-- Ends a listing. `vouch_seconds` is how long it vouches for repositories without a new push.
create function record_listing(connection uuid, number bigint, outcome jsonb, next_seconds double precision)
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
        lag_seconds = o.lag_seconds, accepts_losses = false, leased_until = '-infinity',
        next_at = case when l.next_at > l.tried_at then l.next_at
                       else now() + make_interval(secs => next_seconds) end
    from jsonb_to_record(outcome) as o (
        mark jsonb, settings_digest text, guard jsonb, message text, is_whole boolean, served integer,
        left_out integer, vouch_seconds double precision, lag_seconds integer
    )
    where l.connection_id = connection and l.lease_number = number
$$;

-- Ends a listing that failed.
create function record_listing_failure(
    connection uuid, number bigint, new_message text, next_seconds double precision
)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update listings l
    set attempts = l.attempts + 1, message = left(new_message, 300), leased_until = '-infinity',
        next_at = now() + make_interval(secs => next_seconds)
    where l.connection_id = connection and l.lease_number = number
$$;

-- The connection that a webhook names, with its settings.
create function find_hook_connection(of_tenant text, of_name text)
returns table (connection_id uuid, settings jsonb)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select c.id, c.settings
    from connections c join tenants t on t.id = c.tenant_id and t.disabled_at is null
    where t.slug = of_tenant and c.name = of_name and c.removed_at is null
$$;

-- Makes the mirrors of one repository due, at every place: by the host's id, else by its path.
create function request_mirrors(connection uuid, of_host_id text, of_host_path text)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update mirrors m
    set is_requested = true,
        next_at = least(m.next_at, greatest(now(), coalesce(m.tried_at, '-infinity') + interval '10 seconds'))
    from sources s
    where s.connection_id = connection and s.project_id = m.project_id
      and (s.host_id = of_host_id or (of_host_id is null and s.host_path = of_host_path));
    select pg_notify('archway_sources', '');
$$;

-- Makes a listing due.
create function request_listing(connection uuid)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update listings l
    set next_at = least(l.next_at, greatest(now(), coalesce(l.tried_at, '-infinity') + interval '10 seconds'))
    where l.connection_id = connection;
    select pg_notify('archway_sources', '');
$$;

-- Puts off due mirrors for which a listing vouches: nothing was pushed since they were fetched. What changed in the
-- last quarter of an hour is fetched nevertheless, and everything once a day.
create function vouch_for_mirrors(at_place text, seconds double precision)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update mirrors m
    set fetched_at = now(), next_at = now() + make_interval(secs => seconds * (0.8 + 0.2 * random()))
    from sources s join listings l on l.connection_id = s.connection_id
    where m.place = at_place and m.next_at <= now() and m.leased_until < now() and m.state = 'ok'
      and not m.is_requested and s.project_id = m.project_id and l.vouches_until > now()
      and m.fetched_at > s.pushed_at + make_interval(secs => l.lag_seconds)
      and m.changed_at < now() - interval '15 minutes' and m.tried_at > now() - interval '1 day'
$$;

-- Makes the rows of sources that have none at this place: of the tenants of one pool, or of all. Forgets rows of
-- tenants that moved to another pool, and of places whose process is gone.
drop function add_mirrors(text);
create function add_mirrors(at_place text, of_pool text)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    delete from mirrors m using tenants t
    where t.id = m.tenant_id and m.leased_until < now()
      and (m.place = at_place and t.pool <> of_pool
           or m.place not in ('', at_place) and greatest(m.next_at, m.tried_at) < now() - interval '1 hour');
    insert into mirrors (project_id, tenant_id, place)
    select s.project_id, s.tenant_id, at_place
    from sources s
    join projects p on p.id = s.project_id and p.removed_at is null
    join tenants t on t.id = s.tenant_id and (of_pool is null or t.pool = of_pool)
    where not exists (select from mirrors m where m.project_id = s.project_id and m.place = at_place)
    on conflict do nothing
$$;

-- Leases the mirror that is due for longest, unless its host is busy. `app_settings` are those of a connection
-- with a GitHub App.
drop function lease_mirror(text, uuid, text[], integer);
create function lease_mirror(at_place text, holder uuid, busy_hosts text[], lease_seconds integer)
returns table (
    project_id uuid, tenant text, project text, url text, reference text, credential text, ca_file text,
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
        select m.project_id, t.slug as tenant, p.slug as project, s.url, s.reference, s.credential,
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
    from due left join connections c on c.id = due.connection_id
    where m.project_id = due.project_id and m.place = at_place
    returning due.project_id, due.tenant, due.project, due.url, due.reference, due.credential, due.ca_file,
              due.https_proxy, case when c.settings -> 'credential' ? 'app' then c.settings end, c.id is not null,
              m.lease_number, m.attempts, extract(epoch from now() - coalesce(m.changed_at, now()))::bigint;
end
$$;

-- Mirrors at this place whose projects have been out of use for so long.
create function expired_mirrors(at_place text, keep_seconds double precision)
returns table (project_id uuid, tenant text, project text)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select m.project_id, t.slug, p.slug
    from mirrors m join projects p on p.id = m.project_id join tenants t on t.id = p.tenant_id
    where m.place = at_place and m.leased_until < now()
      and p.removed_at < now() - make_interval(secs => keep_seconds)
    limit 1000
$$;

-- Forgets a mirror that was removed, unless its project is in use again.
create function forget_mirror(project uuid, at_place text)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    delete from mirrors m using projects p
    where m.project_id = project and m.place = at_place and p.id = project and p.removed_at is not null
$$;

-- The mirrors that there may be at this place: others below the folder belong to projects that were erased.
create function mirror_names(at_place text)
returns table (tenant text, project text)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select t.slug, p.slug
    from mirrors m join projects p on p.id = m.project_id join tenants t on t.id = p.tenant_id
    where m.place = at_place
$$;

-- The mirrors at this place by state: how many are in use, the bytes of all, and the age of the one that was fetched
-- longest ago, or never since it was added. A source without a row counts as `new`.
create function mirrors_overview(at_place text, of_pool text)
returns table (state text, mirrors bigint, bytes bigint, oldest_seconds double precision)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select coalesce(m.state, 'new'),
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
    make_listing(), lease_listing(integer), found_sources(uuid), taken_by_tenant(uuid),
    record_found(uuid, bigint, jsonb), record_lost(uuid, bigint, jsonb),
    record_listing(uuid, bigint, jsonb, double precision),
    record_listing_failure(uuid, bigint, text, double precision), find_hook_connection(text, text),
    request_mirrors(uuid, text, text), request_listing(uuid), vouch_for_mirrors(text, double precision),
    lease_mirror(text, uuid, text[], integer), expired_mirrors(text, double precision), forget_mirror(uuid, text),
    mirror_names(text), add_mirrors(text, text), mirrors_overview(text, text)
    from public;
grant execute on function
    lease_listing(integer), found_sources(uuid), taken_by_tenant(uuid), record_found(uuid, bigint, jsonb),
    record_lost(uuid, bigint, jsonb), record_listing(uuid, bigint, jsonb, double precision),
    record_listing_failure(uuid, bigint, text, double precision), find_hook_connection(text, text),
    request_mirrors(uuid, text, text), request_listing(uuid), vouch_for_mirrors(text, double precision),
    lease_mirror(text, uuid, text[], integer), expired_mirrors(text, double precision), forget_mirror(uuid, text),
    mirror_names(text), add_mirrors(text, text), mirrors_overview(text, text)
    to archway_sync;
