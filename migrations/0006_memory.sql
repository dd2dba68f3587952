-- Owned by archway-workers: what agents remember, appended and never changed: entries, discoveries.

-- A log's count and bytes. Who appends locks its row first, so numbers follow one another without
-- a gap in the order in which they are committed, whichever worker gives them.
create table memory_logs (
    tenant_id  uuid not null,
    project_id uuid not null,
    log        text collate "C" not null
               check (log in ('progress_log.jsonl', 'decisions.jsonl', 'discoveries')),
    count      bigint not null check (count > 0),
    bytes      bigint not null check (bytes >= 0),
    -- When the last one was written: the next is never older, whatever the clock says.
    last_at    timestamptz not null,
    primary key (tenant_id, project_id, log),
    foreign key (tenant_id, project_id) references projects (tenant_id, id) on delete cascade
) with (fillfactor = 50);

create table memory_entries (
    tenant_id  uuid not null,
    project_id uuid not null,
    file       text collate "C" not null
               check (file in ('progress_log.jsonl', 'decisions.jsonl')),
    -- The file's count when this was appended.
    number     bigint not null check (number > 0),
    principal  text not null,
    written_at timestamptz not null,
    -- Compact JSON, to the letter: numbers and the order of keys stay. A tombstone once erased.
    entry      text not null,
    -- The words of its keys and strings as the worker found them, in lower case (what the
    -- configuration `simple` would make of them, but of no locale), and `=<project>`.
    words      tsvector not null,
    erased_at  timestamptz,
    primary key (tenant_id, project_id, file, number),
    foreign key (tenant_id, project_id) references projects (tenant_id, id) on delete cascade
);

create index memory_entries_newest
    on memory_entries (tenant_id, project_id, written_at desc, file desc, number desc);
create index memory_entries_words on memory_entries using gin (words);

create table discoveries (
    tenant_id  uuid not null,
    project_id uuid not null,
    id         uuid not null default gen_random_uuid(),
    principal  text not null,
    kind       text not null check (kind in ('pattern', 'rule', 'decision', 'issue')),
    -- Empty once erased.
    content    text not null,
    module     text,
    paths      text[] not null,
    supersedes uuid,
    created_at timestamptz not null,
    erased_at  timestamptz,
    primary key (tenant_id, project_id, id),
    foreign key (tenant_id, project_id) references projects (tenant_id, id) on delete cascade,
    -- A discovery of the same project, whose rows go all at once.
    foreign key (tenant_id, project_id, supersedes) references discoveries
);

create index discoveries_successors on discoveries (tenant_id, project_id, supersedes);

-- Which writes were done under which key within the last 24 hours. A key is a client's
-- (`key:…`) or, where it gave none, the gateway's id of the call (`call:…`), which a retry keeps.
create table memory_writes (
    tenant_id  uuid not null,
    project_id uuid not null,
    principal  text not null,
    tool       text not null,
    key        text not null check (length(key) between 1 and 200),
    -- Of what was to be written.
    digest     bytea not null,
    -- What it became: an entry's number, or a discovery.
    number     bigint,
    discovery  uuid,
    written_at timestamptz not null default now(),
    primary key (tenant_id, principal, tool, key),
    foreign key (tenant_id, project_id) references projects (tenant_id, id) on delete cascade
);

create index memory_writes_oldest on memory_writes (tenant_id, written_at);

-- What an operator erased, and why.
create table memory_erasures (
    tenant_id  uuid not null,
    project_id uuid not null,
    -- `progress_log.jsonl/7`, `discoveries/<id>`.
    what       text not null,
    reason     text not null check (length(reason) between 1 and 500),
    erased_by  text not null default session_user,
    erased_at  timestamptz not null default clock_timestamp(),
    foreign key (tenant_id, project_id) references projects (tenant_id, id) on delete cascade
);

create index memory_erasures_project on memory_erasures (tenant_id, project_id, erased_at);

alter table memory_logs enable row level security;
alter table memory_entries enable row level security;
alter table discoveries enable row level security;
alter table memory_writes enable row level security;
alter table memory_erasures enable row level security;

create policy memory_logs_own on memory_logs for select to archway_worker
    using (tenant_id = current_tenant());
create policy memory_entries_own on memory_entries for select to archway_worker
    using (tenant_id = current_tenant());
create policy discoveries_own on discoveries for select to archway_worker
    using (tenant_id = current_tenant());

