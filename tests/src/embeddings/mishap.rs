//! What a test has go wrong with the service.

/// What goes wrong with a request.
#[derive(Clone, Debug)]
pub enum Mishap {
    /// It is refused with a status and these headers.
    Status(u16, Vec<(&'static str, String)>),
    /// It is refused with 400 if any of its texts has this word.
    Dislikes(&'static str),
    /// Nobody ever answers.
    Hang,
    /// The connection ends before the answer begins.
    Cut,
    /// The connection ends in the middle of the answer.
    CutShort,
    /// Vectors have this many numbers.
    Dimensions(usize),
    /// There is one vector too few.
    Fewer,
    /// The answer is what was asked, and no JSON.
    Echo,
    /// The answer never ends.
    Endless,
}
