//! What may be found is a question's to say, and costs what it lets through no score.

use std::{collections::HashSet, sync::Arc};

use super::{
    Blob, Candidates, Filter, Hit, Home, Kind, Piece, Question, ask, ask_all, blob, found, keep,
    piece, question, scores, shelf, text,
};

fn of_kind(kind: Kind) -> Piece {
    let mut piece = piece(0.0, &[(1, 1)]);
    piece.place.kind = kind;
    piece
}

fn filtered(kinds: Option<&[Kind]>, blobs: Option<&[u32]>) -> Question {
    let blobs = blobs.map(|blobs| blobs.iter().copied().map(blob).collect::<HashSet<Blob>>());
    Question {
        filter: Filter {
            kinds: kinds.map(<[Kind]>::to_vec),
            blobs: blobs.map(Arc::new),
        },
        ..question(&[1])
    }
}

fn sorted(hits: &[Hit]) -> Vec<(u32, u32)> {
    let mut found = found(hits);
    found.sort_unstable();
    found
}

pub(crate) async fn only_the_kinds_and_blobs_that_are_asked_for_are_found(home: &dyn Home) {
    let mine = shelf(1, 1);
    let texts = [
        text(1, vec![of_kind(Kind::Function), of_kind(Kind::Class)]),
        text(2, vec![of_kind(Kind::Class), of_kind(Kind::Section)]),
        text(3, vec![of_kind(Kind::Class)]),
    ];
    keep(home, mine, &texts).await;
    let classes = [Kind::Class].as_slice();
    let several = [Kind::Function, Kind::Section].as_slice();
    let cases: [(_, _, &[(u32, u32)]); 6] = [
        (Some(classes), None, &[(1, 1), (2, 0), (3, 0)]),
        (Some(several), None, &[(1, 0), (2, 1)]),
        (None, Some([2].as_slice()), &[(2, 0), (2, 1)]),
        (None, Some(&[3, 1, 99]), &[(1, 0), (1, 1), (3, 0)]),
        (Some(classes), Some(&[1, 2]), &[(1, 1), (2, 0)]),
        (Some(several), Some(&[3]), &[]),
    ];
    for (kinds, blobs, expected) in cases {
        let candidates = ask(home, mine, &filtered(kinds, blobs)).await;
        assert_eq!(sorted(&candidates.dense), expected, "{kinds:?} {blobs:?}");
        assert_eq!(sorted(&candidates.sparse), expected, "{kinds:?} {blobs:?}");
    }
}

pub(crate) async fn a_filter_changes_no_score(home: &dyn Home) {
    let mine = shelf(1, 1);
    let others = (0..5).map(|_| piece(0.0, &[(2, 1)]));
    let pieces = others.chain([of_kind(Kind::Class)]);
    keep(home, mine, &[text(1, pieces.collect())]).await;
    let all = ask(home, mine, &filtered(None, None)).await.sparse;
    let some = ask(home, mine, &filtered(Some(&[Kind::Class]), None)).await;
    assert_eq!(scores(&all).len(), 1);
    assert_eq!(all, some.sparse);
}

pub(crate) async fn a_filter_that_lets_nothing_be_finds_nothing(home: &dyn Home) {
    let mine = shelf(1, 1);
    keep(home, mine, &[text(1, vec![of_kind(Kind::Class)])]).await;
    for filter in [filtered(Some(&[]), None), filtered(None, Some(&[]))] {
        assert_eq!(ask(home, mine, &filter).await, Candidates::default());
    }
    let nowhere = ask_all(home, &[], &filtered(None, None)).await;
    assert_eq!(nowhere, Candidates::default());
}

pub(crate) async fn of_a_great_many_blobs_none_is_passed_over(home: &dyn Home) {
    let mine = shelf(1, 1);
    let pieces = |number: u16| {
        vec![piece(
            f32::from(15 * number).min(180.0),
            &[(1, 1), (2, number)],
        )]
    };
    let texts: Vec<_> = (1..=20_u16)
        .map(|number| text(u32::from(number) * 1000, pieces(number)))
        .collect();
    keep(home, mine, &texts).await;
    let many: Vec<u32> = (2000..21_000).collect();
    let mut asked = filtered(None, Some(&many));
    asked.most = 5;
    let candidates = ask(home, mine, &asked).await;
    let best = [2, 3, 4, 5, 6].map(|number| (number * 1000, 0));
    assert_eq!(found(&candidates.dense), best);
    assert_eq!(found(&candidates.sparse), best, "shorter ones are nearer");
}
