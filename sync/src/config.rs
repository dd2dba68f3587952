//! How mirrors are made and bounded.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tokio::time::Duration;

use crate::credentials::Credentials;
use crate::git::{Git, RunLimits};
use crate::helper::Helper;
use crate::remote::{AllowedProtocols, Protocol};
use crate::volume::Volume;

/// What `archway sync` mirrors, and its bounds.
#[derive(Clone, Debug, clap::Args)]
pub struct SyncConfig {
    /// Folder of credentials: a file `NAME` has `token` or `user:token` for https, or a private key for ssh,
    /// with the hosts' keys in `NAME.known_hosts`. A tenant's own file `TENANT.NAME` comes first. Files are read at
    /// each use.
    #[arg(long, env = "ARCHWAY_CREDENTIALS", value_name = "DIR")]
    pub credentials: Option<PathBuf>,
    /// File of the ssh hosts' keys, for credentials without one of their own.
    #[arg(long, env = "ARCHWAY_KNOWN_HOSTS", value_name = "FILE")]
    pub known_hosts: Option<PathBuf>,
    /// Protocols besides https and ssh, separated by commas. They have no encryption.
    #[arg(
        long,
        env = "ARCHWAY_ALLOW_PROTOCOL",
        value_name = "PROTOCOL",
        value_delimiter = ','
    )]
    pub allow_protocol: Vec<Protocol>,
    /// The mirrors are this machine's own. Otherwise all processes of `archway sync` share one folder.
    #[arg(
        long,
        env = "ARCHWAY_SYNC_LOCAL",
        value_parser = clap::builder::BoolishValueParser::new()
    )]
    pub local: bool,
    /// Mirror only the projects of this pool's tenants. For mirrors of a worker's own (`--local`): its pool.
    #[arg(long, env = "ARCHWAY_POOL", value_name = "POOL")]
    pub pool: Option<String>,
    /// Runs at once.
    #[arg(long, env = "ARCHWAY_SYNC_AT_ONCE", value_name = "N", default_value = "8",
          value_parser = clap::value_parser!(u16).range(1..=256))]
    pub at_once: u16,
    /// Runs at once against one host.
    #[arg(long, env = "ARCHWAY_SYNC_PER_HOST", value_name = "N", default_value = "4",
          value_parser = clap::value_parser!(u16).range(1..=256))]
    pub per_host: u16,
    /// Seconds that the first clone of a repository may take.
    #[arg(long, env = "ARCHWAY_CLONE_TIMEOUT", value_name = "SECONDS", default_value = "1800",
          value_parser = clap::value_parser!(u64).range(10..=86_400))]
    pub clone_timeout: u64,
    /// Seconds that a fetch may take.
    #[arg(long, env = "ARCHWAY_FETCH_TIMEOUT", value_name = "SECONDS", default_value = "300",
          value_parser = clap::value_parser!(u64).range(10..=86_400))]
    pub fetch_timeout: u64,
    /// Seconds without a byte after which a run ends.
    #[arg(long, env = "ARCHWAY_SYNC_SILENCE", value_name = "SECONDS", default_value = "60",
          value_parser = clap::value_parser!(u64).range(5..=3_600))]
    pub silence: u64,
    /// The size of one mirror, in bytes, and at most `--volume-percent` of the volume. A larger repository is
    /// not mirrored, and an earlier state of it stays.
    #[arg(long, env = "ARCHWAY_MIRROR_BYTES", value_name = "BYTES", default_value_t = 20 << 30)]
    pub mirror_bytes: u64,
    /// Percent of the volume in use above which nothing new is cloned. Fetches go on until it is nearly full.
    #[arg(long, env = "ARCHWAY_VOLUME_PERCENT", value_name = "PERCENT", default_value = "80",
          value_parser = clap::value_parser!(u8).range(1..=100))]
    pub volume_percent: u8,
    /// The size of the volume in bytes, if it may use only a part of its file system [default: that of the file
    /// system].
    #[arg(long, env = "ARCHWAY_VOLUME_BYTES", value_name = "BYTES",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub volume_bytes: Option<u64>,
    /// Days for which the mirror of a project stays after the project went out of use.
    #[arg(long, env = "ARCHWAY_SYNC_KEEP", value_name = "DAYS", default_value = "7",
          value_parser = clap::value_parser!(u32).range(0..=3650))]
    pub keep: u32,
    /// Connections to the database.
    #[arg(long, env = "ARCHWAY_DATABASE_CONNECTIONS", value_name = "N", default_value = "4",
          value_parser = clap::value_parser!(u32).range(2..=64))]
    pub database_connections: u32,
    /// Where others reach the admin port: the host's name, and the address.
    #[arg(skip)]
    pub admin: Option<(String, SocketAddr)>,
    /// Whether http may be used on a loopback address, as in `archway dev`.
    #[arg(skip)]
    pub loopback_http: bool,
    /// The folder of git's program, if it is not to be looked for.
    #[arg(skip)]
    pub git_bin: Option<PathBuf>,
    /// What git calls for credentials and for ssh: this program.
    #[arg(skip)]
    pub helper: Helper,
}

