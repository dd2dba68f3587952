//! Definitions whose names are near one that nothing defines.
//!
//! Names come from the text of lines, so that only the files of near ones are parsed. A name is cut into pieces. An
//! edit spoils one of them, or two if it exchanges the letters between them, so that a few edits leave a piece as it
//! was. The lines with such a piece have the near names, and those of which the name is a part. All this happens only
//! after a name was not found.

use std::{collections::HashSet, ops::Range};

use archway_proto::{failure::Failure, nearest};
use archway_repo::text;
use archway_symbols::is_word;
use tokio::time::{Duration, Instant};

use super::{
    find::{FoundSymbol, Wanted, find},
    sources::Sources,
};

/// Definitions that are named at most.
const MOST: usize = 3;
/// Lines whose names are compared, at most.
const MAX_LINES: usize = 20_000;
/// Near names that are looked up, at most: some are no definition's.
const MAX_NAMES: usize = 12;
/// How long to look for them.
const WAIT: Duration = Duration::from_secs(1);
/// Shorter pieces are in too many lines. In characters.
const SHORTEST_PIECE: usize = 3;
/// Pieces of a name, at most: two edits rarely spoil as many.
const MAX_PIECES: usize = 4;

/// The definitions with the nearest names, the nearest first; one of each name. A suggestion is optional, so
/// failures are ignored.
pub(super) fn near(sources: &Sources<'_>, wanted: &Wanted) -> Vec<FoundSymbol> {
    let cancel = sources.cancel.until(Instant::now() + WAIT);
    let sources = Sources::new(sources.cache, sources.repo, &cancel);
    definitions(&sources, wanted).unwrap_or_default()
}

/// How a message names such definitions: ": did you mean `admit` (src/circuit.rs:10)? Or". Without any, a colon.
pub(super) fn did_you_mean(near: &[FoundSymbol]) -> String {
    if near.is_empty() {
        return ":".to_owned();
    }
    let place = |it: &FoundSymbol| format!("`{}` ({}:{})", it.qualified, it.file(), it.start_line);
    let places: Vec<String> = near.iter().map(place).collect();
    format!(": did you mean {}? Or", places.join(" or "))
}

fn definitions(sources: &Sources<'_>, wanted: &Wanted) -> Result<Vec<FoundSymbol>, Failure> {
    let name = wanted.name.name();
    let Some(pattern) = pattern(name) else {
        return Ok(Vec::new());
    };
    // The rest of the time is for their definitions.
    let cancel = sources.cancel.until(Instant::now() + WAIT / 2);
    let search = Sources::new(sources.cache, sources.repo, &cancel);
    let lines = search.lines(pattern, wanted.glob.as_deref(), MAX_LINES)?;
    let words = lines.iter().flat_map(|line| line.split(|c| !is_word(c)));
    let is_other = |word: &&str| word.to_lowercase() != name.to_lowercase();
    let words: HashSet<&str> = words.filter(is_other).collect();
    let names = nearest::among(name, words.into_iter(), MAX_NAMES);
    let names: Vec<&str> = names
        .into_iter()
        .filter(|name| text::shown(name) == **name)
        .collect();
    let (mut found, mut elsewhere) = (Vec::new(), Vec::new());
    for name in names {
        let wanted = Wanted {
            name: wanted.name.with_name(name),
            ..wanted.clone()
        };
        let mut of_name = find(sources, &wanted, 1)?;
        found.append(&mut of_name.symbols);
        elsewhere.extend(of_name.elsewhere.into_iter().next());
        if found.len() == MOST {
            break;
        }
    }
    // Those in the containers that are asked for, if there are any.
    elsewhere.truncate(MOST);
    Ok(if found.is_empty() { elsewhere } else { found })
}

/// A regular expression of the lines that may have a name near this one. `None` if it is no plain name.
fn pattern(name: &str) -> Option<String> {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() < SHORTEST_PIECE || !letters.iter().all(|&c| is_word(c)) {
        return None;
    }
    let part = |range: Range<usize>| letters.get(range).into_iter().flatten().collect::<String>();
    let count = (letters.len() / SHORTEST_PIECE).min(MAX_PIECES);
    if count == 1 {
        // One edit, also an exchange of two letters, spoils two letters beside each other.
        let spoilt = |at: usize| {
            let (before, after) = (part(0..at), part(at + 2..letters.len()));
            format!(r"\b{before}\w{{0,3}}{after}\b")
        };
        let spoilt: Vec<String> = (0..letters.len() - 1).map(spoilt).collect();
        return Some(format!("{name}|{}", spoilt.join("|")));
    }
    let bound = |piece: usize| piece * letters.len() / count;
    let pieces = (0..count).map(|at| part(bound(at)..bound(at + 1)));
    Some(pieces.collect::<Vec<String>>().join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_is_near_after_one_edit() {
        let expected = r"get|\b\w{0,3}t\b|\bg\w{0,3}\b";
        assert_eq!(pattern("get").as_deref(), Some(expected));
        let five = pattern("prase").unwrap();
        assert!(five.contains(r"|\bp\w{0,3}se\b|"), "{five}");
    }

    #[test]
    fn a_name_is_cut_into_pieces_of_three_letters_or_more() {
        let cut = |name| pattern(name);
        assert_eq!(cut("circut").as_deref(), Some("cir|cut"));
        assert_eq!(cut("open_the_gate").as_deref(), Some("ope|n_t|he_|gate"));
        assert_eq!(cut("höhenangabe").as_deref(), Some("höh|enan|gabe"));
        for no_plain_name in ["", "ab", "*gate*", "operator==", "a b c"] {
            assert_eq!(cut(no_plain_name), None, "{no_plain_name}");
        }
    }
}
