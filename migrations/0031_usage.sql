-- Owned by archway-gateway: who used what, summed by the hour from the records of the audit trail.

-- Sums, never single calls. No runtime role may read or write it: a trigger counts what gateways append.
create table usage_hours (
    tenant_id   uuid not null references tenants (id) on delete cascade,
    -- When the calls ended: the beginning of an hour in UTC.
    hour        timestamptz not null,
    -- The program that called, as it says; empty where it said nothing, `other` beyond 200 of a tenant's hour.
    agent       text not null default '',
    principal   text not null default '',
    -- The id of the key or of the issuer's subject.
    credential  text not null default '',
    -- One that the tenant has or had; empty where the call named none, or one that never was.
    project     text not null default '',
    -- The method, where no tool was called.
    tool        text not null default '',
    outcome     text not null default '',
    calls       bigint not null default 0,
    units       bigint not null default 0,
    bytes_out   bigint not null default 0,
    -- Estimated: four bytes of an answer are one, rounded up for each call.
    tokens      bigint not null default 0,
    duration_ms double precision not null default 0,
    -- Calls without a record, which are in none of these sums.
    missing     bigint not null default 0,
    primary key (tenant_id, hour, agent, principal, credential, project, tool, outcome)
-- Sums change in place if their page has room.
) with (fillfactor = 80);

create index usage_hours_by_hour on usage_hours (hour);

alter table usage_hours enable row level security;

-- Units of a calendar month in UTC, which a tenant's limit by the month is held against.
create table usage_months (
    tenant_id uuid not null references tenants (id) on delete cascade,
    -- Its first moment.
    month     timestamptz not null,
    units     bigint not null default 0,
    primary key (tenant_id, month)
);

alter table usage_months enable row level security;

-- Such a limit is larger than one by the minute.
alter table limits drop constraint limits_per_minute_check;
alter table limits add constraint limits_per_minute_check
    check (per_minute between 0 and case when of = 'month' then 2000000000 else 1000000 end);

-- How many agents an hour of a tenant names. Jumps from name to name along the primary key, since an hour may have
-- many rows of each.
create function named_agents(of_tenant uuid, of_hour timestamptz)
returns bigint
language sql stable
as $$
    with recursive names as (
        (select u.agent from usage_hours u
         where u.tenant_id = of_tenant and u.hour = of_hour and u.agent > '' order by u.agent limit 1)
        union all
        select (select u.agent from usage_hours u
                where u.tenant_id = of_tenant and u.hour = of_hour and u.agent > n.agent order by u.agent limit 1)
        from names n where n.agent is not null
    )
    select count(*) from names where agent <> 'other'
$$;

revoke all on function named_agents(uuid, timestamptz) from public;

-- Counts the records that a statement appended, in the same transaction: a batch that is written again appends
-- nothing, and so counts nothing.
create function count_usage() returns trigger
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
    most_agents constant integer := 200;
    oldest constant timestamptz :=
        (date_trunc('month', now() at time zone 'UTC') - interval '13 months') at time zone 'UTC';
