//! How the word that governs a term affects it: whether it is a means, or is ended.

use crate::alignment::words::{Separator, Token};

/// The maximum distance in tokens between a term and its governing word.
const MAX_DISTANCE: usize = 5;

/// Whether a verb before a token ends it.
pub(super) fn is_ended(tokens: &[Token], at: usize) -> bool {
    const ENDING_VERBS: [&str; 22] = [
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
    governor(tokens, at).is_some_and(|word| ENDING_VERBS.contains(&word))
}

/// The last word before a token, skipping articles and common adjectives.
fn governor(tokens: &[Token], at: usize) -> Option<&str> {
    const SKIPPED: [&str; 15] = [
        "a", "an", "the", "our", "its", "own", "managed", "new", "existing", "shared", "separate",
        "plain", "same", "one", "using",
    ];
    let mut before = tokens
        .get(..at)?
        .iter()
        .rev()
        .take(MAX_DISTANCE)
        .map(|token| token.lower.as_str());
    before.find(|word| !SKIPPED.contains(word))
}

/// Whether a token is the means or the place of an action.
pub(super) fn is_means(tokens: &[Token], at: usize) -> bool {
    const MEANS_WORDS: [&str; 25] = [
        "use", "uses", "used", "in", "with", "on", "into", "onto", "through", "via", "to", "by",
        "choose", "take", "takes", "adopt", "adopts", "run", "runs", "is", "are", "be", "becomes",
        "stays", "remains",
    ];
    let is_governed = governor(tokens, at).is_some_and(|word| MEANS_WORDS.contains(&word));
    // The last noun of a compound is the one that the governing word applies to.
    let this = tokens.get(at);
    let next = tokens.get(at + 1);
    let is_of_kind = |next: &Token| {
        this.is_some_and(|this| {
            next.concept
                .is_some_and(|next| this.implied.contains(&next))
        })
    };
    let ends = next.is_none_or(|next| {
        next.concept.is_none() || next.before != Separator::None || is_of_kind(next)
    });
    is_governed && ends
}
