//! What git writes: its standard output, and the end of its standard error.

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{ChildStderr, ChildStdout};

use super::watch::Activity;

/// The longest standard output, in bytes: a list of some 500,000 refs.
const MAX_TEXT: usize = 64 << 20;
/// How much of the end of its standard error is kept, in bytes.
const MAX_WORDS: usize = 16 << 10;

/// What a program wrote.
pub(super) struct ProgramOutput {
    /// Its standard output, or `None` if it is longer than is read.
    pub(super) text: Option<String>,
    /// The end of its standard error.
    pub(super) words: String,
}

/// Reads both until the program closes them.
pub(super) async fn read(
    (stdout, stderr): (Option<ChildStdout>, Option<ChildStderr>),
    activity: &Activity,
) -> ProgramOutput {
    let (mut text, mut words) = (Vec::new(), Vec::new());
    let mut is_cut = false;
    let reading = each(stdout, |bytes| {
        let room = (MAX_TEXT + 1).saturating_sub(text.len());
        text.extend(bytes.iter().take(room));
    });
    let hearing = each(stderr, |bytes| {
        activity.hear(bytes);
        words.extend_from_slice(bytes);
        let excess = words.len().saturating_sub(MAX_WORDS);
        words.drain(..excess);
        is_cut |= excess > 0;
    });
    tokio::join!(reading, hearing);
    if is_cut {
        // Of a line without its begin nobody could say whether it has a part of a secret.
        let line = words.iter().position(|byte| b"\r\n".contains(byte));
        words.drain(..line.unwrap_or(words.len()));
    }
    let is_whole = text.len() <= MAX_TEXT;
    ProgramOutput {
        text: is_whole.then(|| String::from_utf8_lossy(&text).into_owned()),
        words: String::from_utf8_lossy(&words).into_owned(),
    }
}

async fn each(pipe: Option<impl AsyncRead + Unpin>, mut take: impl FnMut(&[u8])) {
    let Some(mut pipe) = pipe else {
        return;
    };
    let mut buffer = vec![0; 16 << 10];
    // A pipe that cannot be read is as good as closed: the program's exit says what happened.
    while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
        take(buffer.get(..length).unwrap_or_default());
    }
}
