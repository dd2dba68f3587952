-- Owned by archway-gateway: what administration changed, a row a change, chained by hashes.

-- No running part changes what administration does, so the records have no tenant of their own: they outlive it. No
-- runtime role may read or write them. The triggers below do, in the transaction of the change.
create table administration_records (
    -- From 1, without gaps.
    number bigint primary key check (number > 0),
    at     timestamptz not null,
    -- JSON, byte for byte as it went into the hash.
    record text not null,
    -- The slug, for who asks about one tenant; null for what belongs to none.
    tenant text generated always as ((record::jsonb) ->> 'tenant') stored,
    -- SHA-256 over the hash before and this record. It has no key: compare it with one that was kept elsewhere.
    hash   bytea not null check (length(hash) = 32)
);

create index administration_records_tenant on administration_records (tenant, number);

-- Where pruning ended: the last record that it removed, sealed by the root secret.
create table administration_cuts (
    number    bigint primary key check (number > 0),
    hash      bytea not null check (length(hash) = 32),
    seal      bytea not null check (length(seal) = 32),
    pruned_at timestamptz not null default now()
);

alter table administration_records enable row level security;
alter table administration_cuts enable row level security;

-- Waits for the transaction that changed something before, if that still runs. It is taken before rows are locked, so that
-- changes do not wait for each other in a circle.
create function await_administration() returns trigger
language plpgsql volatile
as $$
begin
    perform pg_advisory_xact_lock(hashtextextended('administration', 0));
    return null;
end
$$;

-- Appends a record.
create function append_administration(change jsonb) returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
    before record;
    moment timestamptz;
    body   text;
begin
    perform pg_advisory_xact_lock(hashtextextended('administration', 0));
    select l.number, l.hash into before
    from (select number, hash from administration_records union all select number, hash from administration_cuts) l
    order by l.number desc limit 1;
    moment := clock_timestamp();
    body := (select jsonb_object_agg(key, value) from jsonb_each(jsonb_build_object(
        'role', session_user,
        'os_user', nullif(left(current_setting('archway.os_user', true), 200), ''),
        'host', nullif(left(current_setting('archway.host', true), 200), ''),
        'program', nullif(current_setting('application_name'), ''),
        'address', host(inet_client_addr()),
        'transaction', pg_current_xact_id()::text) || change) where value <> 'null')::text;
    insert into administration_records (number, at, record, hash)
    values (coalesce(before.number, 0) + 1, moment, body,
            sha256(coalesce(before.hash, decode(repeat('00', 32), 'hex')) || int8send(coalesce(before.number, 0) + 1)
                   || int8send((extract(epoch from moment) * 1000000)::bigint) || convert_to(body, 'UTF8')));
end
$$;

-- Records one changed row: which it is, and what it was before and is after. Of an update only the columns that
-- changed. Columns of bytes are left out, since hashes of keys are such.
create function record_administration() returns trigger
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
    naming constant text[] := array['id', 'slug', 'label', 'name', 'lineage', 'level', 'of', 'issuer', 'subject',
                                    'project_id', 'connection_id', 'place'];
    hidden constant text[] := array(
        select a.attname::text from pg_attribute a
        where a.attrelid = tg_relid and a.attnum > 0 and a.atttypid = 'bytea'::regtype);
    old_row jsonb := case when tg_op <> 'INSERT' then to_jsonb(old) - hidden end;
    new_row jsonb := case when tg_op <> 'DELETE' then to_jsonb(new) - hidden end;
    whole   constant jsonb := coalesce(new_row, old_row);
    of_row  jsonb;
    owner   uuid;
    slug    text;
begin
    if tg_op = 'UPDATE' then
        if new is not distinct from old then return null; end if;
        of_row := (select jsonb_object_agg(key, value) from jsonb_each(whole) where key = any (naming));
        select jsonb_object_agg(o.key, o.value), jsonb_object_agg(o.key, n.value) into old_row, new_row
        from jsonb_each(old_row) o join jsonb_each(new_row) n using (key) where o.value <> n.value;
    end if;
    if tg_table_name = 'tenants' then
        slug := whole ->> 'slug';
    else
        owner := (whole ->> 'tenant_id')::uuid;
        slug := (select t.slug from tenants t where t.id = owner);
    end if;
    perform append_administration(jsonb_build_object(
        'what', tg_table_name,
        'action', case tg_op when 'INSERT' then 'added' when 'UPDATE' then 'changed' else 'removed' end,
        'tenant', slug,
        'project', case tg_table_name
            when 'projects' then whole ->> 'slug'
            else (select p.slug from projects p
                  where p.tenant_id = owner and p.id = (whole ->> 'project_id')::uuid) end,
        'of', of_row, 'before', old_row, 'after', new_row));
    return null;
end
$$;

-- Records that a table was emptied. Its rows are not in the record.
create function record_emptying() returns trigger
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
    perform append_administration(jsonb_build_object('what', tg_table_name, 'action', 'emptied'));
    return null;
end
$$;

create function refuse_administration_change() returns trigger
language plpgsql
as $$
begin
    if current_setting('archway.prunes_administration', true) = 'yes' and tg_op = 'DELETE' then return old; end if;
    raise exception 'records of administration are neither changed nor removed'
        using errcode = 'insufficient_privilege';
end
$$;

create trigger administration_records_kept before update or delete on administration_records
    for each row execute function refuse_administration_change();
create trigger administration_records_not_emptied before truncate on administration_records
    for each statement execute function refuse_administration_change();

-- Removes the records before a number, whose hash the caller has kept and sealed; how many.
create function prune_administration(up_to bigint) returns bigint
language plpgsql volatile
set search_path = public, pg_temp
as $$
declare
    pruned bigint;
begin
    perform set_config('archway.prunes_administration', 'yes', true);
    delete from administration_records where number <= up_to;
    get diagnostics pruned = row_count;
    perform set_config('archway.prunes_administration', '', true);
    return pruned;
end
$$;

revoke all on function await_administration(), append_administration(jsonb), record_administration(), record_emptying(),
    refuse_administration_change(), prune_administration(bigint) from public;

-- What processes do under their own roles is no administration, and what a foreign key or another trigger does follows
-- from a change that is recorded. `archway dev` on a given server logs in as the owner and sets the role.
do $$
declare
    recorded record;
    administers constant text := $when$pg_trigger_depth() = 0
        and session_user not in ('archway_gateway', 'archway_worker', 'archway_sync')
        and coalesce(current_setting('role', true), 'none')
            not in ('archway_gateway', 'archway_worker', 'archway_sync')$when$;
begin
    for recorded in
        select * from (values
            ('tenants', 'insert or update or delete'),
            ('projects', 'insert or update or delete'),
            ('api_keys', 'insert or update or delete'),
            ('principals', 'insert or update or delete'),
            ('limits', 'insert or update or delete'),
            ('access_rules', 'insert or update or delete'),
            ('connections', 'insert or update or delete'),
            ('sources', 'insert or update or delete'),
            ('memory_erasures', 'insert'),
            ('indexes', 'update of asked_at'),
            ('mirrors', 'update of is_requested'),
            ('listings', 'update of wants_whole')
        ) as t (name, events)
    loop
        execute format(
            'create trigger administration_awaited before %s on %I for each statement when (%s)
             execute function await_administration()', recorded.events, recorded.name, administers);
        execute format(
            'create trigger administration_recorded after %s on %I for each row when (%s)
             execute function record_administration()', recorded.events, recorded.name, administers);
        execute format(
            'create trigger administration_emptied before truncate on %I for each statement
             execute function record_emptying()', recorded.name);
    end loop;
end
$$;
