-- Owned by archway-gateway: what was asked and what became of it, a row a call, chained by MACs.

-- A chain is what one gateway recorded of one tenant's calls. Gateways append and do nothing else:
-- they may neither read, change nor remove what stands here.
create table audit_records (
    tenant_id uuid not null references tenants (id) on delete cascade,
    chain     uuid not null,
    -- From 1, without gaps.
    number    bigint not null check (number > 0),
    at        timestamptz not null,
    -- JSON, byte for byte as it went into the MAC.
    record    text not null check (octet_length(record) <= 16384),
    -- HMAC-SHA-256 over the one before and this one.
    mac       bytea not null check (length(mac) = 32),
    primary key (tenant_id, chain, number, at)
) partition by range (at);

-- In the order in which calls ended.
create index audit_records_at on audit_records (tenant_id, at, chain, number);

-- Where what was pruned ended: the last record of each chain in it.
create table audit_anchors (
    tenant_id uuid not null references tenants (id) on delete cascade,
    chain     uuid not null,
    number    bigint not null,
    -- The record's.
    mac       bytea not null check (length(mac) = 32),
    -- Over all of this, by the root secret: whoever may only write here can't say that what they
    -- removed was pruned.
    seal      bytea not null check (length(seal) = 32),
    pruned_at timestamptz not null default now(),
    primary key (tenant_id, chain)
);

alter table audit_records enable row level security;
alter table audit_anchors enable row level security;

create policy audit_records_append on audit_records for insert to archway_gateway
    with check (tenant_id = current_tenant());

grant insert on audit_records to archway_gateway;

-- Makes the partition of a moment's month if it isn't there: gateways call it before they write into
-- it. Only of months that are near, so that nobody makes many. Microseconds since 1970, all three.
create function make_audit_month(moment_us bigint, out begins bigint, out ends bigint)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
    moment timestamptz := 'epoch'::timestamptz + moment_us * interval '1 microsecond';
    month  timestamp := date_trunc('month', moment at time zone 'UTC');
    name   text := 'audit_records_' || to_char(month, 'YYYY_MM');
begin
    if moment not between now() - interval '40 days' and now() + interval '40 days' then
        raise exception 'the clocks of gateway and database are far apart'
            using errcode = 'datetime_field_overflow';
    end if;
    begins := extract(epoch from month at time zone 'UTC') * 1000000;
    ends := extract(epoch from (month + interval '1 month') at time zone 'UTC') * 1000000;
    if to_regclass(name) is not null then
        return;
    end if;
    perform pg_advisory_xact_lock(hashtextextended('audit months', 0));
    if to_regclass(name) is null then
        -- Attached, not made in place, so that whoever reads the table for long keeps nobody waiting.
        execute format('create table %I (like audit_records including all)', name);
        -- Rows are reached through the parent, whose policies hold; nobody is granted this table.
        execute format('alter table %I enable row level security', name);
        execute format('alter table audit_records attach partition %I for values from (%L) to (%L)',
                       name, month at time zone 'UTC',
                       (month + interval '1 month') at time zone 'UTC');
    end if;
end
$$;

revoke all on function make_audit_month(bigint) from public;
grant execute on function make_audit_month(bigint) to archway_gateway;

-- Removes the months that ended before a moment; how many. Whoever calls it has kept where their
-- chains end.
create function prune_audit(before timestamptz) returns integer
language plpgsql volatile
set search_path = public, pg_temp
as $$
declare
    part   record;
    pruned integer := 0;
begin
    perform pg_advisory_xact_lock(hashtextextended('audit months', 0));
    for part in
        select c.oid::regclass as name,
               (to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month')
                   at time zone 'UTC' as ends
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'audit_records'::regclass
    loop
        continue when part.ends > before;
        execute format('drop table %s', part.name);
        pruned := pruned + 1;
    end loop;
    return pruned;
end
$$;

revoke all on function prune_audit(timestamptz) from public;
