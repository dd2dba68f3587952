//! Following links by hand, in a work tree and in git's trees alike.
//!
//! A path is walked name by name, and what a link says takes the link's place. A target that is
//! absolute, climbs above the root, isn't there, or has too many links on its way is outside;
//! nothing is asked about a place that isn't beneath the root.

use std::collections::VecDeque;

use rustix::io::Errno;

use super::error::RepoError;
use super::path::RepoPath;

/// How many links may stand on one path.
const MAX_LINKS: usize = 40;

/// The path without links that `target` leads to, read in the folder `base`, which has none.
///
/// `read_link` says what a path's last name links to, `None` if it is no link; the folders above
/// it have been walked.
///
/// # Errors
/// [`RepoError::Outside`] where a link leaves, dangles or loops; else what `read_link` says.
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

/// A path that is being followed: `at` has no links, `todo` is what is left.
struct Walk {
    at: RepoPath,
    todo: VecDeque<Step>,
    links: usize,
}

struct Step {
    name: Vec<u8>,
    /// A name that a link brought, rather than who asked: if it is missing, the link dangles.
    from_link: bool,
}

impl Walk {
    /// Puts the names of `target` before what is left. `None` if they can't be followed.
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
