//! Pages: where the next one begins, and how much fits into one.
//!
//! A plain cursor is `<basis>:<items already given>`; the basis names the state it counts in (a
//! commit), so a cursor never skips or repeats after the repository moved. The gateway seals it.

use archway_proto::{failure::Failure, fault::Fault};
use serde::Serialize;

use archway_repo::{Head, text};

/// Room for what stands around the items of a page, in bytes.
const FRAME: usize = 1024;

/// How many items earlier pages gave.
pub(super) fn resume(cursor: Option<&str>, basis: &str) -> Result<usize, Failure> {
    let Some(cursor) = cursor else { return Ok(0) };
    cursor
        .rsplit_once(':')
        .filter(|(from, _)| *from == basis)
        .and_then(|(_, given)| given.parse().ok())
        .ok_or_else(|| {
            Failure::new(
                Fault::InvalidArguments,
                "the cursor belongs to another state of the project",
                "start again without a cursor",
            )
        })
}

/// How many items earlier pages gave, before it is known in which state the answer stands.
pub(super) fn given(cursor: Option<&str>) -> usize {
    cursor
        .and_then(|cursor| cursor.rsplit_once(':')?.1.parse().ok())
        .unwrap_or(0)
}

/// The cursor behind which `given` items lie.
pub(super) fn cursor(basis: &str, given: usize) -> String {
    format!("{basis}:{given}")
}

/// What a cursor counts in: the commit an answer was read from.
pub(super) fn basis(head: Option<&Head>) -> String {
    head.map_or_else(|| "-".to_owned(), |head| head.commit.clone())
}

/// How many of `items`, from the first on, fit into `budget` bytes as JSON.
pub(super) fn fit<T: Serialize>(items: &[T], budget: usize) -> usize {
    fit_within(items, budget.saturating_sub(FRAME))
}

/// How many of `items`, from the first on, fit into `room` bytes as JSON, with nothing around them.
pub(super) fn fit_within<T: Serialize>(items: &[T], room: usize) -> usize {
    let mut left = room;
    items
        .iter()
        .take_while(|item| match left.checked_sub(size(item) + 1) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        })
        .count()
}

/// The bytes of `items` and of what stands around them.
pub(super) fn size_of_all<T: Serialize>(items: &[T]) -> usize {
    FRAME + items.iter().map(|item| size(item) + 1).sum::<usize>()
}

/// The bytes of `item` as JSON, escaped as it will be shown.
pub(super) fn size<T: Serialize>(item: &T) -> usize {
    let mut value = serde_json::to_value(item).unwrap_or_default();
    text::escape_json(&mut value);
    value.to_string().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_goes_on_where_its_page_ended_and_nowhere_else() {
        let next = cursor("abc", 50);
        assert_eq!(resume(Some(&next), "abc").unwrap(), 50);
        assert_eq!(given(Some(&next)), 50);
        assert_eq!(resume(None, "abc").unwrap(), 0);
        for bad in ["", "abc", "abc:", "abc:-1", "abd:50", ":50"] {
            let refused = resume(Some(bad), "abc").unwrap_err();
            assert_eq!(refused.code, Fault::InvalidArguments, "{bad}");
        }
    }

    #[test]
    fn a_page_ends_before_the_item_that_would_not_fit() {
        let items = ["a".repeat(400), "b".repeat(400), "c".repeat(400)];
        assert_eq!(fit(&items, FRAME + 1_000), 2);
        assert_eq!(fit(&items, FRAME), 0);
        assert_eq!(fit(&items, 1 << 20), 3);
    }
}
