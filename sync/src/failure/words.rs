//! What git, ssh and the remote say, as a message.

use archway_proto::misleading;

use super::{Hidden, MAX_MESSAGE};

/// The lines that say what failed, escaped, without what is hidden.
pub(super) fn clean(words: &str, hidden: &Hidden) -> String {
    let says_why = |line: &&str| {
        [
            "fatal:",
            "error:",
            "remote:",
            "ssh:",
            "Permission denied",
            "Host key",
            "No user exists",
        ]
        .iter()
        .any(|sign| line.starts_with(sign))
            // It names the helper's path, and another line says what was asked for.
            && !line.contains("askpass response")
    };
    let lines: Vec<&str> = words.split(['\n', '\r']).map(str::trim).collect();
    let mut why: Vec<&str> = lines.iter().copied().filter(says_why).collect();
    why.retain(|line| !is_progress(line));
    // git's own lines first: a remote may say very much.
    why.sort_by_key(|line| line.starts_with("remote:"));
    if why.is_empty() {
        why = lines.into_iter().filter(|line| !line.is_empty()).collect();
    }
    // Before anything is escaped or cut off: part of a secret would not be found.
    let text = hidden.cut_from(&why.join("; "));
    let text = misleading::on_one_line(&text).into_owned();
    text.chars().take(MAX_MESSAGE).collect()
}

/// Whether a remote only says how far it is: `remote: Counting objects:  25% (1/4)`.
fn is_progress(line: &str) -> bool {
    let said = line.strip_prefix("remote:").unwrap_or_default().trim();
    let begins = [
        "Enumerating objects:",
        "Counting objects:",
        "Compressing objects:",
        "Total ",
    ];
    begins.iter().any(|begin| said.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::failure::{SyncFailure, SyncState};

    fn of(words: &str) -> SyncFailure {
        let folder = Path::new("/srv/repos");
        SyncFailure::of_git(words, folder, &Hidden::of_paths([folder]))
    }

    #[test]
    fn a_message_says_that_ssh_does_not_know_its_user_and_names_no_helper() {
        let words = "No user exists for uid 1234\nfatal: Could not read from remote repository.";
        let failure = of(words);
        assert!(
            failure
                .message
                .starts_with("No user exists for uid 1234; fatal")
        );
        let words = "error: unable to read askpass response from '/opt/archway'\nfatal: could not read Username";
        let failure = of(words);
        assert_eq!(failure.message, "fatal: could not read Username");
        assert_eq!(failure.state, SyncState::CredentialRefused);
    }

    #[test]
    fn what_a_remote_says_does_not_hide_the_reason() {
        let counting =
            "remote: Counting objects:  25% (1/4)\rremote: Counting objects: 100% (4/4), done.\n";
        let words = format!(
            "{counting}remote: Total 4 (delta 0), reused 0 (delta 0)\nremote: {}\nfatal: write error: No space left on device",
            "x".repeat(1000)
        );
        let failure = of(&words);
        let begin = "fatal: write error: No space left on device; remote: xxx";
        assert!(failure.message.starts_with(begin), "{failure}");
    }

    #[test]
    fn a_message_is_bounded_and_has_no_path_or_control_character() {
        let words = format!(
            "Receiving objects: 5%\rfatal: in /srv/repos/.sync/x: \u{202e}bad\u{1b}[2J {}",
            "x".repeat(1000)
        );
        let failure = of(&words);
        assert!(
            failure.message.starts_with("fatal: in …/.sync/x: "),
            "{failure}"
        );
        assert_eq!(failure.message.chars().count(), MAX_MESSAGE);
        assert!(
            !failure
                .message
                .chars()
                .any(|c| c.is_control() || c == '\u{202e}')
        );
    }
}
