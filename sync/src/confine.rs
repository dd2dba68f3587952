//! Confinement by the kernel (Landlock): this process and every git that it starts can write to the mirrors
//! and to temporary files, and nowhere else.
//!
//! Only threads that start later inherit it, so the main thread confines itself before its runtime exists.

use std::path::Path;

use landlock::{
    ABI, AccessFs, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus,
};

/// The newest Landlock version handled.
const VERSION: ABI = ABI::V8;
/// What programs write to without storing anything.
const NULL_DEVICE: &str = "/dev/null";

/// Why the process could not be confined.
#[derive(Debug, thiserror::Error)]
pub enum SyncConfineError {
    /// A folder cannot be opened.
    #[error("opening a folder that must stay writable")]
    Open(#[from] landlock::PathFdError),
    /// The kernel rejected the ruleset.
    #[error("confining the process")]
    Refused(#[from] landlock::RulesetError),
}

/// Confines the calling thread permanently. Returns whether the kernel enforces it.
///
/// Since Linux 5.13 nothing can be made, removed or opened for writing elsewhere. Since 6.2 nothing can be truncated
/// there.
///
/// # Errors
/// If a folder is missing, or the kernel has Landlock but rejects the ruleset.
pub fn confine(repos: &Path) -> Result<bool, SyncConfineError> {
    let writing = AccessFs::from_write(VERSION);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writing)?
        .create()?;
    for folder in [repos, &std::env::temp_dir()] {
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(folder)?, writing))?;
    }
    let null = PathFd::new(NULL_DEVICE)?;
    ruleset = ruleset.add_rule(PathBeneath::new(null, AccessFs::WriteFile))?;
    let status = ruleset.restrict_self()?.ruleset;
    Ok(!matches!(status, RulesetStatus::NotEnforced))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_mirrors_and_temporary_files_can_be_written() {
        let place = tempfile::tempdir_in(".").unwrap();
        let (repos, other) = (place.path().join("repos"), place.path().join("other"));
        fs::create_dir(&repos).unwrap();
        fs::create_dir(&other).unwrap();
        let written = std::thread::spawn(move || {
            let is_enforced = confine(&repos).unwrap();
            let temporary = tempfile::tempdir().map(drop);
            let all = [
                temporary,
                fs::create_dir(repos.join("a")),
                fs::create_dir(other.join("a")),
            ];
            (is_enforced, all.map(|made| made.is_ok()))
        });
        let (is_enforced, written) = written.join().unwrap();
        assert!(is_enforced, "this kernel has no Landlock");
        assert_eq!(written, [true, true, false]);
    }
}
