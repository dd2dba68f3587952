-- Owned by archway-sync: which repositories are mirrored, from where, and how that goes.

-- The role of `archway sync`. It has no right to any table: it calls the functions below.
do $$
begin
    if not exists (select from pg_roles where rolname = 'archway_sync') then
        begin
            create role archway_sync login nosuperuser nobypassrls nocreatedb nocreaterole;
        exception when duplicate_object or unique_violation then
            null;
        end;
    end if;
end
$$;

-- The remote repository of a project.
create table sources (
    project_id  uuid primary key,
    tenant_id   uuid not null,
    -- As `RemoteUrl` writes it: checked, without a secret.
    url         text not null check (length(url) between 1 and 2048),
    -- Its host and port, by which runs are bounded.
    host        text not null check (length(host) <= 300),
    -- A branch, tag or commit; null for the remote's own HEAD.
    reference   text check (length(reference) between 1 and 250),
    -- A file's name in the folder of credentials.
    credential  text check (credential ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    ca_file     text check (length(ca_file) between 1 and 4096),
    https_proxy text check (length(https_proxy) between 1 and 2048),
    created_at  timestamptz not null default now(),
    foreign key (tenant_id, project_id) references projects (tenant_id, id) on delete cascade
);

-- The mirror of a source at one place: a volume that several processes share, or one machine.
create table mirrors (
    project_id    uuid not null references sources (project_id) on delete cascade,
    tenant_id     uuid not null,
    -- Empty for the shared volume, else the machine's name.
    place         text not null check (length(place) <= 253),
    -- A name of `SyncState`, and since when.
    state         text not null default 'new' check (state ~ '^[a-z_]{1,32}$'),
    since         timestamptz not null default now(),
    -- Failed runs since the last one that succeeded.
    attempts      integer not null default 0,
    message       text check (length(message) <= 300),
    -- HEAD's commit, and the size of the mirror.
    head          text check (length(head) <= 64),
    bytes         bigint check (bytes >= 0),
    -- How far the running clone is.
    percent       smallint check (percent between 0 and 100),
    -- When a run last began, last succeeded, and last brought something.
    tried_at      timestamptz,
    fetched_at    timestamptz,
    changed_at    timestamptz,
    next_at       timestamptz not null default now(),
    -- The process that runs it. A later lease has a higher number.
    lease_holder  uuid,
    lease_number  bigint not null default 0,
    leased_until  timestamptz not null default '-infinity',
    primary key (project_id, place)
);

create index mirrors_due on mirrors (place, next_at);

alter table sources enable row level security;
alter table mirrors enable row level security;

-- Workers answer what they know of a project without a mirror.
create policy sources_own on sources to archway_gateway, archway_worker
    using (tenant_id = current_tenant());
create policy mirrors_own on mirrors to archway_gateway, archway_worker
    using (tenant_id = current_tenant());
grant select (project_id, tenant_id) on sources to archway_worker;
grant select (project_id, tenant_id, place, state, since, percent, fetched_at, next_at) on mirrors to archway_worker;

-- Makes the rows of sources that have none at this place.
create function add_mirrors(at_place text)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    insert into mirrors (project_id, tenant_id, place)
    select s.project_id, s.tenant_id, at_place from sources s
    where not exists (select from mirrors m where m.project_id = s.project_id and m.place = at_place)
    on conflict do nothing
$$;

-- Leases the mirror that is due for longest, unless its host is busy.
create function lease_mirror(at_place text, holder uuid, busy_hosts text[], lease_seconds integer)
returns table (
    project_id uuid, tenant text, project text, url text, reference text, credential text, ca_file text,
    https_proxy text, lease_number bigint, attempts integer, quiet_seconds bigint
)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with due as (
        select m.project_id, t.slug as tenant, p.slug as project, s.url, s.reference, s.credential,
               s.ca_file, s.https_proxy
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
        leased_until = now() + make_interval(secs => lease_seconds), tried_at = now(),
        state = case when m.fetched_at is null and m.state in ('new', 'cloning') then 'cloning' else m.state end,
        since = case when m.state = 'new' then now() else m.since end
    from due
    where m.project_id = due.project_id and m.place = at_place
    returning due.project_id, due.tenant, due.project, due.url, due.reference, due.credential, due.ca_file,
              due.https_proxy, m.lease_number, m.attempts, extract(epoch from now() - coalesce(m.changed_at, now()))::bigint;
end
$$;

-- Renews a lease, and records how far the run is. False if the lease was lost.
create function renew_mirror_lease(
    project uuid, at_place text, number bigint, lease_seconds integer, run_percent smallint, run_bytes bigint
)
returns boolean
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update mirrors
    set leased_until = now() + make_interval(secs => lease_seconds), percent = run_percent,
        bytes = coalesce(run_bytes, bytes)
    where project_id = project and place = at_place and lease_number = number
    returning true
$$;

-- Ends a run that succeeded, and notifies the workers of a new state. Nothing if the lease was lost.
create function record_mirror(
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
            next_at = case when m.next_at > m.tried_at then m.next_at
                           else now() + make_interval(secs => next_seconds) end,
            leased_until = '-infinity', lease_holder = null
        where m.project_id = project and m.place = at_place and m.lease_number = number
        returning m.tenant_id
    )
    select pg_notify('archway_projects', tenant_id::text || '/' || project) from ended where has_changed
$$;

-- Ends a run that failed.
create function record_mirror_failure(
    project uuid, at_place text, number bigint, new_state text, new_message text, next_seconds double precision
)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update mirrors m
    set state = new_state, since = case when m.state = new_state then m.since else now() end,
        attempts = m.attempts + 1, message = left(new_message, 300), percent = null,
        next_at = now() + make_interval(secs => next_seconds), leased_until = '-infinity', lease_holder = null
    where m.project_id = project and m.place = at_place and m.lease_number = number
$$;

-- Ends a lease without a result, as of a process that ends.
create function release_mirror_lease(project uuid, at_place text, number bigint)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update mirrors set leased_until = '-infinity', lease_holder = null, percent = null
    where project_id = project and place = at_place and lease_number = number
$$;

revoke all on function
    add_mirrors(text), lease_mirror(text, uuid, text[], integer),
    renew_mirror_lease(uuid, text, bigint, integer, smallint, bigint),
    release_mirror_lease(uuid, text, bigint),
    record_mirror(uuid, text, bigint, text, boolean, text, bigint, double precision),
    record_mirror_failure(uuid, text, bigint, text, text, double precision)
    from public;
grant execute on function
    add_mirrors(text), lease_mirror(text, uuid, text[], integer),
    renew_mirror_lease(uuid, text, bigint, integer, smallint, bigint),
    release_mirror_lease(uuid, text, bigint),
    record_mirror(uuid, text, bigint, text, boolean, text, bigint, double precision),
    record_mirror_failure(uuid, text, bigint, text, text, double precision)
    to archway_sync;

-- A source was added or changed, or is due at once.
create function notify_source_change() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
begin
    perform pg_notify('archway_sources', '');
    return null;
end
$$;

create trigger sources_changed after insert or update on sources
    for each statement execute function notify_source_change();
