-- Owned by archway-workers: which project has changed, so that no worker has to ask about all of them.

-- Notifies `<tenant id>/<project id>`. Ids, since a worker may not learn the names of projects that it has not
-- mounted.
create function notify_project_change() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
begin
    perform pg_notify('archway_projects', new.tenant_id::text || '/' || new.project_id);
    return null;
end
$$;

-- A project was added, changed or removed.
create function notify_project_row_change() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
declare
    project projects := case tg_op when 'DELETE' then old else new end;
begin
    perform pg_notify('archway_projects', project.tenant_id::text || '/' || project.id);
    return null;
end
$$;

-- All projects of a tenant: it was renamed, disabled or enabled.
create function notify_tenant_change() returns trigger
language plpgsql
set search_path = public, pg_temp
as $$
begin
    perform pg_notify('archway_projects', new.id::text);
    return null;
end
$$;

create trigger project_changes after update on tenants
    for each row when (old.slug <> new.slug or old.disabled_at is distinct from new.disabled_at)
    execute function notify_tenant_change();

create trigger project_changes after insert or update or delete on projects
    for each row execute function notify_project_row_change();

-- Somebody wrote to the project's memory, or erased from it.
create trigger project_changes after insert or update on memory_logs
    for each row execute function notify_project_change();
create trigger project_changes after insert on memory_erasures
    for each row execute function notify_project_change();

-- Somebody requested a run, or a run has ended. A run writes its lease and its progress much more often.
create trigger project_changes after update on indexes
    for each row when (
        old.asked_at is distinct from new.asked_at or old.edition <> new.edition
        or old.failure is distinct from new.failure
    )
    execute function notify_project_change();
