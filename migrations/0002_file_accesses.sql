-- Owned by archway-workers: which files were read, for ranking. One row per reader, file and day.

create table file_accesses (
    tenant_id  uuid not null,
    project_id uuid not null,
    principal  text not null,
    path       text not null,
    day        date not null,
    count      bigint not null check (count > 0),
    last_at    timestamptz not null,
    primary key (tenant_id, project_id, principal, path, day),
    -- With the tenant: a row about a project that is another's can't be.
    foreign key (tenant_id, project_id) references projects (tenant_id, id) on delete cascade
);

create index file_accesses_recent on file_accesses (tenant_id, project_id, principal, last_at desc);

alter table file_accesses enable row level security;

create policy file_accesses_own on file_accesses to archway_worker
    using (tenant_id = current_tenant())
    with check (tenant_id = current_tenant());

grant select, insert, update on file_accesses to archway_worker;
