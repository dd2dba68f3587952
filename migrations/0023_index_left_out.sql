-- Owned by archway-workers: how many files an index leaves out because they exceed the workers' memory.

alter table indexes add column left_out bigint not null default 0 check (left_out >= 0);

drop function states_of_indexes(uuid[]);

-- For the owner: how the indexes of these projects stand, the latest of a project first.
create function states_of_indexes(of_projects uuid[])
returns table (
    project_id uuid,
    made_by text,
    commit_id text,
    indexed_at timestamptz,
    done bigint,
    total bigint,
    left_out bigint,
    -- As of the last complete index; of an active run, so far.
    chunks bigint,
    is_running boolean,
    is_asked boolean,
    failure text
)
language sql stable
set search_path = public, pg_temp
as $$
    select p.id, i.made_by, i.commit_id, i.indexed_at, i.done, i.total, i.left_out,
           case when i.held_until > now()
                then (select coalesce(sum(t.chunks), 0)::bigint
                      from index_texts t where t.index_id = i.id)
                else i.chunks end,
           coalesce(i.held_until > now(), false),
           coalesce(i.asked_at > coalesce(i.indexed_at, '-infinity'), false), i.failure
    from projects p
    left join indexes i on i.tenant_id = p.tenant_id and i.project_id = p.id
    where p.id = any(of_projects)
    order by p.id, i.indexed_at desc nulls last
$$;

revoke all on function states_of_indexes(uuid[]) from public;
