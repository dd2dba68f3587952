-- Owned by archway-sync: what git hosts say of who may read the private repositories of a connection.

-- `public`, `internal` (everybody at the host but guests), or `private`. A process of an earlier version does not say
-- it, so that what it lists counts as private.
alter table sources
    add column visibility text not null default 'private' check (visibility in ('public', 'internal', 'private')),
    -- When a webhook said that it is private now. A listing that was asked before says nothing else.
    add column hidden_at  timestamptz;
alter type found_repository add attribute visibility text;
grant select (connection_id, visibility) on sources to archway_worker;

-- The connections with `permissions: host`, and how their rounds go: one process asks a host for all.
create table host_permissions (
    connection_id uuid primary key,
    tenant_id     uuid not null,
    name          text not null,
    -- For so long an answer of the host counts.
    grace_seconds integer not null check (grace_seconds > 0),
    -- Rounds in a row that failed, and why the last one did, or why a repository had no answer.
    attempts      integer not null default 0,
    message       text check (length(message) <= 300),
    next_at       timestamptz not null default now(),
    -- The host asked not to be asked before.
    not_before    timestamptz not null default '-infinity',
    -- A webhook came while a round ran.
    is_requested  boolean not null default false,
    lease_number  bigint not null default 0,
    leased_until  timestamptz not null default '-infinity',
    foreign key (tenant_id, connection_id) references connections (tenant_id, id) on delete cascade
);

-- Who may read a private repository: the host's ids of accounts, as of `listed_at`.
create table host_readers (
    project_id    uuid primary key references sources (project_id) on delete cascade,
    connection_id uuid not null references host_permissions (connection_id) on delete cascade,
    tenant_id     uuid not null references tenants (id) on delete cascade,
    readers       bigint[] not null default '{}' check (cardinality(readers) <= 50000),
    -- One for each page of the answer; empty if the next answer is read anew.
    etags         text[] not null default '{}' check (cardinality(etags) <= 500),
    -- When the host was asked for the answer that counts.
    listed_at     timestamptz not null default '-infinity',
    next_at       timestamptz not null default now(),
    -- When a webhook last said that it may have changed; null once it was asked since.
    requested_at  timestamptz
);

create index host_readers_who on host_readers using gin (readers);
create index host_readers_connection on host_readers (connection_id, next_at);

-- What a host calls the accounts that may read something. No two accounts of a connection share a name.
create table host_accounts (
    connection_id uuid not null references host_permissions (connection_id) on delete cascade,
    tenant_id     uuid not null references tenants (id) on delete cascade,
    account       bigint not null,
    -- In lower case.
    login         text check (length(login) between 1 and 255),
    -- In lower case; null unless the host has verified it, and says so.
    email         text check (length(email) between 3 and 254),
    primary key (connection_id, account)
);

create unique index host_accounts_login on host_accounts (connection_id, login);
create unique index host_accounts_email on host_accounts (connection_id, email);

alter table host_permissions enable row level security;
alter table host_readers enable row level security;
alter table host_accounts enable row level security;
create policy host_permissions_own on host_permissions to archway_gateway, archway_worker
    using (tenant_id = current_tenant());
create policy host_readers_own on host_readers to archway_worker using (tenant_id = current_tenant());
create policy host_accounts_own on host_accounts to archway_worker using (tenant_id = current_tenant());
grant select (connection_id, tenant_id, name) on host_permissions to archway_gateway;
grant select (connection_id, tenant_id, name, grace_seconds) on host_permissions to archway_worker;
grant select (project_id, connection_id, tenant_id, readers, listed_at) on host_readers to archway_worker;
grant select on host_accounts to archway_worker;

-- Counts a change of what principals may read, as changes of access rules are counted, and notifies the gateways.
create function count_reader_change(of_tenant uuid)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    insert into access_editions as e select id, 1 from tenants where id = of_tenant
    on conflict (tenant_id) do update set edition = e.edition + 1;
    select pg_notify('archway_changes', json_build_object('kind', 'tenant', 'id', of_tenant)::text)
$$;

create trigger host_permissions_changed after insert or delete or update of grace_seconds on host_permissions
    for each row execute function count_access_change();

-- Follows the settings of a connection. What another host or organisation said is forgotten: accounts have other ids
-- there.
create function follow_permissions() returns trigger
language plpgsql security definer
set search_path = public, pg_temp
as $$
begin
    if new.removed_at is not null or new.settings ->> 'permissions' is distinct from 'host'
       or (tg_op = 'UPDATE' and (old.settings -> 'github', old.settings -> 'gitlab', old.settings -> 'gitea')
           is distinct from (new.settings -> 'github', new.settings -> 'gitlab', new.settings -> 'gitea')) then
        delete from host_permissions where connection_id = new.id;
    end if;
    if new.removed_at is null and new.settings ->> 'permissions' = 'host' then
        insert into host_permissions (connection_id, tenant_id, name, grace_seconds)
        values (new.id, new.tenant_id, new.name, coalesce((new.settings ->> 'permissions_grace')::integer, 12) * 3600)
        on conflict (connection_id) do update
            set grace_seconds = excluded.grace_seconds, next_at = now(), attempts = 0, not_before = '-infinity',
                lease_number = host_permissions.lease_number + 1, leased_until = '-infinity';
        update host_readers set next_at = now() where connection_id = new.id;
    end if;
    return null;
