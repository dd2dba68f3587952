//! Discoveries: findings of an agent about a project, recorded for later agents.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::search::MAX_COUNTED;
use super::{Author, EntryFilter, WriteError, commit, not_written, words};
use crate::{StoreError, TenantStore, failed};

/// Discoveries read at once when words are looked for.
const BATCH: i64 = 500;

/// A validated discovery.
#[derive(Debug)]
pub struct NewDiscovery {
    /// The project.
    pub project: Uuid,
    /// `pattern`, `rule`, `decision` or `issue`.
    pub kind: &'static str,
    /// The text.
    pub content: String,
    /// The module concerned.
    pub module: Option<String>,
    /// The files concerned.
    pub paths: Vec<String>,
    /// The discovery of the same project that it replaces.
    pub supersedes: Option<Uuid>,
}

/// A recorded discovery.
#[derive(Debug)]
pub struct RecordedDiscovery {
    /// The discovery's id.
    pub id: Uuid,
    /// Microseconds since 1970.
    pub created_at: i64,
}

/// A discovery as it is stored.
#[derive(Debug)]
pub struct StoredDiscovery {
    /// The discovery's id.
    pub id: Uuid,
    /// `pattern`, `rule`, `decision` or `issue`.
    pub kind: String,
    /// The text.
    pub content: String,
    /// The module concerned.
    pub module: Option<String>,
    /// The files concerned, by their names at that time.
    pub paths: Vec<String>,
    /// Microseconds since 1970.
    pub created_at: i64,
    /// The discovery that it replaces.
    pub supersedes: Option<Uuid>,
    /// The latest discovery that replaces it.
    pub superseded_by: Option<Uuid>,
}

/// The position of a discovery, after which the next page begins: its time in microseconds, and its id.
pub type DiscoveryPosition = (i64, Uuid);

impl TenantStore<'_> {
    /// The number of matching discoveries that are not erased, and at most `limit` of them after a position, newest
    /// first. The filter's words are looked for in their texts and modules, in the newest [`MAX_COUNTED`].
    ///
    /// # Errors
    /// If PostgreSQL gives no answer.
    pub async fn find_discoveries(
        &self,
        filter: &EntryFilter,
        after: Option<DiscoveryPosition>,
        limit: i64,
    ) -> Result<(u64, Vec<StoredDiscovery>), StoreError> {
        if filter.file.is_some() {
            return Ok((0, Vec::new()));
        }
        if filter.words.is_empty() {
            let total = self.count_discoveries(filter).await?;
            return Ok((total, self.newest_discoveries(filter, after, limit).await?));
        }
        let (mut found, mut total, mut position, mut read) = (Vec::new(), 0, None, 0);
        while read < MAX_COUNTED {
            let batch = self.newest_discoveries(filter, position, BATCH).await?;
            let is_last = (batch.len() as i64) < BATCH;
            read += BATCH;
            position = batch.last().map(StoredDiscovery::position);
            for discovery in batch.into_iter().filter(|it| it.has_all(&filter.words)) {
                total += 1;
                let is_after = after.is_none_or(|after| discovery.position() < after);
                if is_after && (found.len() as i64) < limit {
                    found.push(discovery);
                }
            }
            if is_last {
                break;
            }
        }
        Ok((total, found))
    }

    async fn count_discoveries(&self, filter: &EntryFilter) -> Result<u64, StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query_scalar!(
            r#"select count(*) as "count!" from
                   (select from discoveries
                    where tenant_id = $1 and project_id = $2 and erased_at is null
                      and ($3::bigint is null or created_at >= to_timestamp($3))
                      and ($4::bigint is null or created_at < to_timestamp($4 + 1))
                    limit $5) as found"#,
            self.tenant,
            filter.project,
            filter.since,
            filter.until,
            MAX_COUNTED
        )
        .fetch_one(&mut *tx)
        .await
        .map(i64::unsigned_abs)
        .map_err(failed("counting discoveries"))
    }

    /// The newest after a position, whose texts and modules have the filter's words of plain letters: the others'
    /// lower case depends on the database's locale.
    async fn newest_discoveries(
        &self,
        filter: &EntryFilter,
        after: Option<DiscoveryPosition>,
        limit: i64,
    ) -> Result<Vec<StoredDiscovery>, StoreError> {
        let plain: Vec<String> = filter
            .words
            .iter()
            .filter(|word| word.is_ascii())
            .cloned()
            .collect();
        let mut tx = self.begin().await?;
        sqlx::query_as!(
            StoredDiscovery,
            r#"select d.id, d.kind, d.content, d.module, d.paths, d.supersedes,
                      (extract(epoch from d.created_at) * 1000000)::bigint as "created_at!",
                      (select s.id from discoveries s
                       where s.tenant_id = $1 and s.project_id = $2
                             and s.supersedes = d.id and s.erased_at is null
                       order by s.created_at desc, s.id desc limit 1) as superseded_by
               from discoveries d
               where d.tenant_id = $1 and d.project_id = $2 and d.erased_at is null
                 and ($3::bigint is null or d.created_at >= to_timestamp($3))
                 and ($4::bigint is null or d.created_at < to_timestamp($4 + 1))
                 and ($5::bigint is null or (d.created_at, d.id)
                      < ('epoch'::timestamptz + $5 * interval '1 microsecond', $6))
                 and not exists (select from unnest($7::text[]) as word
                                 where strpos(lower((d.content || ' ' || coalesce(d.module, ''))
                                                    collate "C"), word) = 0
                                   -- The lower case of these is a plain letter, too.
                                   and d.content || coalesce(d.module, '') !~ '[\u0130\u212A]')
               order by d.created_at desc, d.id desc limit $8"#,
            self.tenant,
            filter.project,
            filter.since,
            filter.until,
            after.map(|(created_at, _)| created_at),
            after.map(|(_, id)| id),
            &plain,
            limit
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading discoveries"))
    }

    /// Records a discovery, once per idempotency key.
    pub async fn record_discovery(
        &self,
        author: Author<'_>,
        discovery: &NewDiscovery,
    ) -> Result<RecordedDiscovery, WriteError> {
        let what = "recording a discovery";
        let mut tx = self.begin().await.map_err(WriteError::NotWritten)?;
        let row = sqlx::query!(
            r#"select outcome as "outcome!", id,
                      (extract(epoch from created_at) * 1000000)::bigint as created_at
               from record_discovery($1, $2, $3, $4, $5, $6, $7, $8)"#,
            discovery.project,
            author.principal,
            author.key.0,
            discovery.kind,
            discovery.content,
            discovery.module.as_deref(),
            &discovery.paths,
            discovery.supersedes
        )
        .fetch_one(&mut *tx)
        .await
        .map_err(not_written(what))?;
        WriteError::check_outcome(&row.outcome)?;
        commit(tx).await?;
        let (id, created_at) = row
            .id
            .zip(row.created_at)
            .ok_or_else(|| not_written(what)(sqlx::Error::RowNotFound))?;
        Ok(RecordedDiscovery { id, created_at })
    }
}

impl StoredDiscovery {
    fn position(&self) -> DiscoveryPosition {
        (self.created_at, self.id)
    }

    /// Whether all these words occur in its text or its module.
    fn has_all(&self, all: &[String]) -> bool {
        let mut found = BTreeSet::new();
        words(&self.content, &mut found);
        words(self.module.as_deref().unwrap_or_default(), &mut found);
        all.iter().all(|word| found.contains(word))
    }
}
