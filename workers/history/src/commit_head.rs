//! Hand-written parser for lines of a commit's header.

use gix::actor::SignatureRef;
use gix::bstr::ByteSlice as _;

/// Committer time in seconds since 1970; 0 if the commit has none.
pub(super) fn committed_at(commit: &[u8]) -> i64 {
    let head = commit
        .split_once_str("\n\n")
        .map_or(commit, |(head, _)| head);
    let committer = field(head, b"committer ").map(SignatureRef::from_bytes);
    committer.and_then(Result::ok).map_or(0, |by| by.seconds())
}

/// The value of the last header line that begins with `label`. Parsed by hand, as git does: gix
/// rejects a whole commit for one malformed line, and old histories have such lines.
pub(super) fn field<'c>(head: &'c [u8], label: &[u8]) -> Option<&'c [u8]> {
    head.lines().rev().find_map(|line| line.strip_prefix(label))
}
