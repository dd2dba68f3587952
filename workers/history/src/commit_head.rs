//! Lines of a commit's head, read by hand.

use gix::actor::SignatureRef;
use gix::bstr::ByteSlice as _;

/// When a commit was made, in seconds since 1970; 0 if it does not say.
pub(super) fn committed_at(commit: &[u8]) -> i64 {
    let head = commit
        .split_once_str("\n\n")
        .map_or(commit, |(head, _)| head);
    let committer = field(head, b"committer ").map(SignatureRef::from_bytes);
    committer.and_then(Result::ok).map_or(0, |by| by.seconds())
}

/// What the last line of a commit's head says that begins so. Read by hand, as git reads it: gix
/// refuses a whole commit for one line that is not as it should be, and old histories have such.
pub(super) fn field<'c>(head: &'c [u8], label: &[u8]) -> Option<&'c [u8]> {
    head.lines().rev().find_map(|line| line.strip_prefix(label))
}
