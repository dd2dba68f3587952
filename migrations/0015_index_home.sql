-- Owned by archway-workers: in which store the chunks of an index are, and how many it has there.

-- The id of the store that its texts were brought to; all zeros: one without an id, as Postgres itself
-- and collections that were made before this. With a store of another id all of them are lost.
alter table indexes add column home_id uuid not null default '00000000-0000-0000-0000-000000000000';

-- How many chunks it had when it was last whole: a store that has fewer of them lost some.
alter table indexes add column chunks bigint not null default 0;

update indexes i set chunks = t.chunks
from (select index_id, sum(chunks)::bigint as chunks from index_texts group by index_id) t
where t.index_id = i.id;
