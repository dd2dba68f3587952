//! Which of a host's repositories a connection serves.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

use super::{
    repository::HostEntry, settings::ConnectionSettings, settings_error::SettingsError, text,
};

const MOST_ENTRIES: usize = 100;
const LONGEST_GLOB: usize = 200;
const LONGEST_TOPIC: usize = 255;

/// Why a repository that a host lists is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exclusion {
    /// It is archived.
    Archived,
    /// It is a fork.
    Fork,
    /// Its name is not included, or is excluded.
    Name,
    /// It has none of the topics.
    Topic,
    /// Its name or its clone URL cannot be used, or the URL is not on the connection's host.
    Unusable,
}

impl Exclusion {
    /// Its name in answers and in the database.
    pub fn name(self) -> &'static str {
        match self {
            Exclusion::Archived => "archived",
            Exclusion::Fork => "fork",
            Exclusion::Name => "excluded",
            Exclusion::Topic => "topic",
            Exclusion::Unusable => "unusable",
        }
    }
}

/// The checked filters of a connection.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    include: GlobSet,
    exclude: GlobSet,
    archived: bool,
    forks: bool,
    /// In lower case.
    topics: Vec<String>,
}

impl Filter {
    pub(super) fn new(settings: &ConnectionSettings) -> Result<Filter, SettingsError> {
        if settings.include.is_empty() {
            return Err(SettingsError::Entries("include"));
        }
        if settings.topics.len() > MOST_ENTRIES {
            return Err(SettingsError::Entries("topics"));
        }
        let is_topic = |topic: &String| text::is_plain(topic, LONGEST_TOPIC);
        if let Some(index) = settings.topics.iter().position(|topic| !is_topic(topic)) {
            return Err(SettingsError::Topic(index + 1));
        }
        let topics = settings.topics.iter().map(|topic| topic.to_lowercase());
        Ok(Filter {
            include: globs("include", &settings.include)?,
            exclude: globs("exclude", &settings.exclude)?,
            archived: settings.archived,
            forks: settings.forks,
            topics: topics.collect(),
        })
    }

    /// Why the repository is not served, if it is not. `below` is its path below the owner.
    pub(super) fn exclusion(&self, entry: &HostEntry, below: &str) -> Option<Exclusion> {
        let has_topic = |topic: &String| self.topics.contains(&topic.to_lowercase());
        if !self.takes_name(below) {
            Some(Exclusion::Name)
        } else if entry.archived && !self.archived {
            Some(Exclusion::Archived)
        } else if entry.fork && !self.forks {
            Some(Exclusion::Fork)
        } else if !self.topics.is_empty() && !entry.topics.iter().any(has_topic) {
            Some(Exclusion::Topic)
        } else {
            None
        }
    }

    /// By the last part of the path, or by all of it.
    pub(super) fn takes_name(&self, below: &str) -> bool {
        let name = below.rsplit('/').next().unwrap_or(below);
        let matches = |globs: &GlobSet| globs.is_match(name) || globs.is_match(below);
        matches(&self.include) && !matches(&self.exclude)
    }
}

fn globs(field: &'static str, written: &[String]) -> Result<GlobSet, SettingsError> {
    if written.len() > MOST_ENTRIES {
        return Err(SettingsError::Entries(field));
    }
    let mut set = GlobSetBuilder::new();
    for (index, glob) in written.iter().enumerate() {
        let number = index + 1;
        let refused = SettingsError::Glob { field, number };
        let glob = Some(glob).filter(|glob| text::is_plain(glob, LONGEST_GLOB));
        let glob = glob.map(|glob| GlobBuilder::new(glob).case_insensitive(true).build());
        match glob {
            Some(Ok(glob)) => _ = set.add(glob),
            Some(Err(_)) | None => return Err(refused),
        }
    }
    set.build()
        .map_err(|_too_large| SettingsError::Entries(field))
}
