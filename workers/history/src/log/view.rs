//! Which paths a log is about.

use archway_repo::RepoPath;

use crate::followed_file::FollowedFile;
use crate::path_limiter::PathLimiter;

/// All commits, those that changed a folder, or those that changed a file under its names.
pub(super) enum View {
    All,
    Folder(PathLimiter),
    File(FollowedFile),
}

impl View {
    /// `name` is the followed file's name where the walk resumes.
    pub(super) fn of(
        path: Option<&RepoPath>,
        is_folder: Option<bool>,
        name: Option<String>,
    ) -> View {
        let Some(path) = path else { return View::All };
        if is_folder == Some(true) {
            return View::Folder(PathLimiter::of(path.clone()));
        }
        let name = name.and_then(|name| RepoPath::parse(&name).ok());
        View::File(FollowedFile::of(name.unwrap_or_else(|| path.clone())))
    }

    /// The path that limits the walk. A followed file does not limit it.
    pub(super) fn limiter(&self) -> Option<PathLimiter> {
        match self {
            View::Folder(limiter) => Some(PathLimiter::of(limiter.path().clone())),
            View::All | View::File(_) => None,
        }
    }
}
