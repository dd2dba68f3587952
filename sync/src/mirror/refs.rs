//! The refs of a mirror, and what has to change for it to be as its remote.

use std::collections::BTreeMap;

/// Where a fetch puts the remote's refs: nothing there is served, so a fetch that fails changes nothing.
pub(super) const FETCHED: &str = "refs/archway/";

/// What HEAD is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// A branch, by its full name, whether it exists or not.
    Branch(String),
    /// A commit.
    Commit(String),
}

/// The refs of a mirror.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refs {
    pub(super) head: Head,
    /// Object ids of what is served: branches and tags by their full names.
    pub(super) served: BTreeMap<String, String>,
    /// The same of what the last fetch found.
    pub(super) fetched: BTreeMap<String, String>,
    /// The object that the remote's HEAD names.
    pub(super) fetched_head: Option<String>,
}

impl Head {
    /// Reads the file `HEAD`.
    pub(super) fn parse(file: &str) -> Head {
        let text = file.trim();
        match text.strip_prefix("ref: ") {
            Some(branch) => Head::Branch(branch.to_owned()),
            None => Head::Commit(text.to_owned()),
        }
    }
}

impl Refs {
    /// Reads `git for-each-ref --format='%(objectname) %(refname)'` and what HEAD is.
    pub(super) fn parse(list: &str, head: Head) -> Refs {
        let mut refs = Refs {
            head,
            served: BTreeMap::new(),
            fetched: BTreeMap::new(),
            fetched_head: None,
        };
        for line in list.lines() {
            let Some((id, name)) = line.split_once(' ') else {
                continue;
            };
            let (id, name) = (id.to_owned(), name.to_owned());
            match name.strip_prefix(FETCHED) {
                Some("HEAD") => refs.fetched_head = Some(id),
                Some(rest) => _ = refs.fetched.insert(format!("refs/{rest}"), id),
                None => _ = refs.served.insert(name, id),
            }
        }
        refs
    }

    /// Whether what is served is what was fetched.
    pub(super) fn are_published(&self) -> bool {
        self.served == self.fetched
    }

    /// Commands for `git update-ref --stdin` that remove what the remote no longer has.
    pub(super) fn deletions(&self) -> String {
        let gone = self
            .served
            .iter()
            .filter(|(name, _)| !self.fetched.contains_key(*name));
        gone.map(|(name, id)| format!("delete {name} {id}\n"))
            .collect()
    }

    /// Commands that create and move what the remote has.
    pub(super) fn updates(&self) -> String {
        let new = self
            .fetched
            .iter()
            .filter(|(name, id)| self.served.get(*name) != Some(id));
        new.map(|(name, id)| format!("update {name} {id}\n"))
            .collect()
    }

    /// The object of the branch that HEAD names, as it is served.
    pub(super) fn served_head(&self) -> Option<&String> {
        match &self.head {
            Head::Branch(name) => self.served.get(name),
            Head::Commit(id) => Some(id),
        }
    }

    /// What HEAD has to be for a source that names this ref. `None` if it is no branch, or if the remote has
    /// to be asked for the name of its default branch.
    pub(super) fn head_for(&self, reference: Option<&str>) -> Option<Head> {
        let Some(reference) = reference else {
            return self.default_branch();
        };
        let branch = format!("refs/heads/{reference}");
        let exists = self.fetched.contains_key(&branch);
        exists.then_some(Head::Branch(branch))
    }

    /// The branch to serve of a remote whose HEAD names none: the one that is served, else `main`, `master`, or the
    /// first.
    pub(super) fn likely_branch(&self) -> Option<Head> {
        let served = match &self.head {
            Head::Branch(name) => Some(name.as_str()),
            Head::Commit(_) => None,
        };
        let branches = || self.fetched.keys().map(String::as_str);
        let first = branches().find(|name| name.starts_with("refs/heads/"));
        let usual = [Some("refs/heads/main"), Some("refs/heads/master")];
        let names = [served].into_iter().chain(usual).chain([first]);
        let mut found = names
            .flatten()
            .filter(|name| self.fetched.contains_key(*name));
        found.next().map(|name| Head::Branch(name.to_owned()))
    }

    /// The branch that HEAD names already, if the remote's HEAD has the same commit.
    fn default_branch(&self) -> Option<Head> {
        let Head::Branch(name) = &self.head else {
            return None;
        };
        let is_same = self.fetched.get(name) == Some(self.fetched_head.as_ref()?);
        is_same.then(|| self.head.clone())
    }
}

/// The branch that HEAD names in the output of `git ls-remote --symref URL HEAD`.
pub(super) fn symref(list: &str) -> Option<Head> {
    let mut lines = list.lines().filter_map(|line| line.strip_prefix("ref: "));
    let (branch, _) =
        lines.find_map(|line| line.split_once('\t').filter(|(_, of)| *of == "HEAD"))?;
    branch
        .starts_with("refs/heads/")
        .then(|| Head::Branch(branch.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main() -> Head {
        Head::Branch("refs/heads/main".to_owned())
    }

    #[test]
    fn what_changed_becomes_deletions_and_updates() {
        let list = "1 refs/heads/main\n1 refs/heads/old\n9 refs/tags/v1\n2 refs/archway/heads/main\n\
                    3 refs/archway/heads/new\n9 refs/archway/tags/v1\n2 refs/archway/HEAD\n";
        let refs = Refs::parse(list, main());
        assert_eq!(refs.deletions(), "delete refs/heads/old 1\n");
        assert_eq!(
            refs.updates(),
            "update refs/heads/main 2\nupdate refs/heads/new 3\n"
        );
        assert!(!refs.are_published());
        assert_eq!(refs.head_for(None), Some(main()));
        assert_eq!(refs.served_head().unwrap(), "1");
    }

    #[test]
    fn head_is_the_branch_or_the_default_that_the_source_names() {
        let list = "2 refs/archway/heads/main\n3 refs/archway/heads/new\n9 refs/archway/tags/v1\n3 refs/archway/HEAD\n";
        let refs = Refs::parse(list, main());
        assert_eq!(
            refs.head_for(None),
            None,
            "the default branch has another name now"
        );
        assert_eq!(
            refs.head_for(Some("new")),
            Some(Head::Branch("refs/heads/new".to_owned()))
        );
        assert_eq!(refs.head_for(Some("gone")), None);
    }

    #[test]
    fn only_a_branch_is_taken_for_the_remotes_head() {
        assert_eq!(
            symref("ref: refs/heads/main\tHEAD\n1\tHEAD\n"),
            Some(main())
        );
        for other in [
            "",
            "1\tHEAD\n",
            "ref: refs/pull/1\tHEAD\n",
            "ref: refs/heads/x\tOTHER\n",
        ] {
            assert_eq!(symref(other), None, "{other}");
        }
    }
}
