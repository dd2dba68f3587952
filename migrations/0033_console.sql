-- Owned by archway-gateway: what the operator's page reads about all tenants, by functions that answer nothing else.

-- Calls of the whole installation by the hour, for its charts: a tenant's sums are too many to add up for a page.
create table call_hours (
    -- The beginning of an hour in UTC.
    hour     timestamptz not null,
    -- The method, where no tool was called.
    tool     text not null,
    outcome  text not null,
    -- How long they took: from 2^(bucket/4) / 4 ms to less than 2^((bucket+1)/4) / 4 ms.
    bucket   smallint not null check (bucket between 0 and 80),
    -- Any of four rows, so that gateways that write at once seldom wait for each other.
    slot     smallint not null check (slot between 0 and 3),
    calls    bigint not null,
    primary key (hour, tool, outcome, bucket, slot)
) with (fillfactor = 80);

alter table call_hours enable row level security;

-- As in 0031, and adds the calls up in call_hours as well.
create or replace function count_usage() returns trigger
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
        select a.tenant_id, a.at, date_trunc('hour', a.at, 'UTC') as hour,
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
    ), hours as (
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
            duration_ms = kept.duration_ms + excluded.duration_ms, missing = kept.missing + excluded.missing
    )
    -- Rows that all tenants share are written in one order, so that writers cannot wait in a circle.
    insert into call_hours as kept (hour, tool, outcome, bucket, slot, calls)
    select f.hour, f.tool, f.outcome, floor(4 * ln(least(greatest(f.duration_ms, 0.25), 250000) * 4) / ln(2)),
           pg_backend_pid() % 4, sum(f.calls)
    from facts f where f.calls > 0 and f.at > now() - interval '8 days'
    group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (hour, tool, outcome, bucket, slot) do update set calls = kept.calls + excluded.calls;

    -- What is too old, some rows at a time, so that no batch waits for it.
    delete from usage_hours where ctid = any (array(
        select ctid from usage_hours where hour < oldest limit 500 for update skip locked));
    delete from usage_months where month < oldest and tenant_id in (select tenant_id from added);
    delete from call_hours where ctid = any (array(
        select ctid from call_hours where hour < now() - interval '8 days' limit 500 for update skip locked));
    return null;
end
$$;

-- What a gateway says about itself, as `GatewayReport` writes it; empty of an earlier build.
alter table gateways add column report text not null default '' check (length(report) <= 8192);

-- As report_gateway, with a report.
create function report_gateway_state(id uuid, name text, host text, admin text, report text)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    delete from gateways g where g.seen_at < now() - interval '1 hour';
    insert into gateways (id, name, host, admin, report) values ($1, $2, $3, $4, $5)
    on conflict (id) do update set seen_at = now(), report = excluded.report
$$;

-- The calls of the last 24 hours, this one included: at most so many rows, those with the most calls.
create function console_hours(most integer)
returns table (hour bigint, tool text, outcome text, bucket smallint, calls bigint)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select extract(epoch from h.hour)::bigint, h.tool, h.outcome, h.bucket, sum(h.calls)::bigint
    from call_hours h where h.hour > now() - interval '24 hours'
    group by h.hour, h.tool, h.outcome, h.bucket
    order by 5 desc limit most
$$;

-- The gateways, workers and `archway sync` processes that were there within the hour, the living ones first.
create function console_processes(most integer)
returns table (kind text, name text, host text, pool text, version text, seconds bigint, lives boolean,
               report text)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select p.kind, p.name, p.host, p.pool, p.version, p.seconds, p.seconds < p.dead_after, p.report
    from (
        select 'gateway' as kind, g.name, g.host, null as pool, null as version,
               extract(epoch from now() - g.seen_at)::bigint as seconds, 30 as dead_after, g.report
        from gateways g
        union all
        select 'worker', r.worker, r.instance,
               (select m.pool from worker_mounts m
                where m.worker = r.worker and m.instance = r.instance limit 1),
               null, extract(epoch from now() - r.seen_at)::bigint, 90, ''
        from worker_reports r where r.seen_at > now() - interval '1 hour'
        union all
        select 'sync', s.name, coalesce(s.host, ''), s.pool, s.version,
               extract(epoch from now() - s.seen_at)::bigint, 90, ''
        from sync_processes s where s.seen_at > now() - interval '1 hour'
    ) p
    order by p.seconds < p.dead_after desc, p.kind, p.name collate "C", p.host collate "C"
    limit most
