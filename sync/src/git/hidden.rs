//! What git's words may not show of this machine and of a run's credential.

use std::path::{Path, PathBuf};
use std::{env, fs};

use super::{Git, Transport};
use crate::failure::Hidden;

impl Git {
    /// What is hidden in the words of a run.
    pub(super) fn hidden(&self, transport: Option<&Transport<'_>>) -> Hidden {
        let mut paths = vec![self.repos.clone(), env::temp_dir()];
        paths.extend(env::home_dir());
        paths.extend(self.helper.program().parent().map(Path::to_owned));
        if let Some(transport) = transport {
            paths.extend(transport.ca_file.map(Path::to_owned));
            let known_hosts = transport
                .ssh
                .and_then(|(_, option)| option.split('"').nth(1));
            let known_hosts = known_hosts.and_then(|file| Path::new(file).parent());
            paths.extend(known_hosts.map(Path::to_owned));
        }
        // git resolves links in some of them.
        let real: Vec<PathBuf> = paths.iter().flat_map(fs::canonicalize).collect();
        let hidden = Hidden::of_paths(paths.iter().chain(&real).map(PathBuf::as_path));
        match transport.and_then(|transport| transport.https) {
            Some(credential) => hidden.with_credential(credential),
            None => hidden,
        }
    }
}
