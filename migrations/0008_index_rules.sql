-- Owned by archway-workers: by which rules an index was made, and which texts are on their way home.

-- Of the path rules that held when it was last whole; null: nobody wrote it down.
alter table indexes add column rules text;

-- False from before a text goes home until it is there, and from before it goes away until it is
-- gone: what a worker that was killed left behind is found again, and has no chunks that count.
alter table index_texts add column is_home boolean not null default true;

drop function mounted_projects(text[], text[], text);

-- Which projects the folders `<tenant>/<project>` are that a worker has, by which path rules they
-- are read, and how the index of each stands that was made by the same. It learns nothing of
-- projects it has not, and may read the repository of each it has anyway.
create function mounted_projects(tenants text[], projects text[], made_by text)
returns table (
    tenant_id uuid,
    tenant text,
    project_id uuid,
    project text,
    open_globs text[],
    close_globs text[],
    allow_globs text[],
    commit_id text,
    -- Of the path rules, when it was last whole.
    rules text,
    -- It was made whole at least once.
    is_whole boolean,
    -- Somebody wants it to be looked at, wrote to memory, or it was not made whole when last tried.
    is_asked boolean
)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select distinct t.id, t.slug, p.id, p.slug, p.open_globs, p.close_globs, p.allow_globs,
           i.commit_id, i.rules, coalesce(i.edition > 0, false),
           coalesce(i.asked_at > coalesce(i.indexed_at, '-infinity'), false)
           or i.failure is not null
           or coalesce(i.notes, 0) <> memory_mark(t.id, p.id)
    from unnest($1, $2) as mounted (tenant, project)
    join tenants t on t.slug = mounted.tenant
    join projects p on p.tenant_id = t.id and p.slug = mounted.project and p.removed_at is null
    left join indexes i on i.tenant_id = t.id and i.project_id = p.id and i.made_by = $3
    where t.disabled_at is null
$$;

revoke all on function mounted_projects(text[], text[], text) from public;
grant execute on function mounted_projects(text[], text[], text) to archway_worker;
