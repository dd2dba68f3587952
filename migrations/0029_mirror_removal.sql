-- Owned by archway-sync: a mirror out of use is leased on its own, and forgotten by the lease under which it was removed.

-- Leases a mirror at this place whose project has been out of use for so long, to remove it.
drop function lease_expired_mirrors(text, uuid, double precision, integer);
create function lease_expired_mirror(at_place text, holder uuid, keep_seconds double precision, lease_seconds integer)
returns table (project_id uuid, tenant text, project text, lease_number bigint)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with expired as (
        select m.project_id, t.slug as tenant, p.slug as project
        from mirrors m join projects p on p.id = m.project_id join tenants t on t.id = p.tenant_id
        where m.place = at_place and m.leased_until < now()
          and p.removed_at < now() - make_interval(secs => keep_seconds)
        limit 1
        for update of m skip locked
    )
    update mirrors m
    set lease_holder = holder, lease_number = m.lease_number + 1,
        leased_until = now() + make_interval(secs => lease_seconds)
    from expired where m.project_id = expired.project_id and m.place = at_place
    returning expired.project_id, expired.tenant, expired.project, m.lease_number;
end
$$;

-- Forgets a mirror that was removed. One whose project came into use meanwhile is made anew. Nothing if the lease was
-- lost: the mirror is another one's.
drop function forget_mirror(uuid, text);
create function forget_mirror(project uuid, at_place text, number bigint)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    delete from mirrors m using projects p
    where m.project_id = project and m.place = at_place and m.lease_number = number
      and p.id = project and p.removed_at is not null;
    update mirrors m
    set state = 'new', since = now(), fetched_at = null, head = null, bytes = null, next_at = now(),
        leased_until = '-infinity', lease_holder = null
    where m.project_id = project and m.place = at_place and m.lease_number = number
$$;

revoke all on function lease_expired_mirror(text, uuid, double precision, integer), forget_mirror(uuid, text, bigint)
    from public;
grant execute on function lease_expired_mirror(text, uuid, double precision, integer), forget_mirror(uuid, text, bigint)
    to archway_sync;

-- The state of a mirror as it is shown: one whose run is late is behind, and one whose clone died waits for its next. The
-- function of two arguments stays: workers of the build before call it while an upgrade rolls.
create function shown_mirror_state(state text, next_at timestamptz, leased_until timestamptz)
returns text
language sql stable
as $$
    select case when state = 'ok' and next_at < now() - interval '1 minute' then 'behind'
                when state = 'cloning' and leased_until < now() - interval '1 minute' then 'new' else state end
$$;
grant select (leased_until) on mirrors to archway_worker;

create or replace function mirrors_overview(at_place text, of_pool text)
returns table (state text, mirrors bigint, bytes bigint, oldest_seconds double precision)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select coalesce(shown_mirror_state(m.state, m.next_at, m.leased_until), 'new'),
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
