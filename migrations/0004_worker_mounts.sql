-- Owned by archway-workers: which worker sees which project's folder, for `archway project list`.

create table worker_mounts (
    -- The worker's own name, its host's by default.
    worker     text not null check (length(worker) between 1 and 253),
    pool       text not null,
    tenant_id  uuid not null,
    project_id uuid not null,
    seen_at    timestamptz not null default now(),
    primary key (worker, tenant_id, project_id),
    foreign key (tenant_id, project_id) references projects (tenant_id, id) on delete cascade
);

-- For a tenant's list of projects, and for the foreign key when a project is erased.
create index worker_mounts_project on worker_mounts (tenant_id, project_id);

alter table worker_mounts enable row level security;

-- A worker reports the folders `<tenant>/<project>` it has, all of them each time; those that are
-- no project are passed over. It sees nothing of what others reported.
create function report_mounts(worker text, pool text, tenants text[], projects text[])
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    delete from worker_mounts m where m.worker = $1 or m.seen_at < now() - interval '1 day';
    insert into worker_mounts (worker, pool, tenant_id, project_id)
    select distinct $1, $2, p.tenant_id, p.id
    from unnest($3, $4) as mounted (tenant, project)
    join tenants t on t.slug = mounted.tenant
    join projects p on p.tenant_id = t.id and p.slug = mounted.project and p.removed_at is null
    on conflict (worker, tenant_id, project_id) do nothing
$$;

revoke all on function report_mounts(text, text, text[], text[]) from public;
grant execute on function report_mounts(text, text, text[], text[]) to archway_worker;
