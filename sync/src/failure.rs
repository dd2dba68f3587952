//! Why a source could not be mirrored: a closed list of states, and the remote's own words.

use std::fmt;
use std::path::Path;

use archway_proto::misleading;

use crate::credentials::CredentialError;

/// The longest message, in characters.
pub const MAX_MESSAGE: usize = 300;

/// The state of a source's mirror, as `archway sync status` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SyncState {
    /// It was never tried.
    New,
    /// The first clone runs.
    Cloning,
    /// The mirror is as the remote was.
    Ok,
    /// The remote has changed since, and a fetch is due.
    Behind,
    /// The remote did not answer, or answered badly; it is tried again.
    BackingOff,
    /// The named credential is not there.
    CredentialMissing,
    /// The remote refused the credential.
    CredentialRefused,
    /// The remote's ssh host key is unknown, or another than before.
    HostKeyChanged,
    /// The remote has no such repository, or hides it from the credential.
    NotFound,
    /// The remote no longer has the named ref; the last commit stays.
    RefGone,
    /// The mirror would exceed its bound.
    TooLarge,
    /// The volume is full.
    NoSpace,
    /// Something else failed.
    Failed,
}

impl SyncState {
    /// All states.
    pub const ALL: [SyncState; 13] = [
        SyncState::New,
        SyncState::Cloning,
        SyncState::Ok,
        SyncState::Behind,
        SyncState::BackingOff,
        SyncState::CredentialMissing,
        SyncState::CredentialRefused,
        SyncState::HostKeyChanged,
        SyncState::NotFound,
        SyncState::RefGone,
        SyncState::TooLarge,
        SyncState::NoSpace,
        SyncState::Failed,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            SyncState::New => "new",
            SyncState::Cloning => "cloning",
            SyncState::Ok => "ok",
            SyncState::Behind => "behind",
            SyncState::BackingOff => "backing_off",
            SyncState::CredentialMissing => "credential_missing",
            SyncState::CredentialRefused => "credential_refused",
            SyncState::HostKeyChanged => "host_key_changed",
            SyncState::NotFound => "not_found",
            SyncState::RefGone => "ref_gone",
            SyncState::TooLarge => "too_large",
            SyncState::NoSpace => "no_space",
            SyncState::Failed => "failed",
        }
    }

    /// Whether only a person can mend it, so that it is tried less often.
    pub fn needs_a_person(self) -> bool {
        match self {
            SyncState::CredentialRefused | SyncState::NotFound | SyncState::HostKeyChanged => true,
            SyncState::New
            | SyncState::Cloning
            | SyncState::Ok
            | SyncState::Behind
            | SyncState::BackingOff
            | SyncState::CredentialMissing
            | SyncState::RefGone
            | SyncState::TooLarge
            | SyncState::NoSpace
            | SyncState::Failed => false,
        }
    }
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", state.name())]
pub struct SyncFailure {
    /// The state that it leaves.
    pub state: SyncState,
    /// At most [`MAX_MESSAGE`] characters, without secrets and host paths.
    pub message: String,
}

impl SyncFailure {
    /// A failure in our own words.
    pub fn new(state: SyncState, message: impl Into<String>) -> SyncFailure {
        SyncFailure {
            state,
            message: message.into(),
        }
    }

    /// Whether git calls the mirror itself corrupt.
    pub(crate) fn is_corruption(&self) -> bool {
        let words = self.message.to_lowercase();
        let mut own = words
            .split("; ")
            .filter(|line| !line.starts_with("remote:"));
        let is_own = |line: &str| CORRUPTION.iter().any(|sign| line.contains(sign));
        self.state == SyncState::Failed && own.any(is_own)
    }

    /// What git wrote to its standard error, classified. Paths beneath `folder` are cut out.
    pub fn of_git(words: &str, folder: &Path) -> SyncFailure {
        let (state, message) = (classify(words), clean(words, folder));
        if state == SyncState::Failed && is_full(folder) {
            // git does not always say why it could not write.
            let message = format!("the volume is full: {message}");
            let message = message.chars().take(MAX_MESSAGE).collect();
            return SyncFailure {
                state: SyncState::NoSpace,
                message,
            };
        }
        SyncFailure { state, message }
    }
}

impl From<CredentialError> for SyncFailure {
    fn from(error: CredentialError) -> SyncFailure {
        SyncFailure::new(SyncState::CredentialMissing, error.to_string())
    }
}

