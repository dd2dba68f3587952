//! What identifies a project, and names its cached data.

use super::error::RepoError;
use super::mounts::Located;

/// Identifies a project: its names, and the device and inode of its folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    tenant: String,
    project: String,
    device: u64,
    inode: u64,
}

impl Key {
    pub(super) fn of(tenant: &str, project: &str, located: &Located) -> Result<Key, RepoError> {
        let stat = rustix::fs::fstat(&located.folder).map_err(|errno| RepoError::Io {
            what: "reading a project's folder",
            source: errno.into(),
        })?;
        let (tenant, project) = (tenant.to_owned(), project.to_owned());
        Ok(Key {
            tenant,
            project,
            device: stat.st_dev,
            inode: stat.st_ino,
        })
    }

    /// The device of the project's folder.
    pub(super) fn device(&self) -> u64 {
        self.device
    }

    /// The key of the project's repository. It stays the same while work trees come and go, one for
    /// each commit, as git-sync creates them.
    pub fn of_repository(&self, git: &gix::Repository) -> Key {
        let objects = rustix::fs::stat(git.objects.store_ref().path());
        let (device, inode) = objects.map_or((self.device, self.inode), |objects| {
            (objects.st_dev, objects.st_ino)
        });
        Key {
            device,
            inode,
            ..self.clone()
        }
    }

    /// The key of the search index of this folder, or of its repository: projects of one tenant that
    /// share a repository share its index.
    pub(super) fn of_index(&self, git: Option<&gix::Repository>) -> Key {
        Key {
            project: String::new(),
            ..git.map_or_else(|| self.clone(), |git| self.of_repository(git))
        }
    }

    /// A file name for cached data of the tenant's projects.
    pub(super) fn tenant_fingerprint(&self) -> String {
        let tenant = Key {
            project: String::new(),
            device: 0,
            inode: 0,
            ..self.clone()
        };
        tenant.fingerprint()
    }

    pub(super) fn project(&self) -> &str {
        &self.project
    }

    pub(super) fn tenant(&self) -> &str {
        &self.tenant
    }

    /// A file name for cached data of this project: 40 hexadecimal digits that reveal neither
    /// tenant nor project. Folders mounted one after the other at the same path get different
    /// fingerprints.
    pub fn fingerprint(&self) -> String {
        let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
        for name in [&self.tenant, &self.project] {
            hasher.update(&name.len().to_be_bytes());
            hasher.update(name.as_bytes());
        }
        hasher.update(&self.device.to_be_bytes());
        hasher.update(&self.inode.to_be_bytes());
        let hash = hasher.try_finalize();
        hash.map_or_else(
            |_| format!("{}-{}", self.device, self.inode),
            |hash| hash.to_string(),
        )
    }
}
