//! How texts are cut.

mod documents;
mod hostile;
mod languages;
mod c_family;
mod layout;
mod scripts;

use archway_repo::testing::{cancel, path};

use super::*;

fn cut(name: &str, text: &[u8]) -> Vec<Chunk> {
    chunks(&path(name), text, &cancel()).unwrap()
}

/// One line per chunk: `Method Type.name 3-5 doc "/// Says."`.
fn outline(name: &str, text: &str) -> Vec<String> {
    let line = |chunk: Chunk| {
        let parent = chunk.parent.map(|parent| format!("{parent}."));
        let doc = chunk
            .doc
            .map(|doc| format!(" doc {:?}", text.get(doc).unwrap()));
        format!(
            "{:?} {}{} {}-{}{}",
            chunk.kind,
            parent.unwrap_or_default(),
            chunk.symbol.unwrap_or_default(),
            chunk.lines.start(),
            chunk.lines.end(),
            doc.unwrap_or_default()
        )
    };
    cut(name, text.as_bytes()).into_iter().map(line).collect()
}

/// The texts of the chunks.
fn texts<'a>(name: &str, text: &'a str) -> Vec<&'a str> {
    let chunks = cut(name, text.as_bytes());
    chunks
        .into_iter()
        .map(|chunk| text.get(chunk.bytes).unwrap())
        .collect()
}
