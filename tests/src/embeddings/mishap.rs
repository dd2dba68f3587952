//! How the service fails, at a test's command.

/// How a request fails.
#[derive(Clone, Debug)]
pub enum Mishap {
    /// Refused with this status and these headers.
    Status(u16, Vec<(&'static str, String)>),
    /// Refused with 400 if any of its texts contains this word.
    Dislikes(&'static str),
    /// Never answered.
    Hang,
    /// The connection ends before the answer begins.
    Cut,
    /// The connection ends in the middle of the answer.
    CutShort,
    /// Vectors have this many dimensions.
    Dimensions(usize),
    /// One vector is missing.
    Fewer,
    /// The answer repeats the request and is not JSON.
    Echo,
    /// The answer never ends.
    Endless,
}
