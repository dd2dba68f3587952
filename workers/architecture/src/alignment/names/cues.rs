//! Cues: phrases with which proposals undo a decision, carry it out, or leave it open. Commas
//! separate words and phrases.

/// Replacing something, or going back on it.
#[rustfmt::skip]
const UNDOING: &str = "instead of, rather than, in place of, replace, replaces, replaced, swap, off, away from, go back, back to, \
    bring back, brings back, return to, revert, again, no longer, not any more, anymore, any more, drop, dropped, drops, skip, \
    skips, abandon, get rid, do without, give up, switch off, turn off, ditch, switch to, move to, moves to, migrate, reopen";
/// Wanting something easier or sooner.
#[rustfmt::skip]
const IMPATIENCE: &str = "let's, just, simply, finally, anyway, overkill, too slow, too strict, slow, cheaper, faster, easier, \
    simpler, quicker, saves, save, nobody, no need, doesn't need, don't need, needn't, fine, good enough, enough, plenty, \
    annoying, pain, hate, for once, this once, like everyone else, promise, trust, costs, cost, expensive, it takes, takes, \
    awkward, tired, half, while, quick, painful, want, wants, too much, we'd, i'd, we need, need";
/// Rejecting something.
#[rustfmt::skip]
const REFUSAL: &str = "no, we won't, won't, we don't, not, say no, turn down, turned down, declined, never, can't, isn't, nothing, \
    don't, doesn't";
/// Following a rule.
#[rustfmt::skip]
const CARRYING_OUT: &str = "each, every, too, as well, likewise, new, gets, get, comes, fails, fail, check, checks, checked, \
    at the least, at least, at most, at the latest, within, no more than, behind, only, removed, deleted, last, \
    remaining, rewrite, goes, go, if, after, before, both, first, then, old, sign, until, once, finds, found, looks, signed";
/// Adding, watching or tuning something that no rule covers.
#[rustfmt::skip]
const LEAVING_OPEN: &str = "which, who, how, what, whether, or, either, in addition, besides, beside, alongside, measure, compare, \
    look at, dashboard, alert, alerts, name, names, naming, page, report, reports, tool, tune, tuning, size, bigger, index, \
    partition, upgrade, upgrades, version, publish, published, show, shown, shows, speed, monitor, monitoring, colour, \
    documentation, training, load test, benchmark, scan, lint, format, prefix, owner, owners, open question, discussed, \
    settled, backup, backups, replica, replicas, pooling, cluster, nodes, agree, proposal, idea, try, add, limit, interval, scale, give, second, more";

/// The number of cue kinds.
pub(in crate::alignment) const CUE_KINDS: usize = 5;
/// The longest cue, in words.
pub(in crate::alignment) const MAX_CUE_WORDS: usize = 3;

/// The cues of each kind: undoing, impatience, refusal, carrying out, leaving open.
pub(super) const CUES: [&str; CUE_KINDS] =
    [UNDOING, IMPATIENCE, REFUSAL, CARRYING_OUT, LEAVING_OPEN];
