//! Which paths of a project exist for its readers.
//!
//! Owns the names that are blocked everywhere (git's own folder, dependencies, usual names of
//! secrets), and the globs by which an operator opens or closes paths and a repository closes them.
//! Only names are checked, before anything is looked up: an existing and an invented path get the
//! same answer. If a link is involved, rules are checked for the requested path and for its target.
//!
//! No rule opens `.git`. A blocked folder may contain a path that was opened by name; then the
//! folder is walked, and only that path is visible in it.

mod names;
mod admit;
mod fingerprint;

use super::glob::{Glob, GlobError};
use super::globs::Globs;
use super::manifest::Manifest;
use super::path::RepoPath;

/// Globs of the paths that `read_repo_file` reads by default.
const DEFAULT_ALLOW: [&str; 5] = [
    "paths/**",
    "docs/**",
    ".claude/memory/**",
    "templates/**",
    "examples/**",
];

/// The path rules of one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    open: Vec<OpenGlob>,
    close: Globs,
    /// Globs of the manifest that close more paths.
    deny: Globs,
    allow: Vec<Glob>,
}

/// The expected kind of a path's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file, or a link to one.
    File,
    /// A directory, or a link to one.
    Directory,
}

/// A rule hides this path. It carries no reason, because the reason could reveal what exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked;

/// What hides a path.
enum Block<'a> {
    /// Its name, or that of a folder above it: the pattern that blocks it everywhere.
    Name(&'static str),
    /// A glob that closes this path, which is the path or a folder above it.
    Glob(&'a [u8], Kind),
}

impl Rules {
    /// Rules that open and close paths by the operator's globs. `close` wins over `open`. `allow`
    /// is what [`Rules::allows_reading`] admits; by default documentation and memory.
    ///
    /// # Errors
    /// The first glob that does not parse.
    pub fn new(
        open: &[String],
        close: &[String],
        allow: Option<&[String]>,
    ) -> Result<Rules, GlobError> {
        let allow = match allow {
            Some(globs) => globs
                .iter()
                .map(|glob| Glob::parse(glob))
                .collect::<Result<_, _>>()?,
            None => DEFAULT_ALLOW
                .into_iter()
                .map(Glob::parse)
                .collect::<Result<_, _>>()?,
        };
        Ok(Rules {
            open: open
                .iter()
                .map(|glob| OpenGlob::parse(glob))
                .collect::<Result<_, _>>()?,
            close: close
                .iter()
                .map(|glob| Glob::parse_ignoring_case(glob))
                .collect::<Result<_, _>>()
                .map(Globs::new)?,
            deny: Globs::default(),
            allow,
        })
    }

    /// Adds the rules of a manifest. They close paths, never open one, and extend what
    /// [`Rules::allows_reading`] admits.
    pub(super) fn with(&self, manifest: &Manifest) -> Rules {
        let mut rules = self.clone();
        rules.deny = manifest.deny().clone();
        rules.allow.extend_from_slice(manifest.allow());
        rules
    }

    /// Checks whether `path` exists for this project's readers. The root always does.
    ///
    /// # Errors
    /// [`Blocked`] if the path, or a folder above it, is hidden.
    pub fn check(&self, path: &RepoPath, kind: Kind) -> Result<(), Blocked> {
        self.block(path, kind).map_or(Ok(()), |_| Err(Blocked))
    }

    /// What hides `path`, if anything does.
    fn block<'a>(&self, path: &'a RepoPath, kind: Kind) -> Option<Block<'a>> {
        let mut parent: &[u8] = b"";
        for (prefix, name) in prefixes(path) {
            let is_last = prefix.len() == path.as_bytes().len();
            let prefix_kind = if is_last { kind } else { Kind::Directory };
            if name.eq_ignore_ascii_case(names::GIT.as_bytes()) {
                return Some(Block::Name(names::GIT));
            }
            if self.is_closed(prefix, prefix_kind) {
                return Some(Block::Glob(prefix, prefix_kind));
            }
            if let Some(pattern) = names::blocking(parent, name, prefix_kind)
                && !self.is_unblocked(prefix, path, kind)
            {
                return Some(Block::Name(pattern));
            }
            parent = name;
        }
        None
    }

    /// Whether `read_repo_file` may read this path; [`Rules::check`] applies as well.
    pub fn allows_reading(&self, path: &RepoPath) -> bool {
        self.allow.iter().any(|glob| glob.matches(path))
    }

    /// Whether a path that somebody wrote down is closed neither as a file nor as a folder.
    pub fn allows_naming(&self, path: &str) -> bool {
        let path = RepoPath::trusted(path.as_bytes());
        let allows = |kind| self.check(&path, kind).is_ok();
        allows(Kind::File) && allows(Kind::Directory)
    }

    fn is_closed(&self, prefix: &[u8], kind: Kind) -> bool {
        [&self.close, &self.deny].into_iter().any(|globs| {
            globs.matches(prefix)
                // `private/` also closes the folder itself, whose existence would show otherwise.
                || (kind == Kind::Directory && globs.matches_all_beneath(prefix))
        })
    }

    /// Whether the block of `prefix`, which is `path` or a folder above it, is lifted for `path`.
    fn is_unblocked(&self, prefix: &[u8], path: &RepoPath, kind: Kind) -> bool {
        self.open
            .iter()
            .any(|open| open.unblocks(prefix, path, kind))
    }
}

