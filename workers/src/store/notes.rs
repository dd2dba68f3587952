//! Discoveries and entries of memory as an index has them: one document each, by its id.

use jiff::Timestamp;
use uuid::Uuid;

use super::indexes::Source;
use super::{StoreError, TenantStore, failed};

/// A discovery or an entry, by its id: of an entry its file and number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Note {
    pub(crate) id: NoteId,
    /// `pattern`, `rule`, `decision`, `issue` or `event`.
    pub(crate) kind: String,
    pub(crate) content: String,
    pub(crate) module: Option<String>,
    pub(crate) principal: String,
    pub(crate) written_at: Timestamp,
    pub(crate) supersedes: Option<Uuid>,
    /// The latest that takes its place.
    pub(crate) superseded_by: Option<Uuid>,
}

/// Which one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NoteId {
    pub(crate) source: Source,
    /// A discovery's id, or `decisions.jsonl/7`.
    pub(crate) name: String,
}

/// What a filter asks of a note.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NoteHead {
    pub(crate) id: NoteId,
    pub(crate) kind: String,
    pub(crate) module: Option<String>,
}

impl TenantStore<'_> {
    /// How much was noted of a project, and erased: another number, other notes.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub(crate) async fn memory_mark(&self, project: Uuid) -> Result<i64, StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query_scalar!(r#"select own_memory_mark($1) as "mark!""#, project)
            .fetch_one(&mut *tx)
            .await
            .map_err(failed("reading how much was noted"))
    }

    /// All notes of a project that were not erased, of this kind if one is given.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub(crate) async fn note_heads(
        &self,
        project: Uuid,
        kind: Option<&str>,
    ) -> Result<Vec<NoteHead>, StoreError> {
        let mut tx = self.begin().await?;
        let rows = sqlx::query!(
            r#"select source as "source!", name as "name!", kind as "kind!", module
               from (select 1::smallint as source, id::text as name, kind, module
                     from discoveries
                     where tenant_id = $1 and project_id = $2 and erased_at is null
                     union all
                     select 2::smallint, file || '/' || number,
                            case file when 'decisions.jsonl' then 'decision' else 'event' end, null
                     from memory_entries
                     where tenant_id = $1 and project_id = $2 and erased_at is null) as notes
               where $3::text is null or kind = $3
               order by source, name collate "C""#,
            self.tenant,
            project,
            kind
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading what was noted"))?;
        let head = |source, name, kind, module| {
            let source = Source::of(source)?;
            let id = NoteId { source, name };
            Some(NoteHead { id, kind, module })
        };
        let rows = rows.into_iter();
        Ok(rows
            .filter_map(|row| head(row.source, row.name, row.kind, row.module))
            .collect())
    }

    /// These notes, as far as they are there and were not erased, in no order.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub(crate) async fn notes(
        &self,
        project: Uuid,
        ids: &[NoteId],
    ) -> Result<Vec<Note>, StoreError> {
        let sources: Vec<i16> = ids.iter().map(|id| id.source as i16).collect();
        let names: Vec<String> = ids.iter().map(|id| id.name.clone()).collect();
        let mut tx = self.begin().await?;
        let rows = sqlx::query_as!(
            NoteRow,
            r#"select source as "source!", name as "name!", kind as "kind!", content as "content!",
                      module, principal as "principal!",
                      (extract(epoch from written_at) * 1000)::bigint as "written_ms!",
                      supersedes, superseded_by
               from unnest($3::smallint[], $4::text[]) as asked (source, name)
               cross join lateral
                   (select d.kind, d.content, d.module, d.principal, d.created_at as written_at,
                           d.supersedes,
                           (select s.id from discoveries s
                            where s.tenant_id = $1 and s.project_id = $2 and s.supersedes = d.id
                                  and s.erased_at is null
                            order by s.created_at desc, s.id desc limit 1) as superseded_by
                    from discoveries d
                    where asked.source = 1 and d.tenant_id = $1 and d.project_id = $2
                          and d.id::text = asked.name and d.erased_at is null
                    union all
                    select case e.file when 'decisions.jsonl' then 'decision' else 'event' end,
                           e.entry, null, e.principal, e.written_at, null, null
                    from memory_entries e
                    where asked.source = 2 and e.tenant_id = $1 and e.project_id = $2
                          and e.file = split_part(asked.name, '/', 1)
                          and e.number = nullif(split_part(asked.name, '/', 2), '')::bigint
                          and e.erased_at is null) as note"#,
            self.tenant,
            project,
            &sources,
            &names
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading notes"))?;
        Ok(rows.into_iter().filter_map(NoteRow::note).collect())
    }
}

/// A note as it is stored.
struct NoteRow {
    source: i16,
    name: String,
    kind: String,
    content: String,
    module: Option<String>,
    principal: String,
    written_ms: i64,
    supersedes: Option<Uuid>,
    superseded_by: Option<Uuid>,
}

impl NoteRow {
    fn note(self) -> Option<Note> {
        Some(Note {
            id: NoteId {
                source: Source::of(self.source)?,
                name: self.name,
            },
            kind: self.kind,
            content: self.content,
            module: self.module,
            principal: self.principal,
            written_at: Timestamp::from_millisecond(self.written_ms).ok()?,
            supersedes: self.supersedes,
            superseded_by: self.superseded_by,
        })
    }
}
