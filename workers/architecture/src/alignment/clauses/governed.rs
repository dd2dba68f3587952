//! What the word before a thing makes of it: whether something is done with it, or ends it.

use crate::alignment::words::{Mark, Token};

/// How far before a token the word may stand that governs it.
const MOST_PASSED: usize = 5;

/// Whether a verb before a token says that there is to be no more of it.
pub(super) fn is_ended(tokens: &[Token], at: usize) -> bool {
    const ENDING: [&str; 22] = [
        "delete",
        "deletes",
        "deleting",
        "drop",
        "drops",
        "dropping",
        "remove",
        "removes",
        "removing",
        "retire",
        "retires",
        "retiring",
        "abandon",
        "ditch",
        "scrap",
        "decommission",
        "discontinue",
        "uninstall",
        "kill",
        "sunset",
        "stop",
        "leave",
    ];
    governor(tokens, at).is_some_and(|word| ENDING.contains(&word))
}

/// The word before a token, articles and the like apart.
fn governor(tokens: &[Token], at: usize) -> Option<&str> {
    const PASSED: [&str; 15] = [
        "a", "an", "the", "our", "its", "own", "managed", "new", "existing", "shared", "separate",
        "plain", "same", "one", "using",
    ];
    let mut before = tokens
        .get(..at)?
        .iter()
        .rev()
        .take(MOST_PASSED)
        .map(|token| token.lower.as_str());
    before.find(|word| !PASSED.contains(word))
}

/// Whether a token is what something is done with, or in.
pub(super) fn is_means(tokens: &[Token], at: usize) -> bool {
    const BEFORE: [&str; 25] = [
        "use", "uses", "used", "in", "with", "on", "into", "onto", "through", "via", "to", "by",
        "choose", "take", "takes", "adopt", "adopts", "run", "runs", "is", "are", "be", "becomes",
        "stays", "remains",
    ];
    let is_governed = governor(tokens, at).is_some_and(|word| BEFORE.contains(&word));
    // What a noun follows says which noun is meant.
    let this = tokens.get(at);
    let next = tokens.get(at + 1);
    let is_of_kind = |next: &Token| {
        this.is_some_and(|this| {
            next.concept
                .is_some_and(|next| this.besides.contains(&next))
        })
    };
    let ends = next
        .is_none_or(|next| next.concept.is_none() || next.before != Mark::None || is_of_kind(next));
    is_governed && ends
}
