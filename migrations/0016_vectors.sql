-- Owned by archway-workers: which texts have no vectors yet, since the embedding service was away.

-- It is at home by its words alone: its vectors are still to be made.
alter table index_texts add column lacks_vectors boolean not null default false;

-- Some of its texts lack them, as of its last edition: it is searched by words alone. It changes with
-- the edition and never between two.
alter table indexes add column lacks_vectors boolean not null default false;

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
    -- Vectors that failed to come are no such reason: they are known by the next column.
    is_asked boolean,
    -- Some of its texts lack their vectors.
    lacks_vectors boolean
)
language sql stable security definer
set search_path = public, pg_temp
as $$
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
    where t.disabled_at is null
$$;

revoke all on function mounted_projects(text[], text[], text) from public;
grant execute on function mounted_projects(text[], text[], text) to archway_worker;

-- As before, but an index whose texts lack vectors waits for them.
create or replace function index_overview(most integer)
returns table (
    state text,
    projects bigint,
    tenant text,
    project text,
    done bigint,
    total bigint,
    failure text
)
language sql stable security definer
set search_path = public, pg_temp
as $$
    -- What a project was indexed by before is of no interest once something else was begun. An index whose
    -- texts were lost (its edition is negative) is not whole, though it was.
    with latest as (
        select distinct on (p.id) t.slug as tenant, p.slug as project, i.done, i.total,
               case when not coalesce(i.held_until > now(), false) then i.failure end as failure,
               case when i.held_until > now() then 'running'
                    when i.failure is not null then 'failed'
                    when i.indexed_at is not null and i.edition > 0 and not i.lacks_vectors
                        and not coalesce(i.asked_at > i.indexed_at, false)
                        then 'whole'
                    else 'waiting' end as state
        from projects p
        join tenants t on t.id = p.tenant_id
        left join indexes i on i.tenant_id = p.tenant_id and i.project_id = p.id
        where p.removed_at is null and t.disabled_at is null
        order by p.id, coalesce(i.held_until > now(), false) desc, i.id desc nulls last
    ), unfinished as (
        select l.* from latest l where l.state <> 'whole'
        order by array_position(array['running', 'failed', 'waiting'], l.state),
                 l.tenant collate "C", l.project collate "C"
        limit most
    )
    select l.state, count(*), null::text, null::text, null::bigint, null::bigint, null::text
    from latest l group by l.state
    union all
    select u.state, null, u.tenant, u.project, coalesce(u.done, 0), coalesce(u.total, 0), u.failure
    from unfinished u
$$;
