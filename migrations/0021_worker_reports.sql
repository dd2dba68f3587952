-- Owned by archway-workers: a worker reports that it is there in one row, and its folders only when they change.

create table worker_reports (
    worker      text not null check (length(worker) between 1 and 253),
    instance    text not null check (length(instance) <= 400),
    -- The last sign of life.
    seen_at     timestamptz not null default now(),
    -- When its folders were reported.
    reported_at timestamptz not null default now(),
    primary key (worker, instance)
);

alter table worker_reports enable row level security;

-- For the next function: projects that were added since a report.
create index projects_created on projects (created_at);

-- A sign of life of a worker whose folders have not changed. True if a project was added since they were reported:
-- a folder may be older than its project. Or if they were never reported.
create function worker_lives(worker text, instance text) returns boolean
language sql volatile security definer
set search_path = public, pg_temp
as $$
    with living as (
        update worker_reports r set seen_at = now()
        where r.worker = $1 and r.instance = $2
        returning r.reported_at
    )
    select coalesce((select max(p.created_at) from projects p)
                    >= (select reported_at from living), true)
$$;

revoke all on function worker_lives(text, text) from public;
grant execute on function worker_lives(text, text) to archway_worker;

-- As in 0019, and rows that stay are not written again.
create or replace function report_mounts(
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
    ), living as (
        insert into worker_reports as r (worker, instance) values ($1, $2)
        on conflict (worker, instance) do update set seen_at = now(), reported_at = now()
    ), dead as (
        delete from worker_reports r
        where (r.worker, r.instance) <> ($1, $2) and r.seen_at < now() - interval '1 day'
    ), gone as (
        delete from worker_mounts m
        where ((m.worker, m.instance) = ($1, $2)
               and (m.tenant_id, m.project_id) not in (table mounted))
           or ((m.worker, m.instance) <> ($1, $2) and m.seen_at < now() - interval '1 day'
               and not exists (select from worker_reports r
                               where (r.worker, r.instance) = (m.worker, m.instance)
                                 and r.seen_at > now() - interval '1 day'))
    )
    insert into worker_mounts as m (worker, instance, pool, tenant_id, project_id)
    select $1, $2, $3, tenant_id, project_id from mounted
    on conflict (worker, instance, tenant_id, project_id) do update
    set pool = excluded.pool, seen_at = now()
    where m.pool <> excluded.pool
$$;

-- Which worker has which folders, and when it was last there.
create view mounted_folders as
    select m.worker, m.instance, m.pool, m.tenant_id, m.project_id,
           greatest(m.seen_at, r.seen_at) as seen_at
    from worker_mounts m
    left join worker_reports r on (r.worker, r.instance) = (m.worker, m.instance);
