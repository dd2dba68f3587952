//! Pages: cursors, and how many items fit into a page.
//!
//! A cursor is `<basis>:<number of items already returned>`. The basis names the state in which the
//! cursor counts, a commit, so that a cursor never skips or repeats items after the repository
//! moved. The gateway seals it. A plain cursor of 52 bytes becomes 96 characters, which is the most that a tool
//! may answer, so commits and names are shortened in it.

use archway_proto::{failure::Failure, fault::Fault};
use serde::Serialize;

use archway_repo::{Head, text};

/// Bytes reserved for everything around the items of a page.
const FRAME_BYTES: usize = 1024;

/// How many digits of a commit a cursor has.
const COMMIT_DIGITS: usize = 12;
/// The longest name that a cursor has in full, in bytes.
const WHOLE_NAME: usize = 20;
/// Stands in a shortened name between its beginning and its hash. No slug has it.
const SHORTENED: char = '~';

/// The number of items on earlier pages.
pub(super) fn resume(cursor: Option<&str>, basis: &str) -> Result<usize, Failure> {
    let Some(cursor) = cursor else { return Ok(0) };
    cursor
        .rsplit_once(':')
        .filter(|(from, _)| *from == short_commit(basis))
        .and_then(|(_, items_before)| items_before.parse().ok())
        .ok_or_else(other_state)
}

/// The failure of a cursor that counts in another state.
pub(super) fn other_state() -> Failure {
    Failure::new(
        Fault::InvalidArguments,
        "the cursor belongs to another state of the project",
        "start again without a cursor",
    )
}

/// The number of items on earlier pages, before the state of the answer is known.
pub(super) fn items_before(cursor: Option<&str>) -> usize {
    cursor
        .and_then(|cursor| cursor.rsplit_once(':')?.1.parse().ok())
        .unwrap_or(0)
}

/// The cursor after `items_before` items.
pub(super) fn cursor(basis: &str, items_before: usize) -> String {
    format!("{}:{items_before}", short_commit(basis))
}

/// The part of a commit's id by which a cursor tells it from others.
pub(super) fn short_commit(commit: &str) -> &str {
    commit.get(..COMMIT_DIGITS).unwrap_or(commit)
}

/// A slug as a cursor has it: whole if it is short, else its beginning and a hash.
pub(super) fn short_name(slug: &str) -> String {
    match slug.get(..WHOLE_NAME / 2) {
        Some(beginning) if slug.len() > WHOLE_NAME => {
            format!("{beginning}{SHORTENED}{}", hash(slug))
        }
        _ => slug.to_owned(),
    }
}

/// The slug that a cursor means, among `slugs`. If it is gone: what comes before it and all that begin alike.
pub(super) fn whole_name<'a>(short: &str, mut slugs: impl Iterator<Item = &'a str>) -> String {
    let Some((beginning, _hash)) = short.split_once(SHORTENED) else {
        return short.to_owned();
    };
    let found = slugs.find(|slug| short_name(slug) == short);
    found.unwrap_or(beginning).to_owned()
}

/// A hash of eight hexadecimal digits (FNV-1a, folded): equal in every build, unlike the standard library's.
pub(super) fn hash(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("{:08x}", (hash >> 32 ^ hash) & 0xffff_ffff)
}

/// The state in which a cursor counts: the commit that an answer was read from.
pub(super) fn basis(head: Option<&Head>) -> String {
    head.map_or_else(|| "-".to_owned(), |head| head.commit.clone())
}

/// How many of the first `items` fit into `budget` bytes as JSON.
pub(super) fn fit<T: Serialize>(items: &[T], budget: usize) -> usize {
    fit_within(items, budget.saturating_sub(FRAME_BYTES))
}

/// How many of the first items of these sizes fit into `budget` bytes.
pub(super) fn fit_sizes(sizes: &[usize], budget: usize) -> usize {
    count_within(sizes.iter().copied(), budget.saturating_sub(FRAME_BYTES))
}

/// How many of the first `items` fit into `room` bytes as JSON, with nothing around them.
pub(super) fn fit_within<T: Serialize>(items: &[T], room: usize) -> usize {
    count_within(items.iter().map(size), room)
}

fn count_within(sizes: impl Iterator<Item = usize>, room: usize) -> usize {
    let mut left = room;
    let fits = |size: &usize| match left.checked_sub(size + 1) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    sizes.take_while(fits).count()
}

/// The size in bytes of a page with `items`.
pub(super) fn size_of_all<T: Serialize>(items: &[T]) -> usize {
    FRAME_BYTES + items.iter().map(|item| size(item) + 1).sum::<usize>()
}

/// The size in bytes of `item` as escaped JSON.
pub(super) fn size<T: Serialize>(item: &T) -> usize {
    let mut value = serde_json::to_value(item).unwrap_or_default();
    text::escape_json(&mut value);
    value.to_string().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_continues_after_its_page_in_the_same_state_only() {
        let next = cursor("abc", 50);
        assert_eq!(resume(Some(&next), "abc").unwrap(), 50);
        assert_eq!(items_before(Some(&next)), 50);
        assert_eq!(resume(None, "abc").unwrap(), 0);
        for bad in ["", "abc", "abc:", "abc:-1", "abd:50", ":50"] {
            let refused = resume(Some(bad), "abc").unwrap_err();
            assert_eq!(refused.code, Fault::InvalidArguments, "{bad}");
        }
    }

    #[test]
    fn a_long_name_is_found_again_by_its_hash_or_its_beginning() {
        let (long, other) = ("a".repeat(60) + "bc", "a".repeat(60) + "bd");
        let short = short_name(&long);
        assert!(short.len() <= WHOLE_NAME, "{short}");
        let slugs = [other.as_str(), long.as_str(), "short"];
        assert_eq!(whole_name(&short, slugs.into_iter()), long);
        assert_eq!(whole_name(&short, ["short"].into_iter()), "aaaaaaaaaa");
        assert_eq!(whole_name(&short_name("short"), slugs.into_iter()), "short");
    }

    #[test]
    fn a_page_ends_before_the_item_that_would_not_fit() {
        let items = ["a".repeat(400), "b".repeat(400), "c".repeat(400)];
        assert_eq!(fit(&items, FRAME_BYTES + 1_000), 2);
        assert_eq!(fit(&items, FRAME_BYTES), 0);
        assert_eq!(fit(&items, 1 << 20), 3);
    }
}
