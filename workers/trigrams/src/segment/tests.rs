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

fn found(segment: &Segment, pattern: &str) -> Vec<u32> {
    let requirement = Requirement::of(pattern, false, false);
    segment
        .candidates(&requirement, &DocumentSet::all(segment.len()))
        .unwrap()
        .iter()
        .collect()
}

fn text(segment: &Segment, number: u32) -> Option<String> {
    let mut text = Vec::new();
    let has_text = segment.text(number, &mut text).unwrap();
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
    assert_eq!(found(&segment, "."), [0, 1, 2, 3, 4]);
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

#[test]
fn a_merge_has_the_kept_documents_of_all_segments() {
    let (one, two) = (segment(&TEXTS), {
        let mut writer = SegmentWriter::new(Vec::new());
        writer.add([9; 20], Some("the main thing"), false).unwrap();
        Segment::open(Source::Memory(writer.finish().unwrap())).unwrap()
    });
    let mut kept = DocumentSet::all(5);
    kept.intersect(&{
        let mut set = DocumentSet::none(5);
        [1, 3, 4].iter().for_each(|it| assert!(set.insert(*it)));
        set
    });
    let inputs = [(Arc::new(one), kept), (Arc::new(two), DocumentSet::all(1))];
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
            segment.candidates(&requirement, &DocumentSet::all(segment.len()))?
        ));
    }
    for number in 0..u32::try_from(TEXTS.len()).unwrap() {
        let mut text = Vec::new();
        let has_text = segment.text(number, &mut text)?;
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