end
$$;

create trigger connection_permissions after insert or update on connections
    for each row execute function follow_permissions();

-- Adds the projects of repositories that were found, and changes those that are known. It can touch no project
-- but the connection's own, and nothing if the lease was lost. A slug that somebody took meanwhile makes no
-- project: the next listing gives another. What a webhook said to be private stays so, unless the listing was asked
-- a minute later.
create or replace function record_found(connection uuid, number bigint, repositories jsonb)
returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
    owner uuid;
    asked_at timestamptz;
    is_shown_otherwise boolean;
begin
    select l.tenant_id, l.tried_at into owner, asked_at from listings l
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
    with seen as (
        update sources s
        set visibility = case when s.hidden_at > asked_at - interval '1 minute' then 'private'
                              else coalesce(r.visibility, 'private') end
        from jsonb_populate_recordset(null::found_repository, repositories) as r
        where s.connection_id = connection and s.host_id = r.host_id
          and s.visibility is distinct from
              case when s.hidden_at > asked_at - interval '1 minute' then 'private'
                   else coalesce(r.visibility, 'private') end
        returning s.project_id
    )
    select exists (select from seen) into is_shown_otherwise;
    -- Of whatever has the name now, the host has said nothing yet.
    update host_readers h
    set requested_at = now(), etags = '{}'
    from jsonb_populate_recordset(null::found_repository, repositories) as r
    join sources s on s.connection_id = connection and s.host_id = r.host_id
    where h.project_id = s.project_id and s.host_path is distinct from r.host_path;
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
    if is_shown_otherwise and exists (select from host_permissions h where h.connection_id = connection) then
        perform count_reader_change(owner);
    end if;
    -- What the host was never asked about is asked now.
    update host_permissions h set is_requested = true, next_at = now()
    where h.connection_id = connection and exists (
        select from sources s join projects p on p.id = s.project_id and p.removed_at is null
        left join host_readers r on r.project_id = s.project_id
        where s.connection_id = connection and s.visibility = 'private'
          and (r.project_id is null or r.requested_at is not null)
    );
end
$$;

-- A webhook said that a repository is private: it is at once. By the host's id, else by its path.
create function hide_repository(connection uuid, of_host_id text, of_host_path text)
returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
    owner uuid;
    is_new boolean;
begin
    update sources s set visibility = 'private'
    where s.connection_id = connection and s.visibility <> 'private'
      and (s.host_id = of_host_id or (of_host_id is null and s.host_path = of_host_path));
    is_new := found;
    -- Also of one that is private already: a listing under way may say otherwise.
    update sources s set hidden_at = now()
    where s.connection_id = connection
      and (s.host_id = of_host_id or (of_host_id is null and s.host_path = of_host_path));
    if is_new then
        update host_permissions h set is_requested = true, next_at = now()
        where h.connection_id = connection returning h.tenant_id into owner;
        if owner is not null then
            perform count_reader_change(owner);
        end if;
    end if;
end
$$;

-- A webhook said that who may read has changed: of one repository, by the host's id or else by its path, or, without
-- both, of all.
create function request_readers(connection uuid, of_host_id text, of_host_path text)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    insert into host_readers as r (project_id, connection_id, tenant_id, requested_at)
    select s.project_id, h.connection_id, h.tenant_id, now()
    from host_permissions h join sources s on s.connection_id = h.connection_id
    where h.connection_id = connection
      and (s.host_id = of_host_id or (of_host_id is null and s.host_path = of_host_path)
           or (of_host_id is null and of_host_path is null))
    on conflict (project_id) do update set requested_at = now();
    update host_permissions set is_requested = true, next_at = now() where connection_id = connection;
$$;

-- Leases the connection whose round is due for longest: of the tenants of one pool, or of all. It is due again when the
-- lease ends, unless it is requested before.
create function lease_permissions(lease_seconds integer, of_pool text)
returns table (
    connection_id uuid, tenant text, name text, settings jsonb, grace_seconds integer, attempts integer,
    lease_number bigint
)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with due as (
        select h.connection_id, t.slug as tenant, c.settings
        from host_permissions h
        join connections c on c.id = h.connection_id
        join tenants t on t.id = h.tenant_id and t.disabled_at is null and (of_pool is null or t.pool = of_pool)
        where h.next_at <= now() and h.leased_until < now() and h.not_before <= now()
        order by h.next_at limit 1
        for update of h skip locked
    )
    update host_permissions h
    set lease_number = h.lease_number + 1, leased_until = now() + make_interval(secs => lease_seconds),
        next_at = now() + make_interval(secs => lease_seconds), is_requested = false
    from due where h.connection_id = due.connection_id
    returning due.connection_id, due.tenant, h.name, due.settings, h.grace_seconds, h.attempts, h.lease_number;
end
$$;