-- Nothing else: rows are added by the functions below, which keep the counts.
grant select on memory_logs, memory_entries, discoveries to archway_worker;

-- What is left of an erased entry.
create function memory_tombstone(erased_at timestamptz) returns text
language sql stable
as $$
    select format('{"erased_at":"%s"}',
                  to_char(erased_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
$$;

-- Rows of memory go with their project and never before it, whoever asks, the owner included.
create function refuse_memory_loss() returns trigger
language plpgsql security definer
set search_path = public, pg_temp
as $$
begin
    if tg_op = 'DELETE' then
        if not exists (select from projects p
                       where p.tenant_id = old.tenant_id and p.id = old.project_id) then
            return old;
        end if;
    end if;
    raise exception '% is append-only: its rows go with their project alone', tg_table_name
        using errcode = 'insufficient_privilege';
end
$$;

-- The only change there is: an entry becomes its tombstone.
create function refuse_entry_change() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
begin
    if old.erased_at is null and new.erased_at is not null
       and new.entry = memory_tombstone(new.erased_at) and new.words = ''::tsvector
       and to_jsonb(new) - array['entry', 'words', 'erased_at']
           = to_jsonb(old) - array['entry', 'words', 'erased_at'] then
        return new;
    end if;
    raise exception 'memory_entries is append-only: an entry can only be erased'
        using errcode = 'insufficient_privilege';
end
$$;

-- The same of a discovery: nothing that was written is left of it.
create function refuse_discovery_change() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
begin
    if old.erased_at is null and new.erased_at is not null
       and new.content = '' and new.module is null and new.paths = '{}'
       and to_jsonb(new) - array['content', 'module', 'paths', 'erased_at']
           = to_jsonb(old) - array['content', 'module', 'paths', 'erased_at'] then
        return new;
    end if;
    raise exception 'discoveries is append-only: a discovery can only be erased'
        using errcode = 'insufficient_privilege';
end
$$;

create trigger memory_entries_kept before delete on memory_entries
    for each row execute function refuse_memory_loss();
create trigger memory_entries_not_emptied before truncate on memory_entries
    for each statement execute function refuse_memory_loss();
create trigger memory_entries_unchanged before update on memory_entries
    for each row execute function refuse_entry_change();
create trigger discoveries_kept before delete on discoveries
    for each row execute function refuse_memory_loss();
create trigger discoveries_not_emptied before truncate on discoveries
    for each statement execute function refuse_memory_loss();
create trigger discoveries_unchanged before update on discoveries
    for each row execute function refuse_discovery_change();
create trigger memory_erasures_kept before update or delete on memory_erasures
    for each row execute function refuse_memory_loss();
create trigger memory_erasures_not_emptied before truncate on memory_erasures
    for each statement execute function refuse_memory_loss();

-- Whether the transaction's tenant may keep so many bytes more. Its limit `memory_mib` counts MiB,
-- 1,024 by default; 0 is none. Writers to several logs at once may pass it by an entry each.
create function memory_has_room(more bigint) returns boolean
language sql stable
set search_path = public, pg_temp
as $$
    select quota.mib = 0 or used.bytes + more <= quota.mib::bigint * 1048576
    from (select coalesce((select l.per_minute from limits l
                           where l.tenant_id = current_tenant() and l.lineage is null
                                 and l.level = 'tenant' and l.of = 'memory_mib'), 1024) as mib) quota,
         (select coalesce(sum(m.bytes), 0) as bytes from memory_logs m
          where m.tenant_id = current_tenant()) used
$$;

-- Takes the key for a write, or returns what was written under it. Two calls with one key wait for
-- one another. Old keys go a few at a time, more than are made.
create function claim_memory_write(of_project uuid, by_principal text, of_tool text,
                                   under_key text, of_digest bytea)
returns memory_writes
language plpgsql
set search_path = public, pg_temp
as $$
declare
    own uuid := current_tenant();
    known memory_writes;
begin
    insert into memory_writes as w (tenant_id, project_id, principal, tool, key, digest)
    values (own, of_project, by_principal, of_tool, under_key, of_digest)
    on conflict (tenant_id, principal, tool, key) do update
        set project_id = excluded.project_id, digest = excluded.digest, number = null,
            discovery = null, written_at = excluded.written_at
        where w.written_at < now() - interval '24 hours';
    if not found then
        select w.* into known from memory_writes w
        where w.tenant_id = own and w.principal = by_principal and w.tool = of_tool
              and w.key = under_key;
        return known;
    end if;
    delete from memory_writes w where (w.tenant_id, w.principal, w.tool, w.key) in
        (select o.tenant_id, o.principal, o.tool, o.key from memory_writes o
         where o.tenant_id = own and o.written_at < now() - interval '24 hours'
         order by o.written_at limit 4 for update skip locked);
    return null;
end
$$;

-- Counts one more in a log, whose row stays locked until the transaction ends.
create function count_memory(of_project uuid, in_log text, more bigint)
returns memory_logs
language sql
set search_path = public, pg_temp
as $$
    insert into memory_logs as l (tenant_id, project_id, log, count, bytes, last_at)
    values (current_tenant(), of_project, in_log, 1, more, clock_timestamp())
    on conflict (tenant_id, project_id, log) do update
        set count = l.count + 1, bytes = l.bytes + excluded.bytes,
            last_at = greatest(clock_timestamp(), l.last_at)
    returning l.*
$$;

-- Appends an entry for the transaction's tenant. Its number, or why there is none: `other_content`
-- was written under the key, or `quota_exceeded`, of which the caller must roll back.
create function append_memory_entry(of_project uuid, into_file text, by_principal text,
                                    under_key text, new_entry text, new_words text[])
returns table (outcome text, number bigint)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
#variable_conflict use_column
declare
    own uuid := current_tenant();
    size bigint := octet_length(new_entry);
    -- As JSON: the same content in another order of keys is the same.
    content bytea := sha256(convert_to(
        concat_ws(' ', of_project, into_file, new_entry::jsonb), 'UTF8'));
    known memory_writes;
    counted memory_logs;
begin
    known := claim_memory_write(of_project, by_principal, 'write_memory_entry', under_key, content);
    if known.key is not null then
        return query select case when known.digest = content then 'written' else 'other_content' end,
                            known.number;
        return;
    end if;
    if not memory_has_room(size) then
        return query select 'quota_exceeded'::text, null::bigint;
        return;
    end if;
    counted := count_memory(of_project, into_file, size);
    insert into memory_entries (tenant_id, project_id, file, number, principal, written_at, entry,
                                words)
    values (own, of_project, into_file, counted.count, by_principal, counted.last_at, new_entry,
            array_to_tsvector(new_words || ('=' || of_project)));
    update memory_writes w set number = counted.count
    where w.tenant_id = own and w.principal = by_principal and w.tool = 'write_memory_entry'
          and w.key = under_key;
    return query select 'written'::text, counted.count;
end
$$;

-- Records a discovery for the transaction's tenant, as an entry is appended; besides,
-- `unknown_discovery` is what it can't supersede.
create function record_discovery(of_project uuid, by_principal text, under_key text, new_kind text,
                                 new_content text, new_module text, new_paths text[],
                                 superseded uuid)
returns table (outcome text, id uuid, created_at timestamptz)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
#variable_conflict use_column
declare
    own uuid := current_tenant();
    size bigint := octet_length(new_content) + coalesce(octet_length(new_module), 0)
        + coalesce(octet_length(array_to_string(new_paths, '')), 0);
    content bytea := sha256(convert_to(
        jsonb_build_array(of_project, new_kind, new_content, new_module, new_paths,
                          superseded)::text, 'UTF8'));
    known memory_writes;
    counted memory_logs;
    made uuid;
begin
    known := claim_memory_write(of_project, by_principal, 'record_discovery', under_key, content);
    if known.key is not null then
        return query select case when known.digest = content then 'written' else 'other_content' end,
                            known.discovery,
                            (select d.created_at from discoveries d
                             where d.tenant_id = own and d.project_id = known.project_id
                                   and d.id = known.discovery);
        return;
    end if;
    if superseded is not null and not exists (
            select from discoveries d
            where d.tenant_id = own and d.project_id = of_project and d.id = superseded) then
        return query select 'unknown_discovery'::text, null::uuid, null::timestamptz;
        return;
    end if;
    if not memory_has_room(size) then
        return query select 'quota_exceeded'::text, null::uuid, null::timestamptz;
        return;
    end if;
    counted := count_memory(of_project, 'discoveries', size);
    insert into discoveries as d (tenant_id, project_id, principal, kind, content, module, paths,
                                  supersedes, created_at)
    values (own, of_project, by_principal, new_kind, new_content, new_module, new_paths, superseded,
            counted.last_at)
    returning d.id into made;
    update memory_writes w set discovery = made
    where w.tenant_id = own and w.principal = by_principal and w.tool = 'record_discovery'
          and w.key = under_key;
    return query select 'written'::text, made, counted.last_at;
end
$$;

-- The entries of a project in which all these words occur. Run by the owner, since an index on words
-- may not be used beneath row-level security; the tenant is the transaction's all the same. The word
-- that stands for the project keeps a look-up among the project's own.
create function memory_entries_with(of_project uuid, all_words text[])
returns table (file text, number bigint, written_at timestamptz)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select e.file, e.number, e.written_at from memory_entries e
    where e.tenant_id = current_tenant() and e.project_id = of_project
          and e.words @@ (select string_agg(format('''%s''', word), ' & ')::tsquery
                          from unnest(all_words || ('=' || of_project)) as word)
$$;

-- For the owner: nothing is left of what was written but that something was, and who erased it. Whether
-- there was anything.
create function erase_memory_entry(of_tenant uuid, of_project uuid, of_file text, of_number bigint,
                                   why text)
returns boolean
language plpgsql
set search_path = public, pg_temp
as $$
declare
    gone bigint;
    moment timestamptz := clock_timestamp();
begin
    update memory_entries e
    set entry = memory_tombstone(moment), words = ''::tsvector, erased_at = moment
    from memory_entries old
    where (e.tenant_id, e.project_id, e.file, e.number) = (of_tenant, of_project, of_file, of_number)
          and (old.tenant_id, old.project_id, old.file, old.number)
              = (e.tenant_id, e.project_id, e.file, e.number)
          and e.erased_at is null
    returning octet_length(old.entry) - octet_length(e.entry) into gone;
    if not found then
        return false;
    end if;
    update memory_logs l set bytes = l.bytes - gone
    where l.tenant_id = of_tenant and l.project_id = of_project and l.log = of_file;
    -- Nor may a retry bring it back, or its digest tell it.
    update memory_writes w set digest = ''
    where w.tenant_id = of_tenant and w.project_id = of_project
          and w.tool = 'write_memory_entry' and w.number = of_number;
    insert into memory_erasures (tenant_id, project_id, what, reason)
    values (of_tenant, of_project, format('%s/%s', of_file, of_number), why);
    return true;
end
$$;

-- The same of a discovery.
create function erase_discovery(of_tenant uuid, of_project uuid, of_id uuid, why text)
returns boolean
language plpgsql
set search_path = public, pg_temp
as $$
declare
    gone bigint;
begin
    update discoveries d
    set content = '', module = null, paths = '{}', erased_at = clock_timestamp()
    from discoveries old
    where (d.tenant_id, d.project_id, d.id) = (of_tenant, of_project, of_id)
          and (old.tenant_id, old.project_id, old.id) = (d.tenant_id, d.project_id, d.id)
          and d.erased_at is null
    returning octet_length(old.content) + coalesce(octet_length(old.module), 0)
              + coalesce(octet_length(array_to_string(old.paths, '')), 0) into gone;
    if not found then
        return false;
    end if;
    update memory_logs l set bytes = l.bytes - gone
    where l.tenant_id = of_tenant and l.project_id = of_project and l.log = 'discoveries';
    update memory_writes w set digest = ''
    where w.tenant_id = of_tenant and w.project_id = of_project and w.discovery = of_id;
    insert into memory_erasures (tenant_id, project_id, what, reason)
    values (of_tenant, of_project, format('discoveries/%s', of_id), why);
    return true;
end
$$;

revoke all on function memory_tombstone(timestamptz), refuse_memory_loss(), refuse_entry_change(),
    refuse_discovery_change(), memory_has_room(bigint),
    claim_memory_write(uuid, text, text, text, bytea), count_memory(uuid, text, bigint),
    append_memory_entry(uuid, text, text, text, text, text[]),
    record_discovery(uuid, text, text, text, text, text, text[], uuid),
    memory_entries_with(uuid, text[]), erase_memory_entry(uuid, uuid, text, bigint, text),
    erase_discovery(uuid, uuid, uuid, text) from public;
grant execute on function append_memory_entry(uuid, text, text, text, text, text[]),
    record_discovery(uuid, text, text, text, text, text, text[], uuid),
    memory_entries_with(uuid, text[]) to archway_worker;
