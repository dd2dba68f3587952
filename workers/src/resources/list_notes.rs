//! The notes of a list over several projects: warnings, skipped items, commits.

use archway_proto::{failure::Failure, fault::Fault};

use super::PageProject;
use crate::{context::Snapshot, tools::Reply};

/// The notes collected while projects are read.
#[derive(Default)]
pub(crate) struct ListNotes {
    skipped: Vec<String>,
    warnings: Vec<String>,
    /// Each project that was read, and its commit.
    read: Vec<(String, Option<String>)>,
    moved: bool,
}

impl ListNotes {
    /// Adds something that was left out, and why.
    pub(crate) fn skip(&mut self, entry: &PageProject, sentence: &str) {
        self.skipped.push(entry.prefixed(sentence));
    }

    /// Records how a project was read. Returns `None` if it could not be read: the others are
    /// listed all the same.
    ///
    /// # Errors
    /// If the whole list must fail.
    pub(crate) fn record<T>(
        &mut self,
        entry: &PageProject,
        snapshot: Result<Snapshot<T>, Failure>,
    ) -> Result<Option<T>, Failure> {
        match snapshot {
            Ok(snapshot) => {
                let warnings = snapshot.repo.warnings().iter();
                self.warnings.extend(warnings.map(|it| entry.prefixed(it)));
                let commit = snapshot.repo.head().map(|head| head.commit);
                self.read.push((entry.project.slug.clone(), commit));
                self.moved |= snapshot.moved;
                Ok(Some(snapshot.value))
            }
            Err(failure) => match failure.code {
                Fault::DeadlineExceeded | Fault::InvalidArguments => Err(failure),
                _ => {
                    let slug = &entry.project.slug;
                    let why = format!("the project {slug} is left out: {}", failure.message);
                    self.skipped.push(why);
                    Ok(None)
                }
            },
        }
    }

    /// Sentences about the items left out so far.
    pub(crate) fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// Adds the notes to the reply, with project and commit if exactly one project was read.
    pub(crate) fn attach_to<T: serde::Serialize>(self, reply: Reply<T>) -> Reply<T> {
        let (project, commit) = match <[_; 1]>::try_from(self.read) {
            Ok([(project, commit)]) => (Some(project), commit),
            Err(_none_or_several) => (None, None),
        };
        let reply = reply.project(project.as_deref());
        let reply = reply.as_of(commit).moved(self.moved);
        reply.skipped(self.skipped).warn(self.warnings)
    }
}

impl PageProject {
    /// Prefixes a sentence with the project, unless that is the default.
    fn prefixed(&self, sentence: &str) -> String {
        match &self.prefix {
            Some(project) => format!("{project}: {sentence}"),
            None => sentence.to_owned(),
        }
    }
}
