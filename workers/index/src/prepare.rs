//! A file's text made ready for its home: cut into chunks, its words counted.

use archway_repo::{Cancel, RepoPath, Stopped};
use archway_store::{Blob, Note, NoteId};

use super::chunk::{self, Chunk, Kind};
use super::named;
use super::terms::Terms;
use super::vector_store::{Piece, Place, Text};

/// A text whose vectors are still to be made.
pub(crate) struct Prepared {
    pub(crate) text: Text,
    /// What an embedder reads, for each chunk.
    pub(crate) readings: Vec<String>,
}

impl Prepared {
    /// The chunks of a file's content. What it is called is among the words of each, and never in
    /// what an embedder reads: vectors outlive renames.
    ///
    /// # Errors
    /// If the work has to stop.
    pub(crate) fn file(
        blob: Blob,
        path: &RepoPath,
        content: &[u8],
        cancel: &Cancel,
    ) -> Result<Prepared, Stopped> {
        let chunks = chunk::chunks(path, content, cancel)?;
        let name = path.display();
        let mut prepared = Prepared::empty(blob);
        for chunk in chunks {
            let text = content.get(chunk.bytes.clone()).unwrap_or_default();
            prepared.push(&name, chunk, &String::from_utf8_lossy(text));
        }
        Ok(prepared)
    }

    /// What was noted, which is one chunk.
    pub(crate) fn note(blob: Blob, note: &Note) -> Prepared {
        let mut prepared = Prepared::empty(blob);
        let text = &note.content;
        let chunk = Chunk {
            kind: Kind::Entry,
            symbol: None,
            parent: note.module.clone(),
            bytes: 0..text.len(),
            lines: 1..=1,
            doc: None,
        };
        prepared.push(&note.kind, chunk, text);
        prepared
    }

    /// A text that can't be read, or has nothing to be found.
    pub(crate) fn empty(blob: Blob) -> Prepared {
        Prepared {
            text: Text {
                blob,
                pieces: Vec::new(),
            },
            readings: Vec::new(),
        }
    }

    fn push(&mut self, name: &str, chunk: Chunk, text: &str) {
        let (symbol, parent) = (chunk.symbol.as_deref(), chunk.parent.as_deref());
        let terms = Terms::of(&named::header(name, parent, symbol), text);
        self.readings.push(named::dense_text(parent, symbol, text));
        self.text.pieces.push(Piece {
            place: Place {
                kind: chunk.kind,
                bytes: (number(chunk.bytes.start), number(chunk.bytes.end)),
                lines: (number(*chunk.lines.start()), number(*chunk.lines.end())),
                symbol: chunk.symbol,
                parent: chunk.parent,
            },
            terms,
            dense: None,
        });
    }

    /// Gives each chunk its vector, in their order.
    pub(crate) fn with(mut self, vectors: &mut impl Iterator<Item = Option<Vec<f32>>>) -> Text {
        for (piece, vector) in self.text.pieces.iter_mut().zip(vectors) {
            piece.dense = vector;
        }
        self.text
    }
}

/// What stands for a note where files have the ids of their blobs: what was noted never changes, so
/// its own id does.
pub(super) fn blob_of(note: &NoteId) -> Blob {
    let name = format!("archway note {}", note.name);
    let hash =
        gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Tag, name.as_bytes());
    let mut blob = [0; 20];
    if let Ok(hash) = hash {
        blob.copy_from_slice(hash.as_slice());
    }
    blob
}

/// Files that are indexed have less than 4 GiB by far.
fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