$$;

-- How many mirrors and listings there are in each state, then those that are not well, longest first, at most so many.
create function console_syncs(most integer)
returns table (state text, many bigint, tenant text, name text, message text, seconds bigint)
language sql stable security definer
set search_path = public, pg_temp
as $$
    with known as materialized (
        select coalesce(shown_mirror_state(m.state, m.next_at, m.leased_until), 'new') as state, t.slug as tenant,
               p.slug as name, m.message,
               extract(epoch from now() - coalesce(m.fetched_at, m.since, s.created_at)) as seconds
        from sources s
        join projects p on p.id = s.project_id and p.removed_at is null
        join tenants t on t.id = s.tenant_id and t.disabled_at is null
        left join mirrors m on m.project_id = s.project_id
        union all
        select case when l.attempts > 0 then 'listing fails' else 'listed' end, t.slug, 'connection ' || c.name,
               l.message, extract(epoch from now() - coalesce(l.listed_at, c.created_at))
        from listings l
        join connections c on c.id = l.connection_id and c.removed_at is null
        join tenants t on t.id = c.tenant_id and t.disabled_at is null
    )
    (select k.state, count(*), null::text, null::text, null::text, null::bigint from known k
     group by k.state)
    union all
    (select k.state, null, k.tenant, k.name, k.message, k.seconds::bigint
     from known k where k.state not in ('ok', 'listed')
     order by k.seconds desc, k.tenant collate "C", k.name collate "C" limit most)
$$;

-- Tenants whose slug or name has the text, in order of their slugs after one, or one of them, at most so many. `units` are spent of this
-- month; `quota` is null without a limit; `matches` counts all that match.
create function console_tenants(of_tenant text, search text, after text, most integer)
returns table (tenant text, name text, pool text, disabled boolean, projects bigint, live_keys bigint, units bigint,
               quota integer, matches bigint)
language sql stable security definer
set search_path = public, pg_temp
as $$
    with matching as materialized (
        select t.id, t.slug, t.name, t.pool, t.disabled_at is not null as disabled
        from tenants t
        where (of_tenant is null or t.slug = of_tenant)
          and (search = '' or strpos(t.slug, lower(search)) > 0 or strpos(lower(t.name), lower(search)) > 0)
    ), page as (
        select m.* from matching m where m.slug collate "C" > after order by m.slug collate "C" limit most
    )
    select p.slug, p.name, p.pool, p.disabled,
           (select count(*) from projects r where r.tenant_id = p.id and r.removed_at is null),
           (select count(*) from api_keys k
            where k.tenant_id = p.id and k.revoked_at is null and coalesce(k.expires_at > now(), true)),
           coalesce((select u.units from usage_months u
                     where u.tenant_id = p.id and u.month = date_trunc('month', now(), 'UTC')), 0),
           (select l.per_minute from limits l
            where l.tenant_id = p.id and l.level = 'tenant' and l.of = 'month' and l.per_minute > 0),
           (select count(*) from matching)
    from page p order by p.slug collate "C"
$$;

-- Tenants that have spent at least so much of their limit by the month (1 is all of it), the nearest first.
create function console_quotas(share double precision, most integer)
returns table (tenant text, units bigint, quota integer)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select t.slug, u.units, l.per_minute
    from limits l
    join tenants t on t.id = l.tenant_id and t.disabled_at is null
    join usage_months u on u.tenant_id = l.tenant_id and u.month = date_trunc('month', now(), 'UTC')
    where l.level = 'tenant' and l.of = 'month' and l.per_minute > 0 and u.units >= share * l.per_minute
    order by u.units::double precision / l.per_minute desc, t.slug collate "C" limit most
$$;

