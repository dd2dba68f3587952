//! The record of an index, as a run reads it when it begins.

use std::collections::HashMap;

use uuid::Uuid;

use super::super::{StoreError, TenantStore, failed};
use super::{Document, documents};
use crate::Blob;

/// The record of an index.
#[derive(Debug, Default)]
pub struct RecordedIndex {
    /// Its documents as of its last edition, by source and name.
    pub documents: Vec<Document>,
    /// The id of the vector store that its texts were written to.
    pub store_id: Uuid,
    /// Its texts.
    pub texts: HashMap<Blob, RecordedText>,
}

/// The record of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedText {
    /// Its state in the vector store.
    pub state: TextState,
    /// The number of its chunks.
    pub chunks: i32,
    /// The number of words in all chunks.
    pub words: i64,
}

/// The state of a text of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextState {
    /// Being written or removed: the vector store may have it.
    Uncertain,
    /// Stored without vectors, which are still to be made.
    WithoutVectors,
    /// Stored with vectors.
    Complete,
}

impl RecordedText {
    /// Whether the vector store has it, with or without vectors.
    pub fn is_stored(&self) -> bool {
        self.state != TextState::Uncertain
    }
}

impl RecordedIndex {
    /// The number of chunks that the vector store should have.
    pub fn chunks(&self) -> u64 {
        let chunks = self.texts.values().map(|text| i64::from(text.chunks));
        u64::try_from(chunks.sum::<i64>()).unwrap_or(0)
    }
}

impl TenantStore<'_> {
    /// The record of an index.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn recorded_index(&self, index: i64) -> Result<RecordedIndex, StoreError> {
        let mut tx = self.begin().await?;
        let store_id = sqlx::query_scalar!(
            "select home_id from indexes where tenant_id = $1 and id = $2",
            self.tenant,
            index
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(failed("reading the vector store of an index"))?;
        let documents = documents::all(&mut tx, self.tenant, index).await?;
        let rows = sqlx::query!(
            "select blob, is_home, lacks_vectors, chunks, words from index_texts \
             where tenant_id = $1 and index_id = $2",
            self.tenant,
            index
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading the texts of an index"))?;
        let texts = rows.into_iter().filter_map(|row| {
            let text = RecordedText {
                state: TextState::of(row.is_home, row.lacks_vectors),
                chunks: row.chunks,
                words: row.words,
            };
            Some((row.blob.try_into().ok()?, text))
        });
        Ok(RecordedIndex {
            documents,
            store_id: store_id.unwrap_or_default(),
            texts: texts.collect(),
        })
    }
}

impl TextState {
    pub(super) fn of(is_stored: bool, lacks_vectors: bool) -> TextState {
        match (is_stored, lacks_vectors) {
            (false, _) => TextState::Uncertain,
            (true, true) => TextState::WithoutVectors,
            (true, false) => TextState::Complete,
        }
    }
}
