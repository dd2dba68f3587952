//! Why a source could not be mirrored: a closed list of states, and the remote's own words.

mod hidden;
mod words;

use std::fmt;
use std::path::Path;

use crate::credentials::CredentialError;

pub(crate) use hidden::Hidden;
use words::clean;

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
    is_corruption: bool,
}

impl SyncFailure {
    /// A failure in our own words.
    pub fn new(state: SyncState, message: impl Into<String>) -> SyncFailure {
        SyncFailure {
            state,
            message: message.into(),
            is_corruption: false,
        }
    }

    /// Whether git calls the mirror itself corrupt.
    pub(crate) fn is_corruption(&self) -> bool {
        self.is_corruption
    }

    /// What git wrote to its standard error, classified. It writes to `folder`, and what is `hidden` is cut out.
    pub(crate) fn of_git(words: &str, folder: &Path, hidden: &Hidden) -> SyncFailure {
        let (mut state, mut message) = (classify(words), clean(words, hidden));
        let remedy = if state == SyncState::Failed && is_full(folder) {
            // git does not always say why it could not write.
            state = SyncState::NoSpace;
            Some("the volume is full")
        } else if REDIRECTS.iter().any(|sign| words.contains(sign)) {
            Some(REDIRECTED)
        } else {
            None
        };
        if let Some(remedy) = remedy {
            message = format!("{remedy}: {message}");
            message = message.chars().take(MAX_MESSAGE).collect();
        }
        let own = own_words(words);
        let is_corruption = CORRUPTION.iter().any(|sign| own.contains(sign));
        SyncFailure {
            state,
            message,
            is_corruption: is_corruption && state == SyncState::Failed,
        }
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

/// Words of curl about a host that names another URL. git follows none, and does not say which it is.
const REDIRECTS: [&str; 5] = [
    "returned error: 301",
    "returned error: 302",
    "returned error: 303",
    "returned error: 307",
    "returned error: 308",
];
/// What to do then.
const REDIRECTED: &str = "the host redirects to another URL, which is not followed: set the project's URL to the \
                          one that the host shows for the repository now";

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
    let (own, all) = (own_words(words), words.to_lowercase());
    // A remote knows nothing of this machine's disk, nor of the key that it is known by.
    let is_local = |state| matches!(state, SyncState::NoSpace | SyncState::HostKeyChanged);
    let says = |(sign, state): &&(&str, SyncState)| match is_local(*state) {
        true => own.contains(sign),
        false => all.contains(sign),
    };
    let found = WORDS.iter().find(says);
    found.map_or(SyncState::Failed, |(_, state)| *state)
}

/// The lines that the remote did not write, in lower case. ssh passes on what its remote says as it is.
fn own_words(words: &str) -> String {
    let words = words.to_lowercase();
    let is_own = |line: &&str| {
        let line = line.trim_start();
        !line.starts_with("remote:") && !line.contains("remote error:")
    };
    let own: Vec<&str> = words.split(['\n', '\r']).filter(is_own).collect();
    own.join("\n")
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
        let hidden = Hidden::default();
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
            assert_eq!(
                SyncFailure::of_git(words, folder, &hidden).state,
                state,
                "{words}"
            );
        }
    }

    #[test]
    fn a_remote_says_nothing_of_this_machine() {
        for (words, is_corruption) in [
            ("fatal: bad object HEAD", true),
            ("remote: x; is corrupt", false),
            ("remote: counting\rremote: bad object 1", false),
            ("fatal: remote error: pack is corrupt", false),
            ("fatal: remote error: no space left on device", false),
            ("remote: Host key verification failed.", false),
        ] {
            let failure = SyncFailure::of_git(words, Path::new("/srv/repos"), &Hidden::default());
            assert_eq!(failure.state, SyncState::Failed, "{words}");
            assert_eq!(failure.is_corruption(), is_corruption, "{words}");
        }
    }

    #[test]
    fn a_redirect_says_what_to_do_and_names_no_other_host() {
        let words = "fatal: unable to access 'https://h/a/': The requested URL returned error: 301";
        let failure = SyncFailure::of_git(words, Path::new("/srv/repos"), &Hidden::default());
        assert_eq!(failure.state, SyncState::Failed);
        let begin =
            "the host redirects to another URL, which is not followed: set the project's URL to";
        assert!(failure.message.starts_with(begin), "{failure}");
        assert!(failure.message.ends_with(words), "{failure}");
    }
}