/// Every prefix of `path` that ends with a component, and that component, from the root down.
fn prefixes(path: &RepoPath) -> impl Iterator<Item = (&[u8], &[u8])> {
    let bytes = path.as_bytes();
    let mut end = 0;
    path.components().map(move |name| {
        end += name.len() + usize::from(end > 0);
        (bytes.get(..end).unwrap_or(bytes), name)
    })
}

/// An operator's glob that lifts blocks of names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OpenGlob {
    glob: Glob,
    /// The folders above what an anchored glob matches: `a`, `a/b` for `a/b/*.env`.
    parents: Vec<Glob>,
    /// Whether it can match at any depth beneath the last of them.
    recursive: bool,
}

impl OpenGlob {
    fn parse(text: &str) -> Result<OpenGlob, GlobError> {
        let glob = Glob::parse(text)?;
        let mut open = OpenGlob {
            glob,
            parents: Vec::new(),
            recursive: false,
        };
        if !open.glob.is_anchored() {
            return Ok(open);
        }
        let names: Vec<&str> = text.trim_matches('/').split('/').collect();
        let folders = if text.ends_with('/') {
            names.len()
        } else {
            names.len() - 1
        };
        let mut prefix = String::new();
        for name in names.iter().take(folders) {
            if *name == "**" {
                open.recursive = true;
                break;
            }
            prefix.push('/');
            prefix.push_str(name);
            // A prefix that cuts an alternate in two is not a glob: then any folder may be a
            // parent.
            match Glob::parse(&prefix) {
                Ok(folder) => open.parents.push(folder),
                Err(_) => open.recursive = true,
            }
        }
        open.recursive |= text.ends_with('/') || names.last() == Some(&"**");
        Ok(open)
    }

    fn unblocks(&self, prefix: &[u8], path: &RepoPath, kind: Kind) -> bool {
        let is_folder = kind == Kind::Directory || prefix.len() < path.as_bytes().len();
        if self.glob.matches_bytes(prefix) || (is_folder && self.glob.matches_all_beneath(prefix)) {
            return true;
        }
        if !self.glob.is_anchored() {
            return false;
        }
        // A glob that names a whole path opens it in spite of the folders above it.
        let mut deeper = prefixes(path).filter(|(longer, _)| longer.len() > prefix.len());
        deeper.any(|(prefix, _)| self.glob.matches_bytes(prefix))
            || (kind == Kind::Directory && self.may_match_beneath(path.as_bytes()))
    }

    /// Whether something beneath this folder may match, so that it has to be walked.
    fn may_match_beneath(&self, folder: &[u8]) -> bool {
        self.parents.iter().any(|glob| glob.matches_bytes(folder))
            || (self.recursive && self.is_below_parents(folder))
    }

