-- Owned by archway-workers: bounds on what memory takes, and on what one question of it reads.

-- Whether the transaction's tenant may keep so many bytes more. Each row counts 256 bytes besides its
-- content, about what its columns, its keys and its places in indexes take: else a room would hold
-- millions of empty rows. Its limit `memory_mib` counts MiB, 1,024 by default; 0 is none. Writers to
-- several logs at once may pass it by an entry each.
create or replace function memory_has_room(more bigint) returns boolean
language sql stable
set search_path = public, pg_temp
as $$
    select quota.mib = 0 or used.bytes + more + 256 <= quota.mib::bigint * 1048576
    from (select coalesce((select l.per_minute from limits l
                           where l.tenant_id = current_tenant() and l.lineage is null
                                 and l.level = 'tenant' and l.of = 'memory_mib'), 1024) as mib) quota,
         (select coalesce(sum(m.bytes + 256 * m.count), 0) as bytes from memory_logs m
          where m.tenant_id = current_tenant()) used
$$;

-- The latest successor without looking at all of them.
drop index discoveries_successors;
create index discoveries_successors
    on discoveries (tenant_id, project_id, supersedes, created_at desc, id desc);

-- The newest of a kind, and of a module and what is beneath it.
create index discoveries_of_kind
    on discoveries (tenant_id, project_id, kind, created_at desc) where erased_at is null;
create index discoveries_of_module
    on discoveries (tenant_id, project_id, module collate "C", created_at desc)
    where erased_at is null and module is not null;

-- How many entries of a project have all these words, `most` at most: further ones are not looked at.
-- As `memory_entries_with` otherwise.
create function count_memory_entries_with(of_project uuid, all_words text[], of_file text,
                                          since timestamptz, until timestamptz, most bigint)
returns bigint
language sql stable security definer
set search_path = public, pg_temp
as $$
    select count(*) from
        (select from memory_entries e
         where e.tenant_id = current_tenant() and e.project_id = of_project
               and (of_file is null or e.file = of_file)
               and (since is null or e.written_at >= since)
               and (until is null or e.written_at < until)
               and e.words @@ (select string_agg(format('''%s''', word), ' & ')::tsquery
                               from unnest(all_words || ('=' || of_project)) as word)
         limit most) as found
$$;

revoke all on function
    count_memory_entries_with(uuid, text[], text, timestamptz, timestamptz, bigint) from public;
grant execute on function
    count_memory_entries_with(uuid, text[], text, timestamptz, timestamptz, bigint)
    to archway_worker;

-- How many chunks a text has: to count them without reading what was stored apart. Written by
-- whoever writes the pieces. Rows of before say it in their first bytes, after the form's number: a
-- number of seven bits a byte, the lowest first.
alter table index_pieces add column chunks integer not null default 0;
update index_pieces set chunks = case
    when length(head) < 2 or get_byte(head, 0) <> 1 then 0
    when get_byte(head, 1) < 128 then get_byte(head, 1)
    when length(head) > 2 and get_byte(head, 2) < 128
        then get_byte(head, 1) % 128 + (get_byte(head, 2) << 7)
    when length(head) > 3 and get_byte(head, 3) < 128
        then get_byte(head, 1) % 128 + (get_byte(head, 2) % 128 << 7) + (get_byte(head, 3) << 14)
    else 0 end
from (select p.tenant_id, p.project_id, p.made_by, p.blob, substring(p.pieces from 1 for 4) as head
      from index_pieces p) as begun
where (index_pieces.tenant_id, index_pieces.project_id, index_pieces.made_by, index_pieces.blob)
    = (begun.tenant_id, begun.project_id, begun.made_by, begun.blob);