/// Words of git, curl and ssh, in the C locale, and what they say. The first that occurs decides.
const WORDS: [(&str, SyncState); 29] = [
    ("no space left on device", SyncState::NoSpace),
    ("disk quota exceeded", SyncState::NoSpace),
    ("host key verification failed", SyncState::HostKeyChanged),
    (
        "remote host identification has changed",
        SyncState::HostKeyChanged,
    ),
    ("no matching host key", SyncState::HostKeyChanged),
    ("authentication failed", SyncState::CredentialRefused),
    (
        "unable to get password from user",
        SyncState::CredentialRefused,
    ),
    ("could not read username", SyncState::CredentialRefused),
    ("could not read password", SyncState::CredentialRefused),
    ("permission denied (", SyncState::CredentialRefused),
    ("returned error: 401", SyncState::CredentialRefused),
    ("returned error: 403", SyncState::CredentialRefused),
    ("access denied", SyncState::CredentialRefused),
    ("repository not found", SyncState::NotFound),
    ("returned error: 404", SyncState::NotFound),
    ("' not found", SyncState::NotFound),
    (
        "does not appear to be a git repository",
        SyncState::NotFound,
    ),
    ("could not resolve host", SyncState::BackingOff),
    ("connection refused", SyncState::BackingOff),
    ("connection timed out", SyncState::BackingOff),
    ("failed to connect", SyncState::BackingOff),
    ("returned error: 5", SyncState::BackingOff),
    ("the remote end hung up", SyncState::BackingOff),
    ("operation too slow", SyncState::BackingOff),
    ("no route to host", SyncState::BackingOff),
    ("network is unreachable", SyncState::BackingOff),
    ("connection closed by", SyncState::BackingOff),
    ("connection reset by", SyncState::BackingOff),
    (
        "could not read from remote repository",
        SyncState::BackingOff,
    ),
];

/// Words of git about a repository whose own files are damaged or missing.
const CORRUPTION: [&str; 12] = [
    "is corrupt",
    "corrupt loose object",
    "is empty",
    "bad object",
    "bad signature",
    "inflate: data stream error",
    "not a git packfile",
    "too short",
    "is too small",
    "unable to read",
    "not a git repository",
    "did not send all necessary objects",
];

/// With less room than this on its volume, in bytes, git can't work.
const LEAST_ROOM: u64 = 64 << 10;

fn is_full(folder: &Path) -> bool {
    let room = rustix::fs::statvfs(folder);
    room.is_ok_and(|volume| volume.f_bavail.saturating_mul(volume.f_frsize) < LEAST_ROOM)
}

fn classify(words: &str) -> SyncState {
    let words = words.to_lowercase();
    let found = WORDS.iter().find(|(sign, _)| words.contains(sign));
    found.map_or(SyncState::Failed, |(_, state)| *state)
}

/// The lines that say what failed, escaped, without host paths.
fn clean(words: &str, folder: &Path) -> String {
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
    let text = why.join("; ");
    let text = match folder.to_str().filter(|folder| !folder.is_empty()) {
        Some(folder) => text.replace(folder, "…"),
        None => text,
    };
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

impl fmt::Display for SyncState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gits_words_say_which_state_it_is() {
        let folder = Path::new("/srv/repos");
        for (words, state) in [
            (
                "fatal: Authentication failed for 'https://host/a/'",
                SyncState::CredentialRefused,
            ),
            (
                "fatal: unable to access 'https://h/a/': The requested URL returned error: 403",
                SyncState::CredentialRefused,
            ),
            (
                "fatal: unable to access 'https://h/a/': Operation too slow. Less than 1 bytes/sec transferred",
                SyncState::BackingOff,
            ),
            (
                "Connection closed by 10.0.0.1 port 22\nfatal: Could not read from remote repository.",
                SyncState::BackingOff,
            ),
            (
                "git@host: Permission denied (publickey).",
                SyncState::CredentialRefused,
            ),
            (
                "remote: Repository not found.\nfatal: repository 'https://h/a/' not found",
                SyncState::NotFound,
            ),
            (
                "fatal: '/srv/x' does not appear to be a git repository",
                SyncState::NotFound,
            ),
            ("Host key verification failed.", SyncState::HostKeyChanged),
            (
                "fatal: write error: No space left on device",
                SyncState::NoSpace,
            ),
            (
                "fatal: unable to access 'https://h/': Could not resolve host: h",
                SyncState::BackingOff,
            ),
            ("fatal: bad object", SyncState::Failed),
            ("", SyncState::Failed),
        ] {
            assert_eq!(SyncFailure::of_git(words, folder).state, state, "{words}");
        }
    }

    #[test]
    fn a_message_says_that_ssh_does_not_know_its_user_and_names_no_helper() {
        let words = "No user exists for uid 1234\nfatal: Could not read from remote repository.";
        let failure = SyncFailure::of_git(words, Path::new("/srv/repos"));
        assert!(
            failure
                .message
                .starts_with("No user exists for uid 1234; fatal")
        );
        let words = "error: unable to read askpass response from '/opt/archway'\nfatal: could not read Username";
        let failure = SyncFailure::of_git(words, Path::new("/srv/repos"));
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
        let failure = SyncFailure::of_git(&words, Path::new("/srv/repos"));
        let begin = "fatal: write error: No space left on device; remote: xxx";
        assert!(failure.message.starts_with(begin), "{failure}");
    }

    #[test]
    fn a_message_is_bounded_and_has_no_path_or_control_character() {
        let words = format!(
            "Receiving objects: 5%\rfatal: in /srv/repos/.sync/x: \u{202e}bad\u{1b}[2J {}",
            "x".repeat(1000)
        );
        let failure = SyncFailure::of_git(&words, Path::new("/srv/repos"));
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
