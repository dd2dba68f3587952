-- Owned by archway-workers: functions that scans and writes call, with the same results as before, and an index. PostgreSQL
-- plans the body of a function in SQL in each query that calls it, which costs several times its execution.
-- That of a function in PL/pgSQL is planned once per connection.

-- How much was noted in a project's memory and erased from it: it only grows, with each.
create or replace function memory_mark(of_tenant uuid, of_project uuid) returns bigint
language plpgsql stable
set search_path = public, pg_temp
as $$
begin
    return coalesce((select sum(l.count) from memory_logs l
                     where l.tenant_id = of_tenant and l.project_id = of_project), 0)::bigint
         + (select count(*) from memory_erasures e
            where e.tenant_id = of_tenant and e.project_id = of_project);
end
$$;

-- The same for a worker, of the transaction's tenant.
create or replace function own_memory_mark(of_project uuid) returns bigint
language plpgsql stable security definer
set search_path = public, pg_temp
as $$
begin
    return memory_mark(current_tenant(), of_project);
end
$$;

-- As in 0016.
create or replace function mounted_projects(tenants text[], projects text[], made_by text)
returns table (
    tenant_id uuid,
    tenant text,
    project_id uuid,
    project text,
    open_globs text[],
    close_globs text[],
    allow_globs text[],
    commit_id text,
    rules text,
    home_id uuid,
    is_whole boolean,
    is_asked boolean,
    lacks_vectors boolean
)
language plpgsql stable security definer
set search_path = public, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select distinct t.id, t.slug, p.id, p.slug, p.open_globs, p.close_globs, p.allow_globs,
           i.commit_id, i.rules, i.home_id, coalesce(i.edition > 0, false),
           coalesce(i.asked_at > coalesce(i.indexed_at, '-infinity'), false)
           or (i.failure is not null and not i.lacks_vectors)
           or coalesce(i.notes, 0) <> memory_mark(t.id, p.id),
           coalesce(i.lacks_vectors, false)
    from unnest($1, $2) as mounted (tenant, project)
    join tenants t on t.slug = mounted.tenant
    join projects p on p.tenant_id = t.id and p.slug = mounted.project and p.removed_at is null
    left join indexes i on i.tenant_id = t.id and i.project_id = p.id and i.made_by = $3
    where t.disabled_at is null;
end
$$;

-- Whether the transaction's tenant may keep so many bytes more, as in 0009.
create or replace function memory_has_room(more bigint) returns boolean
language plpgsql stable
set search_path = public, pg_temp
as $$
declare
    own uuid := current_tenant();
    mib bigint := coalesce((select l.per_minute from limits l
                            where l.tenant_id = own and l.lineage is null
                                  and l.level = 'tenant' and l.of = 'memory_mib'), 1024);
begin
    return mib = 0 or mib * 1048576 >= more + 256 +
        (select coalesce(sum(m.bytes + 256 * m.count), 0) from memory_logs m where m.tenant_id = own);
end
$$;

-- Counts one more in a log, whose row stays locked until the transaction ends.
create or replace function count_memory(of_project uuid, in_log text, more bigint)
returns memory_logs
language plpgsql
set search_path = public, pg_temp
as $$
declare
    counted memory_logs;
begin
    insert into memory_logs as l (tenant_id, project_id, log, count, bytes, last_at)
    values (current_tenant(), of_project, in_log, 1, more, clock_timestamp())
    on conflict (tenant_id, project_id, log) do update
        set count = l.count + 1, bytes = l.bytes + excluded.bytes,
            last_at = greatest(clock_timestamp(), l.last_at)
    returning l.* into counted;
    return counted;
end
$$;

-- The reads of a file, whoever read it: the primary key begins with the reader.
create index file_accesses_of_path on file_accesses (tenant_id, project_id, path, day);