begin
    -- One batch of a tenant at a time: no two wait for each other's rows, and the bound on agents is exact.
    perform pg_advisory_xact_lock(hashtextextended('usage of ' || t.tenant_id, 0))
    from (select distinct tenant_id from added order by tenant_id) t;

    with facts as (
        select a.tenant_id, date_trunc('hour', a.at, 'UTC') as hour,
               date_trunc('month', a.at, 'UTC') as month, coalesce(r.agent, '') as agent,
               coalesce(r.principal, '') as principal, coalesce(r.credential, '') as credential,
               coalesce(p.slug, '') as project, coalesce(r.tool, r.method, '') as tool,
               coalesce(r.outcome, '') as outcome, coalesce(r.units, 0) as units,
               coalesce(r.bytes, 0) as bytes, coalesce(r.duration_ms, 0) as duration_ms,
               coalesce(r.missing, 0) as missing,
               case r.kind when 'call' then 1 when 'refusals' then r.count else 0 end as calls
        from added a
        cross join lateral json_to_record(a.record::json) as r (
            kind text, principal text, credential text, agent text, method text, tool text, project text,
            outcome text, units bigint, bytes bigint, duration_ms double precision, count bigint,
            missing bigint)
        left join projects p on p.tenant_id = a.tenant_id and p.slug = r.project
        where r.kind in ('call', 'refusals', 'gap')
    ), unknown as (
        select distinct tenant_id, hour, agent from facts f
        where agent <> '' and not exists (select from usage_hours u where u.tenant_id = f.tenant_id
                                                                     and u.hour = f.hour and u.agent = f.agent)
    ), known as materialized (
        select tenant_id, hour, named_agents(tenant_id, hour) as agents
        from (select distinct tenant_id, hour from unknown) h
    ), new_agents as (
        select tenant_id, hour, agent,
               agents + row_number() over (partition by tenant_id, hour order by agent) as place
        from unknown join known using (tenant_id, hour)
    ), months as (
        insert into usage_months as kept (tenant_id, month, units)
        select f.tenant_id, f.month, sum(f.units) from facts f group by 1, 2
        on conflict (tenant_id, month) do update set units = kept.units + excluded.units
    )
    insert into usage_hours as kept (tenant_id, hour, agent, principal, credential, project, tool, outcome, calls,
                                     units, bytes_out, tokens, duration_ms, missing)
    select f.tenant_id, f.hour, case when n.place > most_agents then 'other' else f.agent end,
           f.principal, f.credential, f.project, f.tool, f.outcome, sum(f.calls), sum(f.units), sum(f.bytes),
           sum((f.bytes + 3) / 4), sum(f.duration_ms), sum(f.missing)
    from facts f
    left join new_agents n on n.tenant_id = f.tenant_id and n.hour = f.hour and n.agent = f.agent
    group by 1, 2, 3, 4, 5, 6, 7, 8
    on conflict (tenant_id, hour, agent, principal, credential, project, tool, outcome) do update
    set calls = kept.calls + excluded.calls, units = kept.units + excluded.units,
        bytes_out = kept.bytes_out + excluded.bytes_out, tokens = kept.tokens + excluded.tokens,
        duration_ms = kept.duration_ms + excluded.duration_ms, missing = kept.missing + excluded.missing;

    -- Months that ended over 13 months ago, some rows at a time, so that no batch waits for it.
    delete from usage_hours where ctid = any (array(
        select ctid from usage_hours where hour < oldest limit 500 for update skip locked));
    delete from usage_months where month < oldest and tenant_id in (select tenant_id from added);
    return null;
end
$$;

revoke all on function count_usage() from public;

create trigger audit_records_counted after insert on audit_records
    referencing new table as added
    for each statement execute function count_usage();

-- The sums of the last 24 hours by tenant, the hour of their beginning included, with the most calls first. Each
-- row has the number of tenants, listed or not, and the sums of all.
create function usage_overview(most integer)
returns table (
    tenant text,
    calls bigint,
    units bigint,
    bytes_out bigint,
    tokens bigint,
    duration_ms double precision,
    missing bigint,
    all_tenants bigint,
    all_calls bigint
)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select t.slug, s.calls, s.units, s.bytes_out, s.tokens, s.duration_ms, s.missing, count(*) over (),
           (sum(s.calls) over ())::bigint
    from (select u.tenant_id, sum(u.calls)::bigint as calls, sum(u.units)::bigint as units,
                 sum(u.bytes_out)::bigint as bytes_out, sum(u.tokens)::bigint as tokens,
                 sum(u.duration_ms) as duration_ms, sum(u.missing)::bigint as missing
          from usage_hours u where u.hour > now() - interval '25 hours' group by u.tenant_id) s
    join tenants t on t.id = s.tenant_id
    order by s.calls desc, t.slug collate "C"
    limit most
$$;

revoke all on function usage_overview(integer) from public;
grant execute on function usage_overview(integer) to archway_gateway;

-- The units that tenants with a limit by the month have spent of this one, when it ends (microseconds since 1970) and on
-- which day the next begins. One row without a tenant if none has such a limit.
create function month_sums(most integer)
returns table (ends bigint, next text, tenant_id uuid, units bigint)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select (extract(epoch from m.ends at time zone 'UTC') * 1000000)::bigint, to_char(m.ends, 'YYYY-MM-DD'),
           q.tenant_id, q.units
    from (select date_trunc('month', now() at time zone 'UTC') + interval '1 month' as ends) m
    left join lateral (
        select l.tenant_id, coalesce(u.units, 0) as units
        from limits l
        left join usage_months u
               on u.tenant_id = l.tenant_id and u.month = (m.ends - interval '1 month') at time zone 'UTC'
        where l.level = 'tenant' and l.of = 'month' and l.per_minute > 0
        order by l.tenant_id
        limit most
    ) q on true
$$;

revoke all on function month_sums(integer) from public;
grant execute on function month_sums(integer) to archway_gateway;
