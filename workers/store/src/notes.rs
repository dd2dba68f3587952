//! Discoveries and memory entries as the index reads them: one document each, by id.

use jiff::Timestamp;
use uuid::Uuid;

use super::keys::Source;
use super::{StoreError, TenantStore, failed};

/// A discovery or an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Its project.
    pub project: Uuid,
    /// Its source and name.
    pub id: NoteId,
    /// `pattern`, `rule`, `decision`, `issue` or `event`.
    pub kind: String,
    /// The text.
    pub content: String,
    /// The module concerned.
    pub module: Option<String>,
    /// The files concerned, by their names at that time.
    pub paths: Vec<String>,
    /// The caller that wrote it.
    pub principal: String,
    /// When it was written.
    pub written_at: Timestamp,
    /// The discovery that it replaces.
    pub supersedes: Option<Uuid>,
    /// The latest discovery that replaces it.
    pub superseded_by: Option<Uuid>,
}

/// The id of a note.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NoteId {
    /// Discovery or entry.
    pub source: Source,
    /// A discovery's id, or `decisions.jsonl/7`.
    pub name: String,
}

/// The notes of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteList {
    /// A mark that changes whenever a note is written or erased.
    pub mark: i64,
    /// The notes, by source and name.
    pub ids: Vec<NoteId>,
}

impl TenantStore<'_> {
    /// All notes of a project that are not erased.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn list_notes(&self, project: Uuid) -> Result<NoteList, StoreError> {
        let mut tx = self.begin().await?;
        // The mark first: a note added in between changes it once more.
        let mark = sqlx::query_scalar!(r#"select own_memory_mark($1) as "mark!""#, project)
            .fetch_one(&mut *tx)
            .await
            .map_err(failed("reading the memory mark"))?;
        let rows = sqlx::query!(
            r#"select source as "source!", name as "name!"
               from (select 1::smallint as source, id::text as name
                     from discoveries
                     where tenant_id = $1 and project_id = $2 and erased_at is null
                     union all
                     select 2::smallint, file || '/' || number
                     from memory_entries
                     where tenant_id = $1 and project_id = $2 and erased_at is null) as notes
               order by source, name collate "C""#,
            self.tenant,
            project
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading notes"))?;
        let ids = rows.into_iter();
        let ids = ids.filter_map(|row| NoteId::of(row.source, row.name));
        Ok(NoteList {
            mark,
            ids: ids.collect(),
        })
    }

    /// The newest discoveries of a module and the modules beneath it in these projects, optionally of
    /// one kind; at most `limit`.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn notes_of_module(
        &self,
        projects: &[Uuid],
        (module, kind): (&str, Option<&str>),
        limit: i64,
    ) -> Result<Vec<(Uuid, NoteId)>, StoreError> {
        let mut tx = self.begin().await?;
        // `0` is the character after `/`, so this range contains exactly the names beneath the
        // module.
        let rows = sqlx::query!(
            r#"select project_id as "project!", id as "id!" from
                   ((select project_id, id, created_at from discoveries
                     where tenant_id = $1 and project_id = any($2) and erased_at is null
                       and module is not null and module collate "C" = $3
                       and ($4::text is null or kind = $4)
                     order by created_at desc limit $5)
                    union all
                    (select project_id, id, created_at from discoveries
                     where tenant_id = $1 and project_id = any($2) and erased_at is null
                       and module is not null and module collate "C" > $3 || '/'
                       and module collate "C" < $3 || '0'
                       and ($4::text is null or kind = $4)
                     order by created_at desc limit $5)) as found
               order by created_at desc limit $5"#,
            self.tenant,
            projects,
            module,
            kind,
            limit
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading the notes of a module"))?;
        let ids = rows.into_iter();
        Ok(ids
            .map(|row| (row.project, NoteId::discovery(row.id)))
            .collect())
    }

    /// The newest notes of a kind in these projects: at most `limit` discoveries and `limit` entries.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn notes_of_kind(
        &self,
        projects: &[Uuid],
        kind: &str,
        limit: i64,
    ) -> Result<Vec<(Uuid, NoteId)>, StoreError> {
        let mut tx = self.begin().await?;
        let rows = sqlx::query!(
            r#"(select project_id as "project!", 1::smallint as "source!", id::text as "name!"
                from discoveries
                where tenant_id = $1 and project_id = any($2) and kind = $3 and erased_at is null
                order by created_at desc limit $4)
               union all
               (select project_id, 2::smallint, file || '/' || number from memory_entries
                where tenant_id = $1 and project_id = any($2) and $3 = 'decision'
                  and file = 'decisions.jsonl' and erased_at is null
                order by number desc limit $4)"#,
            self.tenant,
            projects,
            kind,
            limit
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading the notes of a kind"))?;
        let ids = rows.into_iter();
        Ok(ids
            .filter_map(|row| Some((row.project, NoteId::of(row.source, row.name)?)))
            .collect())
    }

    /// Those of these notes that exist and are not erased, in no order.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn notes(&self, ids: &[(Uuid, NoteId)]) -> Result<Vec<Note>, StoreError> {
        let discoveries = ids
            .iter()
            .filter_map(|(project, id)| Some((*project, id.as_discovery()?)));
        let (of_discoveries, discoveries): (Vec<Uuid>, Vec<Uuid>) = discoveries.unzip();
        let (mut of_entries, mut files, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        for (project, id) in ids {
            if let Some((file, number)) = id.as_entry() {
                of_entries.push(*project);
                files.push(file);
                numbers.push(number);
            }
        }
        let mut tx = self.begin().await?;
        let rows = sqlx::query_as!(
            NoteRow,
            r#"select d.project_id as "project!", 1::smallint as "source!", d.id::text as "name!",
                      d.kind as "kind!", d.content as "content!", d.module, d.paths as "paths!",
                      d.principal as "principal!",
                      (extract(epoch from d.created_at) * 1000)::bigint as "written_ms!",
                      d.supersedes,
                      (select s.id from discoveries s
                       where s.tenant_id = $1 and s.project_id = d.project_id
                             and s.supersedes = d.id and s.erased_at is null
                       order by s.created_at desc, s.id desc limit 1) as superseded_by
               from unnest($2::uuid[], $3::uuid[]) as asked (project_id, id)
               join discoveries d on d.tenant_id = $1 and d.project_id = asked.project_id
                    and d.id = asked.id and d.erased_at is null
               union all
               select e.project_id, 2::smallint, e.file || '/' || e.number,
                      case e.file when 'decisions.jsonl' then 'decision' else 'event' end,
                      e.entry, null, '{}'::text[], e.principal,
                      (extract(epoch from e.written_at) * 1000)::bigint, null, null
               from unnest($4::uuid[], $5::text[], $6::bigint[]) as asked (project_id, file, number)
               join memory_entries e on e.tenant_id = $1 and e.project_id = asked.project_id
                    and e.file = asked.file and e.number = asked.number and e.erased_at is null"#,
            self.tenant,
            &of_discoveries,
            &discoveries,
            &of_entries,
            &files,
            &numbers
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading notes"))?;
        Ok(rows.into_iter().filter_map(NoteRow::note).collect())
    }
}

