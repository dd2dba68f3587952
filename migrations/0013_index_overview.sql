-- Owned by archway-workers: how the indexes of all projects stand, for who operates the installation.

-- How many projects there are in each state, then those that are not whole: what runs, what failed,
-- what waits, at most so many. A state's first row has its number and no project.
create function index_overview(most integer)
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
                    when i.indexed_at is not null and i.edition > 0
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

revoke all on function index_overview(integer) from public;
grant execute on function index_overview(integer) to archway_gateway;