-- The limits of one tenant and its keys that differ from the defaults, at most so many; a key is the youngest of its
-- lineage, by its id.
create function console_limits(of_tenant text, most integer)
returns table (key text, level text, of text, per_minute integer)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select (select k.id from api_keys k where k.tenant_id = l.tenant_id and k.lineage = l.lineage
            order by k.created_at desc, k.id limit 1),
           l.level, l.of, l.per_minute
    from limits l join tenants t on t.id = l.tenant_id
    where t.slug = of_tenant
    order by l.lineage nulls first, l.level collate "C", l.of collate "C" limit most
$$;

-- The keys of a tenant in order of label and id after those, or one of them, at most so many. What they did is of the
-- last seven days, to the hour.
create function console_keys(of_tenant text, of_key text, after_label text, after_id text, most integer)
returns table (id text, label text, scopes text[], projects text[], families text[], created_seconds bigint,
               expires_seconds bigint, revoked boolean, used_hours integer, calls bigint, agents text[], matches bigint)
language sql stable security definer
set search_path = public, pg_temp
as $$
    with own as materialized (
        select k.* from api_keys k join tenants t on t.id = k.tenant_id
        where t.slug = of_tenant and (of_key is null or k.id = of_key)
    ), page as materialized (
        select o.* from own o where (o.label collate "C", o.id collate "C") > (after_label, after_id)
        order by o.label collate "C", o.id collate "C" limit most
    ), used as (
        select u.credential, max(u.hour) as last, sum(u.calls)::bigint as calls,
               (array_agg(distinct u.agent) filter (where u.agent <> ''))[1:5] as agents
        from usage_hours u
        where u.tenant_id = (select t.id from tenants t where t.slug = of_tenant)
          and u.hour > now() - interval '7 days' and u.credential in (select p.id from page p)
        group by u.credential
    )
    select p.id, p.label, p.scopes, p.projects, p.families, extract(epoch from now() - p.created_at)::bigint,
           extract(epoch from p.expires_at - now())::bigint, p.revoked_at is not null,
           floor(extract(epoch from now() - u.last) / 3600)::integer, coalesce(u.calls, 0), u.agents,
           (select count(*) from own)
    from page p left join used u on u.credential = p.id
    order by p.label collate "C", p.id collate "C"
$$;

-- The projects of a tenant whose slug has the text, in their order after one, or one of them, at most so many. The
-- mirror is the worst of its places, the index the latest.
create function console_projects(of_tenant text, of_project text, search text, after text, most integer)
returns table (project text, name text, url text, sync text, sync_message text, fetched_seconds bigint, head text,
               index text, commit_id text, indexed_seconds bigint, done bigint, total bigint, chunks bigint,
               failure text, workers bigint, matches bigint)
language sql stable security definer
set search_path = public, pg_temp
as $$
    with matching as materialized (
        select p.id, p.tenant_id, p.slug, p.name
        from projects p join tenants t on t.id = p.tenant_id
        where t.slug = of_tenant and p.removed_at is null and (of_project is null or p.slug = of_project)
          and (search = '' or strpos(p.slug, lower(search)) > 0)
    ), page as (
        select m.* from matching m where m.slug collate "C" > after order by m.slug collate "C" limit most
    )
    select p.slug, coalesce(p.name, ''), s.url,
           case when s.project_id is not null then coalesce(m.state, 'new') end, m.message,
           extract(epoch from now() - m.fetched_at)::bigint, m.head,
           case when i.held_until > now() then 'running'
                when i.failure is not null then 'failed'
                when i.indexed_at is not null and i.edition > 0 and not coalesce(i.asked_at > i.indexed_at, false)
                    then 'whole'
                else 'waiting' end,
           i.commit_id, extract(epoch from now() - i.indexed_at)::bigint, i.done, i.total, i.chunks, i.failure,
           (select count(*) from mounted_folders f
            where f.tenant_id = p.tenant_id and f.project_id = p.id and f.seen_at > now() - interval '90 seconds'),
           (select count(*) from matching)
    from page p
    left join sources s on s.project_id = p.id
    left join lateral (
        select shown_mirror_state(r.state, r.next_at, r.leased_until) as state, r.message, r.fetched_at, r.head
        from mirrors r where r.project_id = p.id
        order by shown_mirror_state(r.state, r.next_at, r.leased_until) = 'ok', r.fetched_at nulls first limit 1
    ) m on true
    left join lateral (
        select x.* from indexes x where x.tenant_id = p.tenant_id and x.project_id = p.id
        order by coalesce(x.held_until > now(), false) desc, x.id desc limit 1
    ) i on true
    order by p.slug collate "C"
