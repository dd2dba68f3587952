//! Which hosts ssh knows.

use std::path::Path;

use super::SshError;

/// ssh's option that names the file of known hosts.
///
/// # Errors
/// [`SshError::KnownHosts`] for a path that ssh would read as another.
pub fn known_hosts_option(known_hosts: &Path) -> Result<String, SshError> {
    let path = known_hosts.to_str().ok_or(SshError::KnownHosts)?;
    let is_bad = |c: char| c.is_control() || matches!(c, '"' | '\\' | '$');
    if !known_hosts.is_absolute() || path.contains(is_bad) {
        return Err(SshError::KnownHosts);
    }
    // ssh splits the value at spaces outside of quotes and expands `%`.
    Ok(format!(
        "-oUserKnownHostsFile=\"{}\"",
        path.replace('%', "%%")
    ))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::helper::SSH_OPTIONS;

    /// The file of known hosts that ssh would read, by its own words.
    fn as_ssh_reads_it(path: &str) -> String {
        let mut command = Command::new("ssh");
        command.args(SSH_OPTIONS);
        command.arg(known_hosts_option(Path::new(path)).unwrap());
        let output = command.args(["-G", "host.example"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        for setting in [
            "batchmode yes",
            "stricthostkeychecking true",
            "globalknownhostsfile /dev/null",
            "identityfile none",
            "identitiesonly no",
            "passwordauthentication no",
            "forwardagent no",
            "updatehostkeys false",
            "serveraliveinterval 15",
        ] {
            assert!(
                text.lines().any(|line| line == setting),
                "{setting}: {text}"
            );
        }
        let mut lines = text.lines();
        let file = lines.find_map(|line| line.strip_prefix("userknownhostsfile "));
        file.unwrap().to_owned()
    }

    #[test]
    fn ssh_reads_the_named_file_whatever_its_name() {
        for path in [
            "/srv/keys/a.known_hosts",
            "/srv/my keys/a b",
            "/srv/it's/'a'",
            "/srv/100%/%h",
            "/srv/;id>x&|`id`*?#!(){}<>~",
            "/srv/-oProxyCommand=id",
            "/srv/größe",
        ] {
            assert_eq!(as_ssh_reads_it(path), path);
        }
    }

    #[test]
    fn a_path_that_ssh_would_read_as_another_is_refused() {
        use std::os::unix::ffi::OsStrExt as _;
        for path in [
            &b"known_hosts"[..],
            b"",
            b"~/known_hosts",
            b"/srv/${HOME}",
            b"/srv/\"",
            b"/srv/\\",
            b"/srv/a\nb",
            b"/srv/\xff",
        ] {
            let path = Path::new(std::ffi::OsStr::from_bytes(path));
            assert!(matches!(
                known_hosts_option(path),
                Err(SshError::KnownHosts)
            ));
        }
    }
}
