//! Finds PostgreSQL's server programs on this machine.
//!
//! Debian, Ubuntu and Homebrew install them outside of PATH, in a folder per major version. A cluster
//! can only be opened by the major version that created it. So an existing cluster determines the
//! version, and a new one gets the newest.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest major version that the migrations are tested with.
const OLDEST: u32 = 15;

/// Patterns of folders: each match of `<parent>/<prefix>*/<suffix>` may contain the programs.
const FOLDERS: [(&str, &str, &str); 9] = [
    ("/usr/lib/postgresql", "", "bin"),         // Debian, Ubuntu
    ("/usr", "pgsql-", "bin"),                  // PostgreSQL's own RPMs
    ("/usr/lib", "postgresql", "bin"),          // openSUSE
    ("/usr/libexec", "postgresql", ""),         // Alpine
    ("/opt/homebrew/opt", "postgresql", "bin"), // Homebrew on Apple silicon
    ("/usr/local/opt", "postgresql", "bin"),    // Homebrew on Intel
    ("/home/linuxbrew/.linuxbrew/opt", "postgresql", "bin"),
    ("/Applications/Postgres.app/Contents/Versions", "", "bin"),
    ("/usr/local", "pgsql", "bin"), // built from source
];

/// A folder with `initdb` and `postgres` of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binaries {
    folder: PathBuf,
    major: u32,
}

/// Why no server program was chosen.
#[derive(Debug, thiserror::Error)]
pub enum BinariesError {
    /// The machine has none.
    #[error(
        "no PostgreSQL server (version {OLDEST} or newer) was found on this machine\n\
         \n    install one:            {install}\
          \n    or name its folder:     --postgres-bin DIR (the folder with initdb and postgres)\
         \n    or use another server:  --database-url postgres://user:password@host/database"
    )]
    NotFound {
        /// The command that installs one here.
        install: &'static str,
    },
    /// The named folder has no usable programs.
    #[error("{} has no initdb and postgres of version {OLDEST} or newer that run here", .0.display())]
    Named(PathBuf),
    /// Another version created the cluster.
    #[error(
        "the data was written by PostgreSQL {wanted}, and this machine has {}; install version \
         {wanted}, or choose a new data folder with --data",
        list(found)
    )]
    OtherVersion {
        /// The version that can read the cluster.
        wanted: u32,
        /// The versions found.
        found: Vec<u32>,
    },
}

impl Binaries {
    /// The programs in `named`, else the newest in PATH and the usual places; of major version
    /// `wanted`, if a cluster requires one.
    pub(super) fn find(named: Option<&Path>, wanted: Option<u32>) -> Result<Self, BinariesError> {
        let found: Vec<Binaries> = match named {
            Some(folder) => {
                let named = Binaries::at(folder);
                vec![named.ok_or_else(|| BinariesError::Named(folder.to_owned()))?]
            }
            None => candidates()
                .iter()
                .filter_map(|folder| Binaries::at(folder))
                .collect(),
        };
        choose(found, wanted)
    }

    /// The path of one program.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn at(folder: &Path) -> Option<Self> {
        let postgres = folder.join("postgres");
        if !postgres.is_file() || !folder.join("initdb").is_file() {
            return None;
        }
        let output = Command::new(postgres).arg("--version").output().ok()?;
        let major = major_version(&String::from_utf8_lossy(&output.stdout))?;
        (major >= OLDEST).then(|| Binaries {
            folder: folder.to_owned(),
            major,
        })
    }
}

fn choose(found: Vec<Binaries>, wanted: Option<u32>) -> Result<Binaries, BinariesError> {
    let Some(wanted) = wanted else {
        // The first of equals wins: PATH precedes the usual places.
        let newest = found
            .into_iter()
            .reduce(|a, b| if b.major > a.major { b } else { a });
        return newest.ok_or_else(|| BinariesError::NotFound {
            install: install_command(),
        });
    };
    let versions = found
        .iter()
        .map(|binaries| binaries.major)
        .collect::<Vec<_>>();
    match found.into_iter().find(|binaries| binaries.major == wanted) {
        Some(binaries) => Ok(binaries),
        None if versions.is_empty() => Err(BinariesError::NotFound {
            install: install_command(),
        }),
        None => Err(BinariesError::OtherVersion {
            wanted,
            found: versions,
        }),
    }
}

