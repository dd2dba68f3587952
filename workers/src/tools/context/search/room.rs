//! Shares the room of an answer among the contents of its results.

use crate::tools::paging;

/// Bytes around a string in JSON.
const QUOTE_BYTES: usize = 2;

/// The most bytes that each may have so that all fit into `room`: what some do not need, others get.
pub(super) fn share(mut needs: Vec<usize>, room: usize) -> usize {
    needs.sort_unstable();
    let mut left = room;
    for (at, need) in needs.iter().enumerate() {
        let equal = left / (needs.len() - at);
        if *need > equal {
            return equal;
        }
        left -= need;
    }
    room
}

/// Cuts a content at a line end so that it fits once it is escaped. Returns whether it was cut.
pub(super) fn cut(content: &mut String, room: usize) -> bool {
    let size = |piece: &str| paging::size(&piece) - QUOTE_BYTES;
    if size(content) <= room {
        return false;
    }
    let fits = |piece: &str, left: usize| left.checked_sub(size(piece));
    let (mut end, mut left) = (0, room);
    for line in content.split_inclusive('\n') {
        let Some(rest) = fits(line, left) else { break };
        (end, left) = (end + line.len(), rest);
    }
    if end == 0 {
        // A single line that is too long.
        for (at, letter) in content.char_indices() {
            let Some(rest) = fits(letter.encode_utf8(&mut [0; 4]), left) else {
                break;
            };
            (end, left) = (at + letter.len_utf8(), rest);
        }
    }
    content.truncate(end);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of a text that fits into `room` bytes.
    fn left(text: &str, room: usize) -> String {
        let mut content = text.to_owned();
        let is_cut = cut(&mut content, room);
        assert_eq!(is_cut, content != text);
        assert!(paging::size(&content) <= room + QUOTE_BYTES);
        content
    }

    #[test]
    fn room_is_shared_by_need() {
        assert_eq!(share(vec![10, 100, 100], 110), 50);
        assert_eq!(share(vec![100, 100], 110), 55);
        assert_eq!(share(vec![10, 20], 110), 110);
        assert_eq!(share(Vec::new(), 110), 110);
    }

    #[test]
    fn content_is_cut_by_its_escaped_size() {
        assert_eq!(left("one\ntwo\n", 100), "one\ntwo\n");
        assert_eq!(left("one\ntwo\n", 8), "one\n");
        assert_eq!(left("three", 3), "thr");
        // Each is escaped to six characters, with a backslash that JSON doubles.
        let hidden = "\u{7f}".repeat(100);
        assert!(left(&hidden, 200).chars().count() < 30);
        assert_eq!(left("", 0), "");
    }
}
