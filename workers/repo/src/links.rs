//! Follows links in user space, in a work tree and in git's trees alike.
//!
//! A path is walked component by component, and a link's target replaces the link. A target that is
//! absolute, climbs above the root, does not exist, or leads through too many links is outside.
//! Nothing outside the root is ever looked up.

use std::collections::VecDeque;

use rustix::io::Errno;

use super::error::RepoError;
use super::path::RepoPath;

/// Maximum number of links on one path.
const MAX_LINKS: usize = 40;

/// Returns the path without links that `target` leads to from the folder `base`, which has no
/// links.
///
/// `read_link` returns the target of a path's last component, or `None` if that is not a link; the
/// folders above it have been walked.
///
/// # Errors
/// [`RepoError::Outside`] if a link leaves, dangles or loops; otherwise errors of `read_link`.
pub(super) fn follow(
    base: &RepoPath,
    target: &[u8],
    mut read_link: impl FnMut(&RepoPath) -> Result<Option<Vec<u8>>, Errno>,
) -> Result<RepoPath, RepoError> {
    let requested = base.join(target);
    let outside = || RepoError::Outside {
        path: requested.to_string(),
    };
    let mut walk = Walk {
        at: base.clone(),
        todo: VecDeque::new(),
        links: 0,
    };
    walk.push(target, false).ok_or_else(outside)?;
    while let Some(step) = walk.todo.pop_front() {
        if step.name == b".." {
            walk.at = walk.at.parent().ok_or_else(outside)?;
            continue;
        }
        let place = walk.at.join(&step.name);
        match read_link(&place) {
            Ok(Some(target)) => walk.push(&target, true).ok_or_else(outside)?,
            Ok(None) => walk.at = place,
            Err(Errno::NOENT | Errno::NOTDIR) if step.from_link => return Err(outside()),
            Err(errno) => return Err(RepoError::opening(&requested, errno)),
        }
    }
    Ok(walk.at)
}

/// A walk along a path: `at` has no links, `todo` is the rest.
struct Walk {
    at: RepoPath,
    todo: VecDeque<Step>,
    links: usize,
}

struct Step {
    name: Vec<u8>,
    /// Whether the name comes from a link's target. If it is missing, the link dangles.
    from_link: bool,
}

impl Walk {
    /// Prepends the components of `target` to the rest. `None` if they cannot be followed.
    fn push(&mut self, target: &[u8], from_link: bool) -> Option<()> {
        self.links += usize::from(from_link);
        if target.starts_with(b"/") || self.links > MAX_LINKS {
            return None;
        }
        let names = target.split(|&byte| byte == b'/').rev();
        for name in names.filter(|name| !matches!(*name, b"" | b".")) {
            self.todo.push_front(Step {
                name: name.to_owned(),
                from_link,
            });
        }
        Some(())
    }
}
