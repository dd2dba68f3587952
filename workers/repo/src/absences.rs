//! Since when projects' folders are not there, as this worker found it.
//!
//! An absence begins when a folder is looked for in vain, and ends when it is found. What a reader
//! would get wrong: the time tells of this worker alone, and begins anew when it is started.

use std::time::SystemTime;

use moka::sync::Cache;
use tokio::time::Instant;

use super::error::{Absence, RepoError};

/// How many absences are remembered.
const MAX_ABSENCES: u64 = 10_000;

/// The folders that were looked for in vain the last time.
#[derive(Debug)]
pub(super) struct Absences(Cache<String, (SystemTime, Instant)>);

impl Absences {
    pub(super) fn new() -> Absences {
        Absences(Cache::new(MAX_ABSENCES))
    }

    /// What was found where a project's folder was looked for; an absence says since when.
    pub(super) fn record<T>(
        &self,
        tenant: &str,
        project: &str,
        found: Result<T, RepoError>,
    ) -> Result<T, RepoError> {
        // A slug has no slash in it.
        let key = format!("{tenant}/{project}");
        match found {
            Err(RepoError::NotMounted) => {
                let begin = || (SystemTime::now(), Instant::now());
                let (since, began) = self.0.get_with(key, begin);
                Err(RepoError::Absent {
                    project: project.to_owned(),
                    absence: Absence {
                        since,
                        lasts: began.elapsed(),
                    },
                })
            }
            found => {
                // Nearly all folders are there: a look costs less than to remove nothing.
                if self.0.contains_key(&key) {
                    self.0.invalidate(&key);
                }
                found
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Duration;

    use super::*;

    fn absence(absences: &Absences, project: &str) -> Absence {
        let found: Result<(), _> = Err(RepoError::NotMounted);
        match absences.record("acme", project, found) {
            Err(RepoError::Absent { absence, .. }) => absence,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_absence_lasts_from_the_first_look_until_the_folder_is_found() {
        let absences = Absences::new();
        let first = absence(&absences, "site");
        tokio::time::advance(Duration::from_secs(90)).await;
        let second = absence(&absences, "site");
        assert_eq!(second.since, first.since);
        assert_eq!(second.lasts - first.lasts, Duration::from_secs(90));
        assert_eq!(absence(&absences, "shop").lasts, Duration::ZERO);
        absences.record("acme", "site", Ok(())).unwrap();
        assert_eq!(absence(&absences, "site").lasts, Duration::ZERO);
    }
}