impl NoteId {
    fn of(source: i16, name: String) -> Option<NoteId> {
        let source = Source::of(source)?;
        Some(NoteId { source, name })
    }

    fn discovery(id: Uuid) -> NoteId {
        NoteId {
            source: Source::Discovery,
            name: id.to_string(),
        }
    }

    fn as_discovery(&self) -> Option<Uuid> {
        let is_one = self.source == Source::Discovery;
        is_one.then(|| self.name.parse().ok()).flatten()
    }

    /// An entry's file and number.
    fn as_entry(&self) -> Option<(String, i64)> {
        let (file, number) = self.name.split_once('/')?;
        let number = number.parse().ok()?;
        (self.source == Source::Entry).then(|| (file.to_owned(), number))
    }
}

/// A note as stored.
struct NoteRow {
    project: Uuid,
    source: i16,
    name: String,
    kind: String,
    content: String,
    module: Option<String>,
    paths: Vec<String>,
    principal: String,
    written_ms: i64,
    supersedes: Option<Uuid>,
    superseded_by: Option<Uuid>,
}

impl NoteRow {
    fn note(self) -> Option<Note> {
        Some(Note {
            project: self.project,
            id: NoteId::of(self.source, self.name)?,
            kind: self.kind,
            content: self.content,
            module: self.module,
            paths: self.paths,
            principal: self.principal,
            written_at: Timestamp::from_millisecond(self.written_ms).ok()?,
            supersedes: self.supersedes,
            superseded_by: self.superseded_by,
        })
    }
}
