-- Owned by archway-workers: a worker reports its folders every 5 s, and only what is new is written.

-- All folders `<tenant>/<project>` of a worker are told each time; those that are no project are
-- passed over. A row that stays is touched every half minute: that is what `seen_at` is asked for.
create or replace function report_mounts(worker text, pool text, tenants text[], projects text[])
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    with mounted as materialized (
        select distinct p.tenant_id, p.id as project_id
        from unnest($3, $4) as named (tenant, project)
        join tenants t on t.slug = named.tenant
        join projects p on p.tenant_id = t.id and p.slug = named.project and p.removed_at is null
    ), gone as (
        delete from worker_mounts m
        where (m.worker <> $1 and m.seen_at < now() - interval '1 day')
           or (m.worker = $1 and (m.tenant_id, m.project_id) not in (table mounted))
    )
    insert into worker_mounts as m (worker, pool, tenant_id, project_id)
    select $1, $2, tenant_id, project_id from mounted
    on conflict (worker, tenant_id, project_id) do update
    set pool = excluded.pool, seen_at = now()
    where m.pool <> excluded.pool or m.seen_at < now() - interval '25 seconds'
$$;
