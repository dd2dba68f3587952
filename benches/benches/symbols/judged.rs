//! Which side of a difference is wrong, as was written down by who read the place.

use std::{collections::HashMap, fmt};

use rand::{SeedableRng, rngs::StdRng, seq::IteratorRandom};

use super::Place;

/// The judgements: side, repository/path:line, name, verdict, reason.
const JUDGED: &str = include_str!("judged.tsv");
/// At most this many differences of a language's side are judged; of more, a draw.
const DRAW: usize = 60;
/// The seed of draws.
const SEED: u64 = 32;

/// Who alone has a definition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Side {
    /// ctags.
    Missed,
    /// Archway.
    Extra,
}

/// All judgements: who is wrong, by side and place.
pub(crate) struct Judged(HashMap<(Side, Place), Verdict>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// ctags is wrong.
    Theirs,
    /// Archway is wrong.
    Ours,
    /// Two people would disagree.
    Open,
}

/// Judgements of a language's side, counted.
#[derive(Default)]
pub(crate) struct Count {
    differences: usize,
    theirs: usize,
    ours: usize,
    open: usize,
}

impl Judged {
    /// Reads the file of judgements.
    pub(crate) fn read() -> Judged {
        let lines = JUDGED.lines().filter(|it| !it.starts_with('#'));
        Judged(lines.map(judgement).collect())
    }

    /// Counts the judgements of the differences of one side.
    pub(crate) fn count(&self, side: Side, places: &[&Place]) -> Count {
        let mut count = Count {
            differences: places.len(),
            ..Count::default()
        };
        for place in drawn(places) {
            match self.0.get(&(side, place.clone())) {
                Some(Verdict::Theirs) => count.theirs += 1,
                Some(Verdict::Ours) => count.ours += 1,
                Some(Verdict::Open) => count.open += 1,
                None => {}
            }
        }
        count
    }

    /// Prints what is to be judged: `?` stands for the verdict.
    pub(crate) fn show(&self, language: &str, side: Side, places: &[&Place]) {
        for place in drawn(places) {
            let (path, line, name) = place;
            let verdict = match self.0.get(&(side, place.clone())) {
                Some(Verdict::Theirs) => "ctags",
                Some(Verdict::Ours) => "ours",
                Some(Verdict::Open) => "open",
                None => "?",
            };
            println!("{language}\t{side:?}\t{path}:{line}\t{name}\t{verdict}");
        }
    }
}

/// The differences that are judged.
fn drawn<'a>(places: &[&'a Place]) -> Vec<&'a Place> {
    let mut random = StdRng::seed_from_u64(SEED);
    places.iter().copied().choose_multiple(&mut random, DRAW)
}

/// A line of the file.
fn judgement(line: &str) -> ((Side, Place), Verdict) {
    let fields: Vec<&str> = line.split('\t').collect();
    let [side, place, name, verdict, _reason] = fields[..] else {
        panic!("{line}: write side, path:line, name, verdict, reason");
    };
    let (path, number) = place.rsplit_once(':').expect("a line");
    let side = match side {
        "Missed" => Side::Missed,
        "Extra" => Side::Extra,
        _ => panic!("{line}: write Missed or Extra"),
    };
    let verdict = match verdict {
        "ctags" => Verdict::Theirs,
        "ours" => Verdict::Ours,
        "open" => Verdict::Open,
        _ => panic!("{line}: write ctags, ours or open"),
    };
    let number = number.parse().expect("a number");
    ((side, (path.to_owned(), number, name.to_owned())), verdict)
}

impl Count {
    fn judged(&self) -> usize {
        self.theirs + self.ours + self.open
    }

    /// Those of all differences that count against Archway: its errors, what is open, and what was not
    /// judged, as far as the draw tells.
    pub(crate) fn of_ours(&self) -> f64 {
        self.differences as f64 - self.of_theirs()
    }

    /// Those of all differences that are errors of ctags, as far as the draw tells.
    pub(crate) fn of_theirs(&self) -> f64 {
        let drawn = self.differences.clamp(1, DRAW);
        self.theirs as f64 * self.differences as f64 / drawn as f64
    }

    /// Both sides together.
    pub(crate) fn plus(&self, other: &Count) -> Count {
        Count {
            differences: self.differences + other.differences,
            theirs: self.theirs + other.theirs,
            ours: self.ours + other.ours,
            open: self.open + other.open,
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {}, {}, {}",
            self.judged(),
            self.theirs,
            self.ours,
            self.open
        )
    }
}
