-- Owned by archway-gateway: what may be spent other than by default, for who operates the installation.

-- What is set for tenants and keys, at most so many rows; `all_rows` says how many there are. A key is
-- the youngest of its lineage, by its id.
create function limits_overview(most integer)
returns table (tenant text, key text, level text, of text, per_minute integer, all_rows bigint)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select t.slug,
           (select k.id from api_keys k where k.tenant_id = l.tenant_id and k.lineage = l.lineage
            order by k.created_at desc, k.id limit 1),
           l.level, l.of, l.per_minute, count(*) over ()
    from limits l join tenants t on t.id = l.tenant_id
    where t.disabled_at is null
    order by t.slug collate "C", l.lineage nulls first, l.level collate "C", l.of collate "C"
    limit most
$$;

revoke all on function limits_overview(integer) from public;
grant execute on function limits_overview(integer) to archway_gateway;
