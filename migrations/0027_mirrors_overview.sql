-- Owned by archway-sync: how the mirrors of a process are, and a process for one pool of tenants.

-- The mirrors at this place by state: how many are in use, the bytes of all, and the age of the one that was fetched
-- longest ago, or never since it was added. A source without a row counts as `new`.
create function mirrors_overview(at_place text, of_pool text)
returns table (state text, mirrors bigint, bytes bigint, oldest_seconds double precision)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select coalesce(m.state, 'new'),
           count(*) filter (where p.removed_at is null and t.disabled_at is null),
           coalesce(sum(m.bytes), 0)::bigint,
           coalesce(max(extract(epoch from now() - coalesce(m.fetched_at, m.since)))
                    filter (where p.removed_at is null and t.disabled_at is null), 0)::double precision
    from sources s
    join projects p on p.id = s.project_id
    join tenants t on t.id = s.tenant_id
    left join mirrors m on m.project_id = s.project_id and m.place = at_place
    where of_pool is null or t.pool = of_pool
    group by 1
$$;

-- `add_mirrors(at_place)` for the tenants of one pool; of no pool, for all. Rows of tenants that moved to another
-- pool go, so nothing is fetched for them here.
create function add_mirrors(at_place text, of_pool text)
returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
    if of_pool is null then
        perform add_mirrors(at_place);
        return;
    end if;
    delete from mirrors m using tenants t
    where t.id = m.tenant_id and m.leased_until < now()
      and (m.place = at_place and t.pool <> of_pool
           -- Places whose process is gone.
           or m.place not in ('', at_place)
              and greatest(m.next_at, m.tried_at, m.leased_until) < now() - interval '1 hour');
    insert into mirrors (project_id, tenant_id, place)
    select s.project_id, s.tenant_id, at_place
    from sources s
    join projects p on p.id = s.project_id and p.removed_at is null
    join tenants t on t.id = s.tenant_id and t.pool = of_pool
    where not exists (select from mirrors m where m.project_id = s.project_id and m.place = at_place)
    on conflict do nothing;
end
$$;

revoke all on function mirrors_overview(text, text), add_mirrors(text, text) from public;
grant execute on function mirrors_overview(text, text), add_mirrors(text, text) to archway_sync;
