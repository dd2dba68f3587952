//! Resolves the base of a revision: references in git's lookup order, reflogs, ids.
//!
//! A tag takes precedence over a branch of the same name, and unreadable references are skipped, as
//! in git.

use std::{
    collections::{BTreeMap, HashSet},
    iter,
};

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    hash::Prefix,
    refs::{Category, FullName, log::Line},
};

use super::{
    Lookup, ResolvedObject,
    parse::{Base, ReflogSelector},
};
use crate::{HistoryError, error::git};

const HEAD: &str = "HEAD";

/// Size of a reflog read in bytes. A longer line ends the reflog.
const REFLOG_BUFFER: usize = 64 << 10;

impl Lookup<'_> {
    /// The object that a base names, with its upstream and reflog selectors applied.
    pub(super) fn base(
        &self,
        base: Base<'_>,
        upstream: bool,
        reflog: Option<ReflogSelector>,
    ) -> Result<ResolvedObject, HistoryError> {
        let previous_checkout;
        let name = match base {
            Base::Head => HEAD,
            Base::Name(name) => name,
            Base::PreviousCheckout(nth) => {
                previous_checkout = self.previous_checkout(nth)?;
                previous_checkout.as_str()
            }
        };
        let reference = match (upstream, reflog) {
            (true, _) => self.upstream(name)?,
            (false, None) if name == HEAD => return self.head(),
            // `@{1}` is about the branch, `HEAD@{1}` about HEAD.
            (false, Some(_)) if base == Base::Head => self.branch_of(HEAD)?,
            (false, Some(_)) => self.find(name)?.ok_or_else(|| self.unknown_name(name))?,
            (false, None) => match self.by_name(name)? {
                NameMatch::Id(found) => return Ok(found),
                NameMatch::Reference(reference) => reference,
            },
        };
        match reflog {
            Some(ReflogSelector::Nth(0)) | None => self.target(&reference),
            Some(ReflogSelector::Nth(nth)) => self.changes_ago(&reference, nth),
            Some(ReflogSelector::Time(second)) => self.as_of(&reference, second),
        }
    }

    fn head(&self) -> Result<ResolvedObject, HistoryError> {
        let head = self.history.head().ok_or(HistoryError::NoCommits)?;
        Ok(ResolvedObject {
            id: head,
            is_reached: true,
        })
    }

    /// Tries a full id, a reference, and an abbreviated id, in this order.
    fn by_name(&self, name: &str) -> Result<NameMatch, HistoryError> {
        if let Ok(id) = ObjectId::from_hex(name.as_bytes()) {
            return Ok(NameMatch::Id(ResolvedObject::by_id(id)));
        }
        match self.find(name)? {
            Some(reference) => Ok(NameMatch::Reference(reference)),
            None => match self.short_id(described_id(name).unwrap_or(name)) {
                Err(HistoryError::RevisionNotFound { .. }) => Err(self.unknown_name(name)),
                found => found.map(NameMatch::Id),
            },
        }
    }

    /// Expands a short name to a reference, in git's lookup order.
    pub(super) fn find(&self, name: &str) -> Result<Option<FullName>, HistoryError> {
        let is_pseudo = name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
        let as_is = (is_pseudo && name.ends_with(HEAD)) || name.starts_with("refs/");
        let candidates = [
            as_is.then(|| name.to_owned()),
            Some(format!("refs/{name}")),
            Some(format!("refs/tags/{name}")),
            Some(format!("refs/heads/{name}")),
            Some(format!("refs/remotes/{name}")),
            Some(format!("refs/remotes/{name}/HEAD")),
        ];
        for reference in candidates.into_iter().flatten() {
            self.cancel.check()?;
            let Ok(reference) = FullName::try_from(reference) else {
                return Ok(None);
            };
            if self.read(&reference).is_some() {
                return Ok(Some(reference));
            }
        }
        Ok(None)
    }

    /// The reference of exactly this name.
    fn read(&self, name: &FullName) -> Option<gix::Reference<'_>> {
        let found = self
            .history
            .git
            .try_find_reference(name.as_ref().as_partial_name());
        // gix may have expanded the full name as a short one.
        found.ok()?.filter(|found| found.name() == name.as_ref())
    }

    /// The target of a reference, through symbolic references but not through tags.
    pub(super) fn target(&self, name: &FullName) -> Result<ResolvedObject, HistoryError> {
        let mut reference = self.read(name).ok_or_else(|| self.not_found())?;
        let id = reference.follow_to_object();
        let id = id.map_err(|_dangling| self.not_found())?.detach();
        let category = name.category();
        Ok(ResolvedObject {
            id,
            is_reached: matches!(
                category,
                Some(Category::LocalBranch | Category::RemoteBranch | Category::Tag)
            ),
        })
    }

    /// The branch of HEAD or of a short name. HEAD itself if it is detached.
    fn branch_of(&self, name: &str) -> Result<FullName, HistoryError> {
        if name != HEAD {
            let branch = FullName::try_from(format!("refs/heads/{name}"));
            return branch.map_err(|_no_name| self.not_found());
        }
        let head = self.history.git.head().map_err(git("reading HEAD"))?;
        match head.referent_name() {
            Some(branch) => Ok(branch.to_owned()),
            None => Ok(head.name().to_owned()),
        }
    }

    /// A branch's upstream, by the repository's configuration.
    fn upstream(&self, name: &str) -> Result<FullName, HistoryError> {
        let branch = self.branch_of(name)?;
        self.read(&branch).ok_or_else(|| self.not_found())?;
        let config = self.history.git.config_snapshot();
        let config = config.plumbing();
        let short = Some(branch.shorten());
        let remote = config.string_by("branch", short, "remote");
        let merge = config.string_by("branch", short, "merge");
        let (Some(remote), Some(merge)) = (remote, merge) else {
            return Err(self.invalid("the branch has no upstream"));
        };
        let tracking = if remote == "." {
            Some(merge)
        } else {
            let specs = config.strings_by("remote", Some(remote.as_bstr()), "fetch");
            let mut specs = specs.into_iter().flatten();
            specs.find_map(|spec| fetched_to(spec.as_bstr(), merge.as_bstr()))
        };
        let tracking = tracking.and_then(|name| FullName::try_from(name).ok());
        tracking.ok_or_else(|| self.invalid("the upstream of the branch is not fetched"))
    }

    /// The branch or commit that was checked out `nth` switches ago.
    fn previous_checkout(&self, nth: usize) -> Result<String, HistoryError> {
        let head = self.head_name()?;
        let mut buffer = vec![0; REFLOG_BUFFER];
        let mut left = nth;
        for line in self.reflog(&head, &mut buffer)? {
            self.cancel.check()?;
            let from = switched_from(line.message.as_bstr());
            left -= usize::from(from.is_some());
            if let (0, Some(from)) = (left, from) {
                return Ok(from.to_str_lossy().into_owned());
            }
        }
        Err(self.not_found())
    }

    fn head_name(&self) -> Result<FullName, HistoryError> {
        FullName::try_from(HEAD).map_err(|_no_name| self.not_found())
    }

    /// The value of a reference `nth` changes ago, from 1.
    fn changes_ago(&self, name: &FullName, nth: u64) -> Result<ResolvedObject, HistoryError> {
        let mut buffer = vec![0; REFLOG_BUFFER];
        let mut left = nth;
        for line in self.reflog(name, &mut buffer)? {
            self.cancel.check()?;
            left = left.saturating_sub(1);
            // The reference did not exist before it was created; an older entry may have a value.
            if left == 0 && !line.previous_oid.is_null() {
                return Ok(ResolvedObject::by_id(line.previous_oid));
            }
        }
        Err(self.not_found())
    }

    /// The value of a reference at a time. Before the first entry: its first value.
    fn as_of(&self, name: &FullName, second: i64) -> Result<ResolvedObject, HistoryError> {
        let mut buffer = vec![0; REFLOG_BUFFER];
        let mut oldest = None;
        for line in self.reflog(name, &mut buffer)? {
            self.cancel.check()?;
            oldest = Some(line.new_oid);
            if line.signature.time.seconds <= second {
                break;
            }
        }
        oldest
            .map(ResolvedObject::by_id)
            .ok_or_else(|| self.not_found())
    }

    /// A reflog, newest entry first. Ends before the first malformed line.
    fn reflog<'b>(
        &self,
        name: &FullName,
        buffer: &'b mut [u8],
    ) -> Result<impl Iterator<Item = Line> + use<'b>, HistoryError> {
        let reflog = self.history.git.refs.reflog_iter_rev(name.as_ref(), buffer);
        let reflog = reflog.map_err(git("reading a reflog"))?;
        Ok(reflog.into_iter().flatten().map_while(Result::ok))
    }

    /// Resolves an abbreviated id. If it is ambiguous, unreachable commits do not count.
    fn short_id(&self, hex: &str) -> Result<ResolvedObject, HistoryError> {
        let is_hex = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        let prefix = Prefix::from_hex(hex).ok().filter(|_| is_hex);
        let prefix = prefix.ok_or_else(|| self.not_found())?;
        let mut objects = HashSet::new();
        let found = self
            .history
            .git
            .objects
            .lookup_prefix(prefix, Some(&mut objects));
        found.map_err(git("looking up a short id"))?;
        let mut named = BTreeMap::new();
        for object in objects {
            if let Some(commit) = self.peel(object)? {
                named.insert(commit, object);
            }
        }
        if named.len() > 1 {
            let commits: Vec<ObjectId> = named.keys().copied().collect();
            let reached = self.history.reachable(&commits, self.cancel)?;
            named.retain(|commit, _| reached.contains(commit));
        }
        match named.pop_first() {
            None => Err(self.not_found()),
            Some((_, object)) if named.is_empty() => Ok(ResolvedObject::by_id(object)),
            Some((first, _)) => Err(self.ambiguous(iter::once(first).chain(named.into_keys()))),
        }
    }
}

enum NameMatch {
    Id(ResolvedObject),
    Reference(FullName),
}

/// The abbreviated id in `git describe` output: `v1.0-12-gabcdef`.
fn described_id(name: &str) -> Option<&str> {
    name.rsplit_once("-g")
        .map(|(_, id)| id)
        .filter(|id| id.len() >= 4)
}

/// The tracking branch of `branch` by a refspec such as `+refs/heads/*:refs/remotes/origin/*`.
fn fetched_to(rule: &BStr, branch: &BStr) -> Option<BString> {
    let rule = rule.strip_prefix(b"+").unwrap_or(rule);
    let (from, to) = rule.split_once_str(b":")?;
    let Some((before, after)) = from.split_once_str(b"*") else {
        return (from == branch.as_bytes()).then(|| to.into());
    };
    let star = branch.strip_prefix(before)?.strip_suffix(after)?;
    Some(to.replacen(b"*", star, 1).into())
}

/// The branch or commit that was left, if the reflog message is about a switch.
fn switched_from(message: &BStr) -> Option<&BStr> {
    let from_to = message.strip_prefix(b"checkout: moving from ")?;
    let end = from_to.find(" to ")?;
    from_to.get(..end).map(ByteSlice::as_bstr)
}