    fn is_below_parents(&self, folder: &[u8]) -> bool {
        let Some(last) = self.parents.last() else {
            return true;
        };
        prefixes(&RepoPath::trusted(folder)).any(|(prefix, _)| last.matches_bytes(prefix))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules(open: &[&str], close: &[&str]) -> Rules {
        let owned = |globs: &[&str]| globs.iter().map(ToString::to_string).collect::<Vec<_>>();
        Rules::new(&owned(open), &owned(close), None).unwrap()
    }

    fn file(rules: &Rules, path: &str) -> bool {
        rules
            .check(&RepoPath::parse(path).unwrap(), Kind::File)
            .is_ok()
    }

    fn folder(rules: &Rules, path: &str) -> bool {
        rules
            .check(&RepoPath::parse(path).unwrap(), Kind::Directory)
            .is_ok()
    }

    #[test]
    fn blocked_names_are_blocked_at_any_depth_and_in_any_case() {
        let rules = rules(&[], &[]);
        for path in [
            ".git/config",
            "a/.GIT/HEAD",
            ".env",
            "x/.Env.local",
            "prod.env",
            ".envrc",
            "node_modules/a/b.js",
            "Secrets.txt",
            "secrets/x",
            "a/secrets-old/b",
            "server.key",
            "x.PEM",
            "id_rsa",
            "id_ed25519.pub",
            ".ssh/known_hosts",
            ".aws/config",
            ".kube/config",
            ".gnupg/x",
            ".docker/config.json",
            ".npmrc",
            ".pypirc",
            ".netrc",
            ".git-credentials",
            ".htpasswd",
            "a.p12",
            "a.pfx",
            "a.jks",
            "a.keystore",
            "a.kdbx",
            "a.tfstate",
            "a.tfvars",
            "a.tfstate.backup",
            "secret.yml",
            "secret.json",
            "credentials",
            "credentials.csv",
            "credentials.toml",
            "service-account-prod.json",
        ] {
            assert!(!file(&rules, path), "{path}");
        }
    }

    #[test]
    fn similar_names_are_open() {
        let rules = rules(&[], &[]);
        for path in [
            ".env.example",
            ".gitignore",
            ".github/workflows/ci.yml",
            "keys.rs",
            "env.rs",
            "src/secret.rs",
            "credentials/store.rs",
            "credentials.rs",
            "docker/config.json",
            "config.json",
            ".docker/daemon.json",
            "service-account.md",
            "monkey",
            ".env/bin/python",
        ] {
            assert!(file(&rules, path), "{path}");
        }
        assert!(
            !file(&rules, ".ENV.example"),
            "the exemption is that exact name"
        );
        assert!(folder(&rules, "credentials") && folder(&rules, ".env") && !folder(&rules, ".ssh"));
    }

    #[test]
    fn closing_hides_a_folder_and_everything_in_it() {
        let rules = rules(&[], &["private", "/legal/", "*.sql"]);
        assert!(
            !file(&rules, "a/private/x") && !folder(&rules, "PRIVATE") && !file(&rules, "q.sql")
        );
        assert!(
            !folder(&rules, "legal") && !file(&rules, "legal/a/b") && file(&rules, "x/legal/a")
        );
        assert!(file(&rules, "legal"), "a file of that name is not closed");
    }

    #[test]
    fn opening_lifts_blocked_names_and_closing_wins() {
        let rules = rules(&[".env.test", "secrets/", "*.key"], &["secrets/deep/"]);
        assert!(file(&rules, "a/.env.test") && file(&rules, "secrets/x") && file(&rules, "a.key"));
        assert!(folder(&rules, "secrets") && file(&rules, "a/secrets/.env"));
        assert!(!file(&rules, "secrets/deep/x") && !file(&rules, ".env"));
        assert!(
            !file(&rules, "node_modules/.env.test"),
            "a name opens no folder above it"
        );
    }

    #[test]
    fn opening_one_path_shows_the_folder_but_nothing_else_in_it() {
        let rules = rules(&["conf/secrets/public.txt", "/secrets/**/*.md"], &[]);
        assert!(file(&rules, "conf/secrets/public.txt") && folder(&rules, "conf/secrets"));
        assert!(!file(&rules, "conf/secrets/other.txt") && !folder(&rules, "conf/secrets/deep"));
        assert!(folder(&rules, "secrets/deep/er") && file(&rules, "secrets/deep/a.md"));
        assert!(!file(&rules, "secrets/deep/a.txt") && !folder(&rules, "other/secrets"));
    }

    #[test]
    fn nothing_opens_git() {
        let rules = rules(&[".git", "**/.git/**", "/"], &[]);
        assert!(!file(&rules, ".git/config") && !folder(&rules, "sub/.git"));
        assert!(file(&rules, ".env"), "everything else is opened");
    }

    #[test]
    fn reading_is_allowed_in_documentation_by_default() {
        let rules = rules(&[], &[]);
        let allows = |path: &str| rules.allows_reading(&RepoPath::parse(path).unwrap());
        assert!(allows("docs/a/b.md") && allows(".claude/memory/decisions.jsonl"));
        assert!(!allows("src/main.rs") && !allows("docs") && !allows("x/docs/a"));
    }

    proptest! {
        #[test]
        fn the_folders_of_a_visible_file_are_visible(
            path in "(a|secrets|\\.env|node_modules|b\\.key)(/(a|secrets|\\.env|x\\.md)){0,3}",
            open in "/?(\\*\\*/)?(a|secrets|\\*)(/(\\*\\*|a|\\*\\.md|\\.env))?/?",
            close in "(a|x\\.md|b/)",
        ) {
            let rules = rules(&[&open], &[&close]);
            if file(&rules, &path) {
                let mut above = path.as_str();
                while let Some((folder_path, _)) = above.rsplit_once('/') {
                    prop_assert!(folder(&rules, folder_path), "{folder_path} of {path}");
                    above = folder_path;
                }
            }
        }

        #[test]
        fn rules_without_globs_never_show_a_blocked_component(
            before in "[a-z]{1,3}", name in "(\\.git|node_modules|secrets[a-z]{0,2}|\\.ssh)",
            after in "[a-z]{1,3}",
        ) {
            let rules = rules(&[], &[]);
            let nested = format!("{before}/{name}/{after}");
            prop_assert!(!file(&rules, &nested) && !folder(&rules, &nested));
        }
    }
}
