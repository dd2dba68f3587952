//! Segments that are read back: whole, merged, damaged.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{SegmentWriter, merge};

fn blob(number: u8) -> BlobId {
    [number.wrapping_mul(151); 20]
}

fn bytes(texts: &[Option<&str>]) -> Vec<u8> {
    let mut writer = SegmentWriter::new(Vec::new());
    for (number, text) in (0..).zip(texts) {
        writer.add(blob(number), *text, text.is_none()).unwrap();
    }
    writer.finish().unwrap()
}

fn segment(texts: &[Option<&str>]) -> Segment {
    Segment::open(Source::Memory(bytes(texts))).unwrap()
}

/// The sections that can match.
fn sections(segment: &Segment, pattern: &str) -> NumberSet {
    let requirement = Requirement::of(pattern, false, false);
    let all = NumberSet::all(segment.sections());
    segment.candidates(&requirement, &all).unwrap()
}

/// The documents that can match.
fn found(segment: &Segment, pattern: &str) -> Vec<u32> {
    let sections = sections(segment, pattern);
    let has_one = |number: &u32| {
        let mut own = segment.sections_of(*number);
        own.any(|section| sections.contains(section))
    };
    (0..segment.len()).filter(has_one).collect()
}

fn text(segment: &Segment, number: u32) -> Option<String> {
    let mut text = Vec::new();
    let has_text = segment.text(number, None, &mut text).unwrap();
    has_text.then(|| String::from_utf8(text).unwrap())
}

const TEXTS: [Option<&str>; 5] = [
    Some("fn main() {}\n"),
    None,
    Some(""),
    Some("Main street, Straße\n"),
    Some("mainmainmain"),
];

#[test]
fn documents_are_found_by_trigrams_and_by_blob_and_have_their_texts() {
    let segment = segment(&TEXTS);
    assert_eq!(found(&segment, "main"), [0, 3, 4]);
    assert_eq!(found(&segment, "main.*street|nowhere at all"), [3]);
    assert_eq!(found(&segment, "zzz"), [0u32; 0]);
    assert_eq!(found(&segment, "."), [0, 3, 4], "the others have no line");
    for (number, expected) in (0..).zip(TEXTS) {
        let found = segment.find(&blob(number)).unwrap();
        assert_eq!(found, u32::from(number));
        assert_eq!(text(&segment, found).as_deref(), expected);
        let document = segment.document(found).unwrap();
        assert_eq!(
            (document.has_text, document.is_skipped),
            (expected.is_some(), expected.is_none())
        );
    }
    assert_eq!(segment.find(&[7; 20]), None);
    assert_eq!(segment.document(5), None);
}

#[test]
fn a_segment_without_documents_is_valid() {
    let empty = segment(&[]);
    assert!(empty.is_empty() && found(&empty, "main").is_empty());
    assert_eq!(empty.find(&blob(0)), None);
}

/// A text of several sections, of which one has the word "needle".
fn long() -> (String, String) {
    let line = |at: usize| format!("{at} is a line of a long text\n");
    let before: String = (0..4000).map(line).collect();
    let after: String = (4000..6000).map(line).collect();
    let text = format!("{before}the needle\n{after}");
    (before, text)
}

#[test]
fn of_a_long_text_the_sections_that_can_match_are_found_and_read() {
    let (before, long) = long();
    let segment = segment(&[Some("fn main() {}\n"), Some(&long)]);
    assert!(segment.sections() > 4);
    assert_eq!(text(&segment, 1).as_deref(), Some(long.as_str()));
    let candidates = sections(&segment, "needle");
    assert_eq!(candidates.iter().count(), 1);
    let ranges = segment.ranges(1, &candidates);
    let [range] = ranges.as_slice() else {
        panic!("{ranges:?}");
    };
    let part = long.get(range.clone()).unwrap();
    assert!(part.contains("the needle\n") && range.contains(&before.len()));
    let mut read = Vec::new();
    assert!(segment.text(1, Some(&candidates), &mut read).unwrap());
    assert_eq!(read, part.as_bytes());
    let all = NumberSet::all(segment.sections());
    assert_eq!(segment.ranges(1, &all), vec![0..long.len()]);
    let merged = merge(
        &[(Arc::new(segment), NumberSet::all(2))],
        Vec::new(),
        || Ok::<(), SegmentError>(()),
    );
    let merged = Segment::open(Source::Memory(merged.unwrap())).unwrap();
    assert_eq!(text(&merged, 1), Some(long));
    assert_eq!(sections(&merged, "needle"), candidates);
}

#[test]
fn a_merge_has_the_kept_documents_of_all_segments() {
    let (one, two) = (segment(&TEXTS), {
        let mut writer = SegmentWriter::new(Vec::new());
        writer.add([9; 20], Some("the main thing"), false).unwrap();
        Segment::open(Source::Memory(writer.finish().unwrap())).unwrap()
    });
    let mut kept = NumberSet::all(5);
    kept.intersect(&{
        let mut set = NumberSet::none(5);
        [1, 3, 4].iter().for_each(|it| assert!(set.insert(*it)));
        set
    });
    let inputs = [(Arc::new(one), kept), (Arc::new(two), NumberSet::all(1))];
    let check = || Ok::<(), SegmentError>(());
    let merged = merge(&inputs, Vec::new(), check).unwrap();
    let merged = Segment::open(Source::Memory(merged)).unwrap();
    assert_eq!(merged.len(), 4);
    assert_eq!(found(&merged, "main"), [1, 2, 3]);
    assert_eq!(merged.find(&[9; 20]), Some(3));
    assert_eq!(merged.find(&blob(0)), None);
    let texts: Vec<_> = (0..4).map(|number| text(&merged, number)).collect();
    let expected = [TEXTS[1], TEXTS[3], TEXTS[4], Some("the main thing")];
    assert_eq!(texts, expected.map(|text| text.map(str::to_owned)));
}

/// Everything that a segment answers.
fn answers(segment: &Segment) -> Result<Vec<String>, SegmentError> {
    let mut all = Vec::new();
    for pattern in ["main", "street", "zzz"] {
        let requirement = Requirement::of(pattern, false, false);
        all.push(format!(
            "{:?}",
            segment.candidates(&requirement, &NumberSet::all(segment.sections()))?
        ));
    }
    for number in 0..u32::try_from(TEXTS.len()).unwrap() {
        let mut text = Vec::new();
        let has_text = segment.text(number, None, &mut text)?;
        all.push(format!(
            "{has_text} {text:?} {:?}",
            segment.document(number)
        ));
    }
    Ok(all)
}

#[test]
fn every_flipped_bit_is_noticed_or_changes_no_answer() {
    let good = bytes(&TEXTS);
    let expected = answers(&Segment::open(Source::Memory(good.clone())).unwrap()).unwrap();
    for place in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[place / 8] ^= 1 << (place % 8);
        let answered = Segment::open(Source::Memory(bad)).and_then(|it| answers(&it));
        if let Ok(answered) = answered {
            assert_eq!(answered, expected, "bit {place}");
        }
    }
}

#[test]
fn every_truncated_file_is_refused() {
    let good = bytes(&TEXTS);
    for length in 0..good.len() {
        let cut = Source::Memory(good[..length].to_vec());
        assert!(Segment::open(cut).is_err(), "{length}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Segment::open(Source::Memory(bytes)).is_err());
    }
}
