//! The errors of paths that rules hide.

use archway_proto::refused_by::RefusedBy;

use super::{Block, Kind, Rules};
use crate::error::RepoError;
use crate::glob::Glob;
use crate::globs::Globs;
use crate::manifest;
use crate::path::RepoPath;

impl Rules {
    /// [`Rules::check`] of `path`, to which `requested` led.
    ///
    /// # Errors
    /// [`RepoError::Blocked`], which names the requested path, not its target.
    pub fn admit(
        &self,
        path: &RepoPath,
        requested: &RepoPath,
        kind: Kind,
    ) -> Result<(), RepoError> {
        match self.block(path, kind) {
            None => Ok(()),
            Some(block) => Err(RepoError::Blocked {
                path: requested.clone(),
                rule: self.rule(&block),
            }),
        }
    }

    /// Replaces `error` if the caller must not learn what exists at `path`, to which `requested`
    /// led: if nothing of the requested kind exists and the path is closed as the `other` kind, the
    /// answer is a denial.
    pub(crate) fn blocked_if_closed(
        &self,
        error: RepoError,
        (path, requested): (&RepoPath, &RepoPath),
        other: Kind,
    ) -> RepoError {
        match error.is_absence() {
            true => self.admit(path, requested, other).err().unwrap_or(error),
            false => error,
        }
    }

    /// The rule in words for operators. It names a glob or a pattern, never the path.
    fn rule(&self, block: &Block<'_>) -> RefusedBy {
        RefusedBy::of_path(&match block {
            Block::Name(pattern) => format!("built-in name {pattern}"),
            Block::Glob(prefix, kind) => {
                let closes = |glob: &&Glob| {
                    glob.matches_bytes(prefix)
                        || (*kind == Kind::Directory && glob.matches_all_beneath(prefix))
                };
                let text = |globs: &Globs| Some(globs.iter().find(closes)?.as_str().to_owned());
                match text(&self.close) {
                    Some(glob) => format!("close glob {glob}"),
                    None => format!(
                        "deny glob {} of {}",
                        text(&self.deny).unwrap_or_default(),
                        manifest::NAME
                    ),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    #[test]
    fn a_denial_names_the_glob_or_pattern_and_not_the_path() {
        let owned = |globs: &[&str]| globs.iter().map(ToString::to_string).collect::<Vec<_>>();
        let close = owned(&["*.sql", "/legal/", "private"]);
        let rules = Rules::new(&owned(&[".env"]), &close, None).unwrap();
        let rules = rules.with(&Manifest::parse(b"deny = [\"drafts/\"]"));
        let rule = |path: &str, kind| {
            let path = RepoPath::parse(path).unwrap();
            let refused = rules.admit(&path, &path, kind).unwrap_err();
            assert!(!refused.to_string().contains("glob"), "{refused}");
            match refused {
                RepoError::Blocked { rule, .. } => {
                    let rule = rule.for_operators().strip_prefix("path rule: ");
                    rule.unwrap().to_owned()
                }
                other => panic!("{other}"),
            }
        };
        for (path, expected) in [
            (".git/config", "built-in name .git"),
            ("a/Server.PEM", "built-in name *.pem"),
            (".env.local", "built-in name .env.*"),
            ("secrets-old/a", "built-in name secrets*"),
            ("x/.docker/config.json", "built-in name .docker/config.json"),
            ("a.tfstate.backup", "built-in name *.tfstate.*"),
            (
                "service-account-7.json",
                "built-in name service-account*.json",
            ),
            ("a/Private/b.txt", "close glob private"),
            ("legal/a", "close glob /legal/"),
            ("q.sql", "close glob *.sql"),
            ("drafts/q.md", "deny glob drafts/ of .archway.toml"),
        ] {
            assert_eq!(rule(path, Kind::File), expected, "{path}");
        }
        assert_eq!(rule("legal", Kind::Directory), "close glob /legal/");
    }
}
