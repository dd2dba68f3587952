//! Notices projects that `archway project add` gives to a running `dev`.
//!
//! The command writes the folder into the data folder, then the project into the database, which notifies. Nothing
//! is polled. While the database is down nothing can be added, and afterwards everything is read once.

use std::path::PathBuf;
use std::time::Duration;

use archway_proto::chain::Chain;
use sqlx::PgPool;
use sqlx::postgres::PgListener;

use super::mirrors::GitAbsence;
use super::projects::Project;
use super::seed::SeedError;
use super::served;
use crate::tenants::Tenants;

/// The channel of notifications that a project was added, changed or removed.
const CHANNEL: &str = "archway_projects";
/// Pause before a new connection.
const RETRY: Duration = Duration::from_secs(2);

/// Folders that are added.
pub(super) struct FolderChanges {
    owner: PgPool,
    data: PathBuf,
    listener: Option<PgListener>,
    /// The last folders that were returned, unless they are served: they are not tried again.
    tried: Vec<Project>,
    git_absence: GitAbsence,
    /// Whether the log says that mirrors need git.
    is_told: bool,
}

impl FolderChanges {
    /// Folders of the `dev` with this data and database.
    pub(super) fn new(owner: PgPool, data: PathBuf, git_absence: GitAbsence) -> FolderChanges {
        FolderChanges {
            owner,
            data,
            listener: None,
            tried: Vec::new(),
            git_absence,
            is_told: false,
        }
    }

    /// Waits until there is a folder to serve that is not `linked`. Returns all that are to be served.
    pub(super) async fn next(&mut self, linked: &[Project]) -> Vec<Project> {
        loop {
            self.changed().await;
            match self.read().await {
                Ok((folders, has_mirrors)) => {
                    self.tell_of_git(has_mirrors);
                    let is_new = |folder: &Project| !linked.contains(folder);
                    if folders.iter().any(is_new) && folders != self.tried {
                        self.tried = folders.clone();
                        return folders;
                    }
                }
                Err(error) => {
                    let error = Chain(&error).to_string();
                    tracing::warn!(error, "the folders to serve could not be read");
                }
            }
        }
    }

    /// The folders that were returned last are served.
    pub(super) fn are_served(&mut self) {
        self.tried.clear();
    }

    /// Closes its connections.
    pub(super) async fn close(self) {
        drop(self.listener);
        self.owner.close().await;
    }

    /// Waits for a notification, or for a new connection: notifications may have been missed before.
    async fn changed(&mut self) {
        loop {
            if let Some(listener) = &mut self.listener {
                match listener.try_recv().await {
                    Ok(Some(_)) => {
                        // A command changes several rows.
                        while let Some(_more) = listener.next_buffered() {}
                        return;
                    }
                    Ok(None) | Err(_) => self.listener = None,
                }
            }
            match self.listen().await {
                Ok(listener) => {
                    self.listener = Some(listener);
                    return;
                }
                Err(_database_is_down) => tokio::time::sleep(RETRY).await,
            }
        }
    }

    async fn listen(&self) -> Result<PgListener, sqlx::Error> {
        let mut listener = PgListener::connect_with(&self.owner).await?;
        listener.listen(CHANNEL).await?;
        Ok(listener)
    }

    /// The folders to serve, and whether there are mirrors.
    async fn read(&self) -> Result<(Vec<Project>, bool), SeedError> {
        let mut tx = Tenants::new(self.owner.clone()).read().await?;
        served::now(&mut tx, &self.data).await
    }

    /// Logs once that git is missing, if there are mirrors.
    fn tell_of_git(&mut self, has_mirrors: bool) {
        let absence = self.git_absence.lock().clone();
        if let (Some(error), true, false) = (absence, has_mirrors, self.is_told) {
            tracing::warn!(error, "repositories by URL are not fetched");
            self.is_told = true;
        }
    }
}