$$;

-- The calls of a tenant, one of its keys or projects in the last seven days by day, tool and outcome, at most so many
-- rows.
create function console_usage(of_tenant text, of_key text, of_project text, most integer)
returns table (days_ago integer, tool text, outcome text, calls bigint, units bigint, duration_ms double precision)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select (date_trunc('day', now() at time zone 'UTC')::date - (u.hour at time zone 'UTC')::date), u.tool, u.outcome,
           sum(u.calls)::bigint, sum(u.units)::bigint, sum(u.duration_ms)
    from usage_hours u
    where u.tenant_id = (select t.id from tenants t where t.slug = of_tenant)
      and u.hour >= date_trunc('day', now(), 'UTC') - interval '6 days'
      and (of_key is null or u.credential = of_key) and (of_project is null or u.project = of_project)
    group by 1, 2, 3 order by 4 desc limit most
$$;

-- Calls from the audit trail, the latest first, at most so many: of those that match what is not null, at `since` or
-- later and before a position. Never what was asked for, nor what was read. usage_hours says in which hours of which
-- tenants there are any. It looks at about 20,000 records at a time and stops after 0.7 s: a last row without a tenant
-- is the position to go on from. Moments are microseconds since 1970.
create function console_calls(
    of_tenant text, of_key text, of_project text, of_tool text, of_outcomes text[], since bigint,
    before_at bigint, before_chain uuid, before_number bigint, most integer
)
returns table (tenant text, at bigint, chain uuid, number bigint, kind text, principal text, credential text,
               client text, agent text, what text, project text, outcome text, duration_ms double precision,
               units bigint, bytes bigint, commit_id text, trace text, checked_ms double precision,
               admitted_ms double precision, answered_ms double precision, refused_by text, calls bigint)
language plpgsql stable security definer
set search_path = public, pg_temp
as $$
#variable_conflict use_column
declare
    -- Records to look at next; more if these had too few that match.
    budget    integer := 20000;
    chain_    uuid := before_chain;
    number_   bigint := before_number;
    began     constant timestamptz := clock_timestamp();
    oldest    constant timestamptz := 'epoch'::timestamptz + since * interval '1 microsecond';
    latest    timestamptz := 'epoch'::timestamptz + before_at * interval '1 microsecond';
    is_open   constant boolean := num_nulls(of_key, of_project, of_tool, of_outcomes) = 4;
    own       uuid;
    this_hour timestamptz := date_trunc('hour', latest, 'UTC');
    those     uuid[];
    each      integer;
    found     bigint;
    left_over integer := most;
    cut       record;
