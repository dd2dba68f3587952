-- Owned by archway-workers: in which store the chunks of an index are, and how many it has there.

-- The id of the store that its texts were brought to; all zeros: one without an id, as Postgres itself
-- and collections that were made before this. With a store of another id all of them are lost.
alter table indexes add column home_id uuid not null default '00000000-0000-0000-0000-000000000000';

-- How many chunks it had when it was last whole: a store that has fewer of them lost some.
alter table indexes add column chunks bigint not null default 0;

update indexes i set chunks = t.chunks
from (select index_id, sum(chunks)::bigint as chunks from index_texts group by index_id) t
where t.index_id = i.id;

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
    -- The store that its texts were brought to.
    home_id uuid,
    -- It was made whole at least once.
    is_whole boolean,
    -- Somebody wants it to be looked at, wrote to memory, or it was not made whole when last tried.
    is_asked boolean
)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select distinct t.id, t.slug, p.id, p.slug, p.open_globs, p.close_globs, p.allow_globs,
           i.commit_id, i.rules, i.home_id, coalesce(i.edition > 0, false),
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
