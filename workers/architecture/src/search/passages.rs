//! Splits documents into passages of a few sentences, which are embedded.

use std::ops::Range;

use archway_index::chunk_text;

use crate::document::Document;

/// A passage ends with the block by which it reaches this many bytes.
const PASSAGE_BYTES: usize = 800;
/// The maximum number of passages per document. Later text is found by words only.
const MAX_PASSAGES: usize = 64;

/// Some blocks of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) section: usize,
    pub(super) blocks: Range<usize>,
}

pub(super) fn passages(document: &Document) -> Vec<Passage> {
    let mut found = Vec::new();
    for (at, section) in document.sections().iter().enumerate() {
        let (mut start, mut length) = (0, 0);
        for (block, text) in section.blocks.iter().enumerate() {
            let is_content = !is_status_only(document, at, block);
            length += if is_content { text.text.len() } else { 0 };
            if length >= PASSAGE_BYTES {
                found.push(Passage {
                    section: at,
                    blocks: start..block + 1,
                });
                (start, length) = (block + 1, 0);
            }
        }
        if length > 0 {
            found.push(Passage {
                section: at,
                blocks: start..section.blocks.len(),
            });
        }
    }
    found.truncate(MAX_PASSAGES);
    found
}

/// Whether a block states only the decision's status.
fn is_status_only(document: &Document, section: usize, block: usize) -> bool {
    let text = document.sections().get(section);
    let text = text.and_then(|section| section.blocks.get(block));
    text.is_some_and(|text| {
        let is_status_line = |range| document.is_status_line(section, block, &range);
        let whole = 0..text.text.len();
        document.is_status_line(section, block, &whole)
            && text.sentences().all(|(range, _)| is_status_line(range))
    })
}

/// The text to embed for each passage. A document without text has its title embedded.
pub(super) fn embedding_texts(document: &Document) -> Vec<String> {
    let passages = passages(document);
    if passages.is_empty() {
        return vec![chunk_text::embedding_text(None, Some(&document.title), "")];
    }
    let embedding_texts = passages.iter().filter_map(|passage| {
        let section = document.sections().get(passage.section)?;
        let blocks = section.blocks.get(passage.blocks.clone())?;
        let content_blocks = passage.blocks.clone().zip(blocks);
        let content_blocks =
            content_blocks.filter(|(at, _)| !is_status_only(document, passage.section, *at));
        let texts: Vec<&str> = content_blocks
            .map(|(_, block)| block.text.as_str())
            .collect();
        let heading = (section.heading != document.title).then_some(section.heading.as_str());
        let (title, text) = (Some(document.title.as_str()), texts.join("\n"));
        Some(chunk_text::embedding_text(heading, title, &text))
    });
    embedding_texts.collect()
}
