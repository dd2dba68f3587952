-- Owned by archway-sync: topics of repositories.
--
-- Access rules name topics, so all of a repository's are kept: GitHub gives up to 20, others more.

alter table sources drop constraint sources_topics_check;
alter table sources add constraint sources_topics_check check (cardinality(topics) <= 100);
