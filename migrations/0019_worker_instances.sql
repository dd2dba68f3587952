-- Owned by archway-workers: workers of one name are told apart by where they run.

alter table worker_mounts
    -- The worker's host and port, `box-7000`: a restart replaces what the same worker reported before.
    -- Empty for workers of an older build.
    add column instance text not null default '' check (length(instance) <= 400),
    drop constraint worker_mounts_pkey,
    add primary key (worker, instance, tenant_id, project_id);

-- As in 0018, by worker and instance.
create function report_mounts(
    worker text, instance text, pool text, tenants text[], projects text[]
)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    with mounted as materialized (
        select distinct p.tenant_id, p.id as project_id
        from unnest($4, $5) as named (tenant, project)
        join tenants t on t.slug = named.tenant
        join projects p on p.tenant_id = t.id and p.slug = named.project and p.removed_at is null
    ), gone as (
        delete from worker_mounts m
        where ((m.worker, m.instance) <> ($1, $2) and m.seen_at < now() - interval '1 day')
           or ((m.worker, m.instance) = ($1, $2)
               and (m.tenant_id, m.project_id) not in (table mounted))
    )
    insert into worker_mounts as m (worker, instance, pool, tenant_id, project_id)
    select $1, $2, $3, tenant_id, project_id from mounted
    on conflict (worker, instance, tenant_id, project_id) do update
    set pool = excluded.pool, seen_at = now()
    where m.pool <> excluded.pool or m.seen_at < now() - interval '25 seconds'
$$;

revoke all on function report_mounts(text, text, text, text[], text[]) from public;
grant execute on function report_mounts(text, text, text, text[], text[]) to archway_worker;

-- For workers of an older build, which run on while the new ones start.
create or replace function report_mounts(worker text, pool text, tenants text[], projects text[])
returns void
language sql volatile security invoker
set search_path = public, pg_temp
as $$
    select report_mounts($1, '', $2, $3, $4)
$$;