fn candidates() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    for (parent, prefix, suffix) in FOLDERS {
        let Ok(entries) = std::fs::read_dir(parent) else {
            continue;
        };
        let named = entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
            .map(|entry| entry.path().join(suffix));
        folders.extend(named);
    }
    folders
}

/// `postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)`, `… 18beta1`.
fn major_version(text: &str) -> Option<u32> {
    let (_, version) = text.split_once("(PostgreSQL) ")?;
    version
        .split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

fn list(versions: &[u32]) -> String {
    versions
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn install_command() -> &'static str {
    if cfg!(target_os = "macos") {
        return "brew install postgresql@17";
    }
    command_for(&std::fs::read_to_string("/etc/os-release").unwrap_or_default())
}

/// Chosen by `ID` and `ID_LIKE` of os-release(5), the most specific first.
fn command_for(os_release: &str) -> &'static str {
    let value = |key: &str| {
        let line = os_release
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_default()
            .trim_matches(['"', '\''])
            .to_owned()
    };
    let names = format!("{} {}", value("ID"), value("ID_LIKE"));
    let known = names.split_whitespace().find_map(|name| match name {
        "debian" | "ubuntu" => Some("sudo apt-get install -y postgresql"),
        "fedora" | "rhel" | "centos" => Some("sudo dnf install -y postgresql-server"),
        "arch" => Some("sudo pacman -S --noconfirm postgresql"),
        "alpine" => Some("sudo apk add postgresql"),
        "suse" | "opensuse" => Some("sudo zypper install -y postgresql-server"),
        "nixos" => Some("nix profile install nixpkgs#postgresql"),
        _ => None,
    });
    known.unwrap_or("your system's package manager has it as `postgresql` or `postgresql-server`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(versions: &[(&str, u32)]) -> Vec<Binaries> {
        let at = |&(folder, major): &(&str, u32)| Binaries {
            folder: folder.into(),
            major,
        };
        versions.iter().map(at).collect()
    }

    #[test]
    fn version_strings_of_all_packagers_are_parsed() {
        let debian = "postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)\n";
        assert_eq!(major_version(debian), Some(15));
        assert_eq!(
            major_version("postgres (PostgreSQL) 17.2 (Homebrew)"),
            Some(17)
        );
        assert_eq!(major_version("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major_version("mysqld 8.0"), None);
    }

    #[test]
    fn a_new_cluster_gets_the_newest_version_and_an_old_one_its_own() {
        let all = found(&[
            ("/path", 16),
            ("/usr/lib/postgresql/15/bin", 15),
            ("/twin", 16),
        ]);
        let chosen = |wanted| choose(all.clone(), wanted).unwrap().folder;
        assert_eq!(chosen(None), PathBuf::from("/path"));
        assert_eq!(
            chosen(Some(15)),
            PathBuf::from("/usr/lib/postgresql/15/bin")
        );
        let refusal = choose(all, Some(14)).unwrap_err().to_string();
        assert!(refusal.contains("written by PostgreSQL 14"), "{refusal}");
        assert!(refusal.contains("has 16, 15, 16"), "{refusal}");
    }

    #[test]
    fn the_error_names_the_alternatives() {
        let refusal = choose(Vec::new(), None).unwrap_err().to_string();
        assert!(refusal.contains("--database-url"), "{refusal}");
    }

    #[test]
    fn the_install_command_fits_the_system() {
        assert!(command_for("ID=debian\n").starts_with("sudo apt-get"));
        assert!(
            command_for("NAME=x\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n").contains("apt-get")
        );
        assert!(command_for("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n").contains("dnf"));
        assert!(command_for("ID=alpine\n").contains("apk"));
        assert!(command_for("ID=manjaro\nID_LIKE=arch\n").contains("pacman"));
        assert!(
            command_for("ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n").contains("zypper")
        );
        assert!(command_for("").contains("package manager"));
    }

    #[test]
    fn a_named_folder_without_programs_is_refused() {
        let empty = tempfile::tempdir().unwrap();
        let refusal = Binaries::find(Some(empty.path()), None).unwrap_err();
        assert!(matches!(refusal, BinariesError::Named(_)));
    }
}