-- Private repositories whose readers are due, and when that was asked, in microseconds since 1970: what was requested,
-- then what was never listed, then what was listed longest ago.
create function due_readers(connection uuid, most integer)
returns table (
    project_id uuid, host_id text, host_path text, etags text[], is_requested boolean, asked_at bigint
)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select s.project_id, s.host_id, s.host_path, coalesce(r.etags, '{}'), r.requested_at is not null,
           (extract(epoch from now()) * 1000000)::bigint
    from sources s
    join projects p on p.id = s.project_id and p.removed_at is null
    left join host_readers r on r.project_id = s.project_id
    where s.connection_id = connection and s.visibility = 'private'
      and (r.project_id is null or r.requested_at is not null or r.next_at <= now())
    order by r.requested_at is null, coalesce(r.listed_at, '-infinity'), s.project_id
    limit most
$$;

-- The time of so many microseconds since 1970.
create function answered_at(micros bigint)
returns timestamptz
language sql stable
as $$
    select 'epoch'::timestamptz + micros * interval '1 microsecond'
$$;

-- Records answers of a host, and renews the lease. Each has `readers`, or null if they are as before; or no answer, and
-- then what was answered before counts on. False if the lease was lost: then nothing is recorded.
create function record_readers(connection uuid, number bigint, answers jsonb, accounts jsonb, lease_seconds integer)
returns boolean
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
    owner uuid;
    renamed bigint;
    is_changed boolean;
begin
    update host_permissions h
    set leased_until = now() + make_interval(secs => lease_seconds),
        next_at = case when h.is_requested then h.next_at else now() + make_interval(secs => lease_seconds) end
    where h.connection_id = connection and h.lease_number = number returning h.tenant_id into owner;
    if owner is null then
        return false;
    end if;
    -- Whoever had the name of another one has it no more.
    update host_accounts h
    set login = case when h.login = a.login then null else h.login end,
        email = case when h.email = a.email then null else h.email end
    from jsonb_to_recordset(accounts) as a (account bigint, login text, email text)
    where h.connection_id = connection and h.account <> a.account and (h.login = a.login or h.email = a.email);
    get diagnostics renamed = row_count;
    is_changed := renamed > 0;
    insert into host_accounts as h (connection_id, tenant_id, account, login, email)
    select connection, owner, a.account, a.login, a.email
    from jsonb_to_recordset(accounts) as a (account bigint, login text, email text)
    on conflict (connection_id, account) do update set login = excluded.login, email = excluded.email
    where (h.login, h.email) is distinct from (excluded.login, excluded.email);
    get diagnostics renamed = row_count;
    is_changed := is_changed or renamed > 0 or exists (
        select from jsonb_to_recordset(answers) as a (project_id uuid, readers bigint[])
        left join host_readers r on r.project_id = a.project_id
        where a.readers is not null and r.readers is distinct from a.readers
    );
    insert into host_readers (project_id, connection_id, tenant_id)
    select s.project_id, connection, owner
    from jsonb_to_recordset(answers) as a (project_id uuid)
    join sources s on s.project_id = a.project_id and s.connection_id = connection
    on conflict do nothing;
    update host_readers r
    set readers = coalesce(a.readers, r.readers), etags = coalesce(a.etags, r.etags),
        listed_at = case when a.is_answer then answered_at(a.asked_at) else r.listed_at end,
        next_at = now() + make_interval(secs => a.next_seconds),
        -- What was said after the host was asked is due again.
        requested_at = case when r.requested_at > answered_at(a.asked_at) then r.requested_at end
    from jsonb_to_recordset(answers) as a (
        project_id uuid, asked_at bigint, is_answer boolean, readers bigint[], etags text[],
        next_seconds double precision
    )
    where r.project_id = a.project_id and r.connection_id = connection;
    if is_changed then
        perform count_reader_change(owner);
    end if;
    return true;
end
$$;

-- Ends a round: `new_message` says why it failed, or why a repository had no answer. The host is not asked for
-- `wait_seconds`; 0 if it did not say.
create function end_permissions(
    connection uuid, number bigint, has_failed boolean, new_message text, next_seconds double precision,
    wait_seconds double precision
)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    update host_permissions h
    set attempts = case when has_failed then h.attempts + 1 else 0 end, message = left(new_message, 300),
        leased_until = '-infinity',
        next_at = case when h.is_requested then now() else now() + make_interval(secs => next_seconds) end,
        not_before = case when wait_seconds > 0 then now() + make_interval(secs => wait_seconds) else '-infinity' end
    where h.connection_id = connection and h.lease_number = number
$$;

revoke all on function
    count_reader_change(uuid), follow_permissions(), hide_repository(uuid, text, text),
    request_readers(uuid, text, text), lease_permissions(integer, text), due_readers(uuid, integer),
    record_readers(uuid, bigint, jsonb, jsonb, integer),
    end_permissions(uuid, bigint, boolean, text, double precision, double precision)
    from public;
grant execute on function
    hide_repository(uuid, text, text), request_readers(uuid, text, text), lease_permissions(integer, text),
    due_readers(uuid, integer), record_readers(uuid, bigint, jsonb, jsonb, integer),
    end_permissions(uuid, bigint, boolean, text, double precision, double precision)
    to archway_sync;
