//! Iterates over two trees side by side, name by name.

use std::cmp::Ordering;

use archway_repo::Cancel;
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryRef;

use super::super::HistoryError;
use super::super::error::git;
use super::READING;

/// Number of names that are compared between two deadline checks.
const CHECK_INTERVAL: usize = 1 << 12;

/// Calls `visit` with the entries of each name in either tree. Both entries are of one kind, folder
/// or not, if both exist.
///
/// # Errors
/// If a tree is malformed, the call has to stop, or `visit` fails.
pub(crate) fn zip_entries<'t>(
    mut old: TreeRefIter<'t>,
    mut new: TreeRefIter<'t>,
    cancel: &Cancel,
    mut visit: impl FnMut(Option<EntryRef<'t>>, Option<EntryRef<'t>>) -> Result<(), HistoryError>,
) -> Result<(), HistoryError> {
    let (mut before, mut after) = (next(&mut old)?, next(&mut new)?);
    let mut compared: usize = 0;
    loop {
        let order = match (&before, &after) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(before), Some(after)) => order(before, after),
        };
        visit(
            before.filter(|_| order.is_le()),
            after.filter(|_| order.is_ge()),
        )?;
        if order.is_le() {
            before = next(&mut old)?;
        }
        if order.is_ge() {
            after = next(&mut new)?;
        }
        compared += 1;
        if compared.is_multiple_of(CHECK_INTERVAL) {
            cancel.check()?;
        }
    }
}

fn next<'t>(tree: &mut TreeRefIter<'t>) -> Result<Option<EntryRef<'t>>, HistoryError> {
    tree.next().transpose().map_err(git(READING))
}

/// Git's order within a tree: a folder's name sorts as if a slash followed. A file and a folder of
/// one name are therefore two entries; so is a file whose name contains the slash, which no valid
/// tree has.
fn order(one: &EntryRef<'_>, other: &EntryRef<'_>) -> Ordering {
    let (a, b): (&[u8], &[u8]) = (one.filename, other.filename);
    let common = a.len().min(b.len());
    let end = |name: &[u8], entry: &EntryRef<'_>| {
        let slash = entry.mode.is_tree().then_some(b'/');
        name.get(common).copied().or(slash)
    };
    let heads = a.get(..common).cmp(&b.get(..common));
    let ends = || end(a, one).cmp(&end(b, other));
    heads.then_with(ends).then_with(|| a.len().cmp(&b.len()))
}
