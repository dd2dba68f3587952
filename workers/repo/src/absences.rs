//! When this worker first missed a project's folder.
//!
//! An absence begins when a folder is looked up and missing, and ends when it is found. The time is
//! this worker's own: it starts again when the worker restarts.

use std::time::SystemTime;

use moka::sync::Cache;
use tokio::time::Instant;

use super::error::{Absence, RepoError};

/// Maximum number of absences kept.
const MAX_ABSENCES: u64 = 10_000;

/// The folders that were missing at their last lookup.
#[derive(Debug)]
pub(super) struct Absences(Cache<String, (SystemTime, Instant)>);

impl Absences {
    pub(super) fn new() -> Absences {
        Absences(Cache::new(MAX_ABSENCES))
    }

    /// Records the outcome of a lookup, and adds to a missing folder since when it is missing.
    pub(super) fn record<T>(
        &self,
        tenant: &str,
        project: &str,
        found: Result<T, RepoError>,
    ) -> Result<T, RepoError> {
        // Slugs contain no slash.
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
                // Nearly all folders exist, and this check is cheaper than removing nothing.
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
    async fn an_absence_lasts_from_the_first_miss_until_the_folder_is_found() {
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