begin
    if of_tenant is not null or of_key is not null then
        select t.id into own from tenants t
        where t.slug = coalesce(of_tenant, (select o.slug from api_keys k join tenants o on o.id = k.tenant_id
                                            where k.id = of_key));
        if own is null then return; end if;
    end if;
    while this_hour >= date_trunc('hour', oldest, 'UTC') and left_over > 0 loop
        those := array(
            select distinct u.tenant_id from usage_hours u
            where u.hour = this_hour and (own is null or u.tenant_id = own)
              and (of_key is null or u.credential = of_key) and (of_project is null or u.project = of_project)
              and (of_tool is null or u.tool = of_tool) and (of_outcomes is null or u.outcome = any (of_outcomes)));
        -- Down to where to look now, by the index alone. Without a filter: to the last call of the page. Else to where the
        -- looks at tenants with more records than that end, the first of them.
        if is_open then
            each := least(left_over, greatest(4, 250000 / greatest(1, cardinality(those))));
            select r.at, r.chain, r.number into cut
            from unnest(those) as t (id)
            cross join lateral (
                select a.at, a.chain, a.number from audit_records a
                where a.tenant_id = t.id and a.at >= greatest(this_hour, oldest)
                  and a.at < this_hour + interval '1 hour' and (a.at, a.chain, a.number) < (latest, chain_, number_)
                order by a.at desc, a.chain desc, a.number desc limit each) r
            order by r.at desc, r.chain desc, r.number desc offset each - 1 limit 1;
        else
            each := greatest(2, budget / greatest(1, cardinality(those)));
            select r.at, r.chain, r.number into cut
            from unnest(those) as t (id)
            cross join lateral (
                select a.at, a.chain, a.number from audit_records a
                where a.tenant_id = t.id and a.at >= greatest(this_hour, oldest)
                  and a.at < this_hour + interval '1 hour' and (a.at, a.chain, a.number) < (latest, chain_, number_)
                order by a.at desc, a.chain desc, a.number desc offset each - 1 limit 1) r
            order by r.at desc, r.chain desc, r.number desc limit 1;
        end if;
        return query
            select o.slug, (extract(epoch from r.at) * 1000000)::bigint, r.chain, r.number, c.kind, c.principal,
                   c.credential, c.client, c.agent, coalesce(c.tool, c.method), c.project, c.outcome, c.duration_ms,
                   c.units, c.bytes, c.commit, c.trace, c.checked_ms, c.admitted_ms, c.answered_ms, c.refused_by,
                   coalesce(c.count, c.missing, 1)
            from unnest(those) as t (id)
            join tenants o on o.id = t.id
            cross join lateral (
                select a.at, a.chain, a.number, a.record from audit_records a
                where a.tenant_id = t.id and a.at < this_hour + interval '1 hour'
                  and (a.at, a.chain, a.number) < (latest, chain_, number_)
                  and (a.at, a.chain, a.number) >= (coalesce(cut.at, greatest(this_hour, oldest)),
                      coalesce(cut.chain, '00000000-0000-0000-0000-000000000000'), coalesce(cut.number, 0))
                order by a.at desc, a.chain desc, a.number desc limit each) r
            cross join lateral json_to_record(r.record::json) as c (
                kind text, principal text, credential text, client text, agent text, method text, tool text,
                project text, outcome text, duration_ms double precision, units bigint, bytes bigint,
                commit text, trace text, checked_ms double precision, admitted_ms double precision,
                answered_ms double precision, refused_by text, count bigint, missing bigint)
            where c.kind in ('call', 'refusals', 'gap')
              and (of_key is null or c.credential = of_key) and (of_project is null or c.project = of_project)
              and (of_tool is null or coalesce(c.tool, c.method) = of_tool)
              and (of_outcomes is null or c.outcome = any (of_outcomes))
            order by r.at desc, r.chain desc, r.number desc limit left_over;
        get diagnostics found = row_count;
        left_over := left_over - found;
        if cut.at is not null then
            latest := cut.at;
            chain_ := cut.chain;
            number_ := cut.number;
            budget := least(budget * 2, 100000);
        else
            latest := this_hour;
            chain_ := '00000000-0000-0000-0000-000000000000';
            number_ := 0;
        end if;
        if left_over > 0 and clock_timestamp() > began + interval '0.7 seconds' then
            at := (extract(epoch from latest) * 1000000)::bigint;
            chain := chain_;
            number := number_;
            return next;
            return;
        end if;
        continue when cut.at is not null;
        this_hour := this_hour - interval '1 hour';
    end loop;
end
$$;

revoke all on function
    report_gateway_state(uuid, text, text, text, text), console_hours(integer), console_processes(integer),
    console_syncs(integer), console_tenants(text, text, text, integer), console_quotas(double precision, integer),
    console_limits(text, integer), console_keys(text, text, text, text, integer),
    console_projects(text, text, text, text, integer), console_usage(text, text, text, integer),
    console_calls(text, text, text, text, text[], bigint, bigint, uuid, bigint, integer)
    from public;
grant execute on function
    report_gateway_state(uuid, text, text, text, text), console_hours(integer), console_processes(integer),
    console_syncs(integer), console_tenants(text, text, text, integer), console_quotas(double precision, integer),
    console_limits(text, integer), console_keys(text, text, text, text, integer),
    console_projects(text, text, text, text, integer), console_usage(text, text, text, integer),
    console_calls(text, text, text, text, text[], bigint, bigint, uuid, bigint, integer)
    to archway_gateway;
