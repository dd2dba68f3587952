//! What a list over several projects says beside what it lists.

use archway_proto::{failure::Failure, fault::Fault};

use super::Shelf;
use crate::{context::Snapshot, tools::Reply};

/// What was noted on the way through the projects.
#[derive(Default)]
pub(crate) struct Said {
    skipped: Vec<String>,
    warnings: Vec<String>,
    /// Each project that was read, and its commit.
    read: Vec<(String, Option<String>)>,
    moved: bool,
}

impl Said {
    /// Says that something is left out, and why.
    pub(crate) fn skip(&mut self, shelf: &Shelf, sentence: &str) {
        self.skipped.push(shelf.say(sentence));
    }

    /// Says what is left out that is no project's.
    pub(crate) fn own(&mut self, sentences: Vec<String>) {
        self.skipped.extend(sentences);
    }

    /// Takes note of how a project was read. `None` for one that could not be: the others are
    /// listed all the same.
    ///
    /// # Errors
    /// If the whole list can't go on.
    pub(crate) fn of<T>(
        &mut self,
        shelf: &Shelf,
        found: Result<Snapshot<T>, Failure>,
    ) -> Result<Option<T>, Failure> {
        match found {
            Ok(found) => {
                let warnings = found.repo.warnings().iter();
                self.warnings.extend(warnings.map(|it| shelf.say(it)));
                let commit = found.repo.head().map(|head| head.commit);
                self.read.push((shelf.project.slug.clone(), commit));
                self.moved |= found.moved;
                Ok(Some(found.value))
            }
            Err(failure) => match failure.code {
                Fault::DeadlineExceeded | Fault::InvalidArguments => Err(failure),
                _ => {
                    let slug = &shelf.project.slug;
                    let why = format!("the project {slug} is left out: {}", failure.message);
                    self.skipped.push(why);
                    Ok(None)
                }
            },
        }
    }

    /// What is left out so far.
    pub(crate) fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// The list with all that. It names project and commit if it was read from one project.
    pub(crate) fn with<T: serde::Serialize>(self, reply: Reply<T>) -> Reply<T> {
        let (project, commit) = match <[_; 1]>::try_from(self.read) {
            Ok([(project, commit)]) => (Some(project), commit),
            Err(_none_or_several) => (None, None),
        };
        let reply = reply.project(project.as_deref());
        let reply = reply.as_of(commit).moved(self.moved);
        reply.skipped(self.skipped).warn(self.warnings)
    }
}

impl Shelf {
    /// A sentence about the project, which is named unless it is the default.
    fn say(&self, sentence: &str) -> String {
        match &self.prefix {
            Some(project) => format!("{project}: {sentence}"),
            None => sentence.to_owned(),
        }
    }
}
