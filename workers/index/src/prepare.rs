//! Prepares a text for the vector store: cuts it into chunks and counts their words.

use archway_repo::{Cancel, RepoPath, Stopped};
use archway_store::{Blob, Note, NoteId};

use super::chunk::{self, Chunk, Kind};
use super::chunk_text;
use super::terms::Terms;
use super::vector_store::{ChunkLocation, IndexedChunk, IndexedText};

/// A text whose vectors are still missing.
pub(crate) struct PreparedText {
    pub(crate) text: IndexedText,
    /// The embedder's input, for each chunk.
    pub(crate) inputs: Vec<String>,
}

impl PreparedText {
    /// The chunks of a file. Its path is among the words of each chunk, but not in the embedder's input,
    /// so vectors outlive renames.
    ///
    /// # Errors
    /// If `cancel` stops the work.
    pub(crate) fn file(
        blob: Blob,
        path: &RepoPath,
        content: &[u8],
        cancel: &Cancel,
    ) -> Result<PreparedText, Stopped> {
        let chunks = chunk::chunks(path, content, cancel)?;
        let name = path.display();
        let mut prepared = PreparedText::empty(blob);
        for chunk in chunks {
            let text = content.get(chunk.bytes.clone()).unwrap_or_default();
            prepared.push(&name, chunk, &String::from_utf8_lossy(text));
        }
        Ok(prepared)
    }

    /// A note, as one chunk.
    pub(crate) fn note(blob: Blob, note: &Note) -> PreparedText {
        let mut prepared = PreparedText::empty(blob);
        let text = &note.content;
        let chunk = Chunk {
            kind: Kind::Entry,
            symbol: None,
            parent: note.module.clone(),
            bytes: 0..text.len(),
            lines: 1..=1,
            doc: None,
            declaration: None,
        };
        prepared.push(&note.kind, chunk, text);
        prepared
    }

    /// A text without chunks.
    pub(crate) fn empty(blob: Blob) -> PreparedText {
        PreparedText {
            text: IndexedText {
                blob,
                chunks: Vec::new(),
            },
            inputs: Vec::new(),
        }
    }

    fn push(&mut self, name: &str, chunk: Chunk, text: &str) {
        let (symbol, parent) = (chunk.symbol.as_deref(), chunk.parent.as_deref());
        let terms = Terms::of(&chunk_text::header(name, parent, symbol), text);
        self.inputs
            .push(chunk_text::embedding_text(parent, symbol, text));
        self.text.chunks.push(IndexedChunk {
            location: ChunkLocation {
                kind: chunk.kind,
                bytes: (to_u32(chunk.bytes.start), to_u32(chunk.bytes.end)),
                lines: (to_u32(*chunk.lines.start()), to_u32(*chunk.lines.end())),
                symbol: chunk.symbol,
                parent: chunk.parent,
                declaration: chunk.declaration,
            },
            terms,
            dense: None,
        });
    }

    /// Adds the vectors, one per chunk in order.
    pub(crate) fn with_vectors(
        mut self,
        vectors: &mut impl Iterator<Item = Option<Vec<f32>>>,
    ) -> IndexedText {
        for (chunk, vector) in self.text.chunks.iter_mut().zip(vectors) {
            chunk.dense = vector;
        }
        self.text
    }
}

/// The id that stands for a blob id in a note, which has no blob. Derived from the note's id, since
/// notes are immutable.
pub(super) fn note_blob(note: &NoteId) -> Blob {
    let name = format!("archway note {}", note.name);
    let hash =
        gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Tag, name.as_bytes());
    let mut blob = [0; 20];
    if let Ok(hash) = hash {
        blob.copy_from_slice(hash.as_slice());
    }
    blob
}

/// An offset or line as `u32`. It fits, since indexed files are far smaller than 4 GiB.
fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
