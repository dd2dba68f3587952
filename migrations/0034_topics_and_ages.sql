-- Owned by archway-sync: topics of repositories, and how old the answers of hosts about readers are.
--
-- Access rules name topics, so all of a repository's are kept: GitHub gives up to 20, others more.

alter table sources drop constraint sources_topics_check;
alter table sources add constraint sources_topics_check check (cardinality(topics) <= 100);

-- The age of the oldest answer about the readers of a private repository, as a share of its connection's grace: from 1
-- on it is hidden. 2 for one that no host has answered about. 0 if there is none.
create function oldest_readers_share()
returns double precision
language sql stable security definer
set search_path = public, pg_temp
as $$
    select coalesce(max(case when coalesce(r.listed_at, '-infinity') = '-infinity' then 2
                             else least(2, extract(epoch from now() - r.listed_at) / h.grace_seconds) end), 0)
           ::double precision
    from host_permissions h
    join sources s on s.connection_id = h.connection_id and s.visibility = 'private' and s.out_of_use is null
    join projects p on p.id = s.project_id and p.removed_at is null
    left join host_readers r on r.project_id = s.project_id
$$;

revoke all on function oldest_readers_share() from public;
grant execute on function oldest_readers_share() to archway_sync;
