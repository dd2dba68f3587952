//! Spreads results over files, so that one file does not fill a page.

use std::collections::HashMap;
use std::hash::Hash;

/// Results among which a file may have two.
const FIRST_RESULTS: usize = 10;

/// The first `limit` results: at most two of the first ten are of one file, and none after them is of a
/// file that was shown.
///
/// Also the results that others were preferred to, each with the index of the first result of its file.
/// If nothing else is left, these are shown, too.
pub fn spread<T, K: Eq + Hash>(
    ranked: Vec<T>,
    file: impl Fn(&T) -> Option<K>,
    limit: usize,
) -> (Vec<T>, Vec<(usize, T)>) {
    let mut files: HashMap<K, (usize, usize)> = HashMap::new();
    let (mut shown, mut passed) = (Vec::new(), Vec::new());
    for (rank, found) in ranked.into_iter().enumerate() {
        let most = match shown.len() {
            full if full == limit => 0,
            few if few < FIRST_RESULTS => 2,
            _ => 1,
        };
        let Some(file) = file(&found) else {
            if most > 0 {
                shown.push((rank, found));
            }
            continue;
        };
        if most == 0 && !files.contains_key(&file) {
            continue;
        }
        let (first, count) = files.entry(file).or_insert((rank, 0));
        if *count < most {
            *count += 1;
            shown.push((rank, found));
        } else {
            passed.push((*first, rank, found));
        }
    }
    let rest = passed.len().min(limit - shown.len());
    shown.extend(passed.drain(..rest).map(|(_, rank, found)| (rank, found)));
    shown.sort_unstable_by_key(|(rank, _)| *rank);
    let place = |first: usize| shown.partition_point(|(rank, _)| *rank < first);
    let passed = passed.into_iter();
    let passed = passed
        .map(|(first, _, found)| (place(first), found))
        .collect();
    (shown.into_iter().map(|(_, found)| found).collect(), passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_two_of_the_first_ten_and_names_its_others() {
        let ranked: Vec<(char, u32)> = (1..=4)
            .map(|at| ('a', at))
            .chain(('b'..='z').map(|file| (file, 1)))
            .collect();
        let file = |found: &(char, u32)| Some(found.0);
        let (shown, passed) = spread(ranked.clone(), file, 5);
        assert_eq!(shown, [('a', 1), ('a', 2), ('b', 1), ('c', 1), ('d', 1)]);
        assert_eq!(passed, [(0, ('a', 3)), (0, ('a', 4))]);
        let (shown, passed) = spread(ranked.clone(), file, 1);
        let others = [(0, ('a', 2)), (0, ('a', 3)), (0, ('a', 4))];
        assert_eq!((shown, passed), (vec![('a', 1)], others.to_vec()));
        let few: Vec<_> = ranked.into_iter().take(5).collect();
        let (shown, passed) = spread(few.clone(), file, 5);
        assert_eq!((shown, passed.len()), (few, 0), "nothing else is left");
    }
}
