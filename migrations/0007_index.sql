-- Owned by archway-workers: what of each project is indexed, and which worker keeps it up to date.

create table indexes (
    id         bigint generated always as identity primary key,
    tenant_id  uuid not null,
    project_id uuid not null,
    -- Home, embedding model and form: what others made can't be searched together with it.
    made_by    text not null check (length(made_by) between 1 and 200),
    -- HEAD's commit when it was last whole; null: it never was.
    commit_id  text,
    indexed_at timestamptz,
    -- How often it was made whole: changes with what is found.
    edition    bigint not null default 0,
    -- How many words a chunk has on average: what BM25 measures lengths by.
    average    real,
    -- Of the run that is under way, or else of the last: texts that are at home, and all.
    done       bigint not null default 0,
    total      bigint not null default 0,
    -- How much had been noted in memory, and erased from it, when it was last whole.
    notes      bigint not null default 0,
    -- The worker that keeps it up to date, until somebody else may.
    holder     uuid,
    held_until timestamptz,
    -- Somebody wants it to be looked at now.
    asked_at   timestamptz,
    -- Why the last run failed, in words for people; null: it did not.
    failure    text,
    -- For foreign keys that hold a row to an index of its own tenant.
    unique (tenant_id, id),
    unique (tenant_id, project_id, made_by),
    foreign key (tenant_id, project_id) references projects (tenant_id, id) on delete cascade
);

-- Which text each file and each entry of memory has, as of the last time it was whole.
create table index_documents (
    tenant_id uuid not null,
    index_id  bigint not null,
    -- 0 a file, 1 a discovery, 2 an entry of memory.
    source    smallint not null check (source between 0 and 2),
    -- A path, whose bytes may be anything, or an id.
    name      bytea not null,
    blob      bytea not null check (length(blob) = 20),
    primary key (index_id, source, name),
    foreign key (tenant_id, index_id) references indexes (tenant_id, id) on delete cascade
);

-- For the texts that no document has any longer.
create index index_documents_blob on index_documents (index_id, blob);

-- The texts that are at home, those of a run that is under way included.
create table index_texts (
    tenant_id uuid not null,
    index_id  bigint not null,
    blob      bytea not null check (length(blob) = 20),
    chunks    integer not null,
    words     bigint not null,
    primary key (index_id, blob),
    foreign key (tenant_id, index_id) references indexes (tenant_id, id) on delete cascade
);

-- Texts cut into chunks, for the home that searches in memory; the form is the worker's.
create table index_pieces (
    tenant_id  uuid not null,
    project_id uuid not null,
    made_by    text not null,
    blob       bytea not null check (length(blob) = 20),
    pieces     bytea not null,
    primary key (tenant_id, project_id, made_by, blob),
    foreign key (tenant_id, project_id) references projects (tenant_id, id) on delete cascade
);

alter table indexes enable row level security;
alter table index_documents enable row level security;
alter table index_texts enable row level security;
alter table index_pieces enable row level security;

create policy indexes_own on indexes to archway_worker
    using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
create policy index_documents_own on index_documents to archway_worker
    using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
create policy index_texts_own on index_texts to archway_worker
    using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());
create policy index_pieces_own on index_pieces to archway_worker
    using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

grant select, insert, update, delete
    on indexes, index_documents, index_texts, index_pieces to archway_worker;

-- How much was noted in a project's memory and erased from it: it only grows, with each.
create function memory_mark(of_tenant uuid, of_project uuid) returns bigint
language sql stable
set search_path = public, pg_temp
as $$
    select coalesce((select sum(l.count) from memory_logs l
                     where l.tenant_id = of_tenant and l.project_id = of_project), 0)::bigint
         + (select count(*) from memory_erasures e
            where e.tenant_id = of_tenant and e.project_id = of_project)
$$;

-- The same for a worker, of the transaction's tenant.
create function own_memory_mark(of_project uuid) returns bigint
language sql stable security definer
set search_path = public, pg_temp
as $$ select memory_mark(current_tenant(), of_project) $$;

-- Which projects the folders `<tenant>/<project>` are that a worker has, and how the index of each
-- stands that was made by the same. It learns nothing of projects it has not, and may read the
-- repository of each it has anyway.
create function mounted_projects(tenants text[], projects text[], made_by text)
returns table (
    tenant_id uuid,
    tenant text,
    project_id uuid,
    project text,
    commit_id text,
    -- It was made whole at least once.
    is_whole boolean,
    -- Somebody wants it to be looked at, or wrote to memory.
    is_asked boolean
)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select distinct t.id, t.slug, p.id, p.slug, i.commit_id, coalesce(i.edition > 0, false),
           coalesce(i.asked_at > coalesce(i.indexed_at, '-infinity'), false)
           or coalesce(i.notes, 0) <> memory_mark(t.id, p.id)
    from unnest($1, $2) as mounted (tenant, project)
    join tenants t on t.slug = mounted.tenant
    join projects p on p.tenant_id = t.id and p.slug = mounted.project and p.removed_at is null
    left join indexes i on i.tenant_id = t.id and i.project_id = p.id and i.made_by = $3
    where t.disabled_at is null
$$;

revoke all on function memory_mark(uuid, uuid), own_memory_mark(uuid),
    mounted_projects(text[], text[], text) from public;
grant execute on function own_memory_mark(uuid), mounted_projects(text[], text[], text)
    to archway_worker;

-- For the owner: how the indexes of a tenant's projects stand; those that another configuration
-- made, and nobody keeps, are not among them.
create function index_states(of_tenant uuid)
returns table (
    project text,
    made_by text,
    commit_id text,
    indexed_at timestamptz,
    done bigint,
    total bigint,
    chunks bigint,
    is_running boolean,
    is_asked boolean,
    failure text
)
language sql stable
set search_path = public, pg_temp
as $$
    select p.slug, i.made_by, i.commit_id, i.indexed_at, i.done, i.total,
           (select coalesce(sum(t.chunks), 0)::bigint from index_texts t where t.index_id = i.id),
           coalesce(i.held_until > now(), false),
           coalesce(i.asked_at > coalesce(i.indexed_at, '-infinity'), false), i.failure
    from projects p left join indexes i on i.tenant_id = p.tenant_id and i.project_id = p.id
    where p.tenant_id = of_tenant and p.removed_at is null
    order by p.slug collate "C", i.indexed_at desc nulls last
$$;

-- For the owner: has the workers look at a project's index within seconds, whatever HEAD says. How
-- many indexes it has.
create function ask_for_index(of_tenant uuid, of_project uuid) returns bigint
language sql volatile
set search_path = public, pg_temp
as $$
    with asked as (
        update indexes set asked_at = clock_timestamp()
        where tenant_id = of_tenant and project_id = of_project
        returning 1
    )
    select count(*) from asked
$$;

revoke all on function index_states(uuid), ask_for_index(uuid, uuid) from public;
