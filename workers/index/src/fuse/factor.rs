//! Weights of the ranking, and what they make of a chunk's place, name and length.

use super::super::chunk::Kind;
use super::super::reading::{Place, QueryKind, Reading};
use super::super::role::Role;
use super::super::vector_store::ChunkLocation;

/// Lines of the longest fragment.
const FRAGMENT_LINES: u32 = 3;
/// Lines from which more lines count no more.
const LONG: f32 = 55.0;

/// Weights and factors of the score, fitted by `benches/ranking` on commits, comments and questions of four
/// repositories (docs/adr/0084).
///
/// No label could fit `secondary`, and notes were set to count as long functions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Weight of the vectors' list by the kind of query, in the order of [`QueryKind`]; the words'
    /// list has 1.
    pub vectors: [f32; 4],
    /// Factor of tests and documents, unless the query asks for them.
    pub secondary: f32,
    /// Factor of functions, methods and notes, for sentences and errors.
    pub function: f32,
    /// What the number of lines adds to 1: nothing for a line, all of it from 55 and for notes, on a logarithmic scale.
    pub length: f32,
    /// Factor of code of one to three lines, unless the query has all words of its name.
    pub fragment: f32,
    /// What the share of its name's words that the query has adds to 1,
    pub symbol: f32,
    /// and that of its parent's.
    pub parent: f32,
    /// Factor of a file that the query names.
    pub named: f32,
    /// The share of the scores of the text's three best other chunks that is added.
    pub others: f32,
}

/// The weights in use.
pub const WEIGHTS: Weights = Weights {
    vectors: [1.0, 1.0, 0.5, 1.4],
    secondary: 0.6,
    function: 1.35,
    length: 0.3,
    fragment: 0.7,
    symbol: 0.2,
    parent: 0.1,
    named: 1.5,
    others: 0.1,
};

/// Whether a chunk's parent is called `test` or `tests`, as Rust's modules of tests in files of code.
pub(super) fn is_in_tests(location: &ChunkLocation) -> bool {
    let module = location.parent.as_deref();
    module.is_some_and(|module| matches!(module, "test" | "tests"))
}

/// The factor of a chunk's score by its place, name, kind and length.
pub(super) fn of(
    weights: &Weights,
    reading: &Reading,
    location: &ChunkLocation,
    place: Place,
) -> f32 {
    let share = |name: &Option<String>| {
        let name = name.as_deref();
        name.map_or(0.0, |name| reading.share_of(name))
    };
    let is_code = !matches!(location.kind, Kind::Section | Kind::Entry);
    let (symbol, parent) = match is_code {
        true => (share(&location.symbol), share(&location.parent)),
        false => (0.0, 0.0),
    };
    let lines = location.lines.1.saturating_sub(location.lines.0) + 1;
    #[expect(clippy::cast_precision_loss, reason = "capped at 55")]
    let length = match location.kind {
        // What somebody noted is short, and as good as long code.
        Kind::Entry => 1.0,
        _ => (lines as f32).min(LONG).ln() / LONG.ln(),
    };
    let mut factor = 1.0 + weights.symbol * symbol + weights.parent * parent;
    factor *= 1.0 + weights.length * length;
    if place.role != Role::Code && !reading.asks_for_secondary {
        factor *= weights.secondary;
    }
    let is_function = matches!(location.kind, Kind::Function | Kind::Method | Kind::Entry);
    if is_function && matches!(reading.kind, QueryKind::Sentence | QueryKind::Error) {
        factor *= weights.function;
    }
    if is_code && lines <= FRAGMENT_LINES && symbol < 1.0 {
        factor *= weights.fragment;
    }
    if place.is_named {
        factor *= weights.named;
    }
    factor
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(kind: Kind, symbol: &str, lines: u32) -> ChunkLocation {
        ChunkLocation {
            kind,
            symbol: Some(symbol.to_owned()),
            parent: None,
            bytes: (0, 1),
            lines: (1, lines),
            declaration: None,
        }
    }

    fn factor(query: &str, kind: Kind, symbol: &str, lines: u32) -> f32 {
        let location = location(kind, symbol, lines);
        of(&WEIGHTS, &Reading::of(query), &location, Place::default())
    }

    #[test]
    fn a_function_in_a_module_of_tests_is_a_test() {
        let within = |parent: &str| ChunkLocation {
            parent: Some(parent.to_owned()),
            ..location(Kind::Function, "parses", 9)
        };
        assert!(is_in_tests(&within("tests")));
        for other in ["testing", "Tests", "latest"] {
            assert!(!is_in_tests(&within(other)), "{other}");
        }
    }

    #[test]
    fn names_that_are_asked_for_rank_higher_and_fragments_lower() {
        let query = "where is the header parsed by the Reader";
        let factor = |symbol, lines| factor(query, Kind::Class, symbol, lines);
        assert!(factor("header", 9) > factor("render", 9));
        assert!(factor("header", 4) / factor("header", 3) < 1.1);
        assert!(factor("render", 4) / factor("render", 3) > 1.3);
    }

    #[test]
    fn longer_code_ranks_higher_up_to_a_length() {
        let factor = |lines| factor("parses a header", Kind::Class, "render", lines);
        assert!(factor(40) > factor(8));
        assert!((factor(400) - factor(55)).abs() < 1e-6);
    }

    #[test]
    fn a_note_ranks_as_a_long_function() {
        let query = "parses a header";
        let note = factor(query, Kind::Entry, "render", 1);
        let function = factor(query, Kind::Function, "render", 55);
        assert!((note - function).abs() < 1e-6);
    }

    #[test]
    fn functions_rank_higher_for_sentences_than_for_questions() {
        let gain = |query| {
            factor(query, Kind::Method, "render", 9) / factor(query, Kind::Class, "render", 9)
        };
        assert!((gain("parses a header") - WEIGHTS.function).abs() < 1e-6);
        assert!((gain("where is a header parsed") - 1.0).abs() < 1e-6);
    }
}