impl Default for SyncConfig {
    fn default() -> Self {
        SyncConfig {
            credentials: None,
            known_hosts: None,
            allow_protocol: Vec::new(),
            local: false,
            at_once: 8,
            per_host: 4,
            clone_timeout: 1800,
            fetch_timeout: 300,
            silence: 60,
            mirror_bytes: 20 << 30,
            volume_percent: 80,
            keep: 7,
            pool: None,
            volume_bytes: None,
            database_connections: 4,
            admin: None,
            loopback_http: false,
            git_bin: None,
            helper: Helper::default(),
        }
    }
}

impl SyncConfig {
    /// Where credentials are.
    pub(crate) fn credentials(&self) -> Credentials {
        Credentials::new(self.credentials.clone(), self.known_hosts.clone())
    }

    /// The protocols that remotes may have.
    pub fn protocols(&self) -> AllowedProtocols {
        AllowedProtocols {
            more: self.allow_protocol.clone(),
            loopback_http: self.loopback_http,
        }
    }

    /// git's program, which writes below `repos`.
    pub fn git(&self, repos: &Path) -> Git {
        let git = Git::new(&self.protocols(), repos).with_helper(self.helper.clone());
        match &self.git_bin {
            Some(folder) => git.in_folder(folder),
            None => git,
        }
    }

    /// How long the mirror of a project stays after the project went out of use.
    pub(crate) fn keep(&self) -> Duration {
        Duration::from_secs(u64::from(self.keep) * 24 * 60 * 60)
    }

    /// How long a clone may take.
    pub(crate) fn clone_time(&self) -> Duration {
        Duration::from_secs(self.clone_timeout)
    }

    /// The limits of a run. No mirror may be larger than what all may have of the volume.
    pub(crate) fn limits(&self, is_new: bool, volume: &Volume) -> RunLimits {
        let seconds = if is_new {
            self.clone_timeout
        } else {
            self.fetch_timeout
        };
        RunLimits {
            time: Duration::from_secs(seconds),
            silence: Duration::from_secs(self.silence),
            bytes: (volume.part(self.volume_percent))
                .map_or(self.mirror_bytes, |part| part.min(self.mirror_bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        config: SyncConfig,
    }

    #[test]
    fn the_default_is_what_the_command_line_has_without_options() {
        let parsed = Arguments::parse_from(["sync"]).config;
        assert_eq!(
            format!("{parsed:?}"),
            format!("{:?}", SyncConfig::default())
        );
    }

    #[test]
    fn a_mirror_is_no_larger_than_what_all_may_have() {
        let bytes = |size| {
            let volume = Volume::new(Path::new("/nowhere"), size);
            SyncConfig::default().limits(true, &volume).bytes
        };
        assert_eq!(bytes(None), 20 << 30);
        assert_eq!(bytes(Some(100 << 30)), 20 << 30);
        assert_eq!(bytes(Some(1000)), 800);
    }
}
