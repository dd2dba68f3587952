//! The best come first, by each of the two measures.

use super::{
    Candidates, Home, Kind, Piece, Place, Terms, ask, bm25, found, keep, near, piece, question,
    scores, shelf, text,
};

pub(crate) async fn an_empty_home_finds_and_counts_nothing(home: &dyn Home) {
    let candidates = ask(home, shelf(1, 1), &question(&[1])).await;
    assert_eq!(candidates, Candidates::default());
    assert_eq!(home.count(shelf(1, 1)).await.unwrap(), 0);
}

pub(crate) async fn the_nearest_by_vector_come_first_with_their_cosines(home: &dyn Home) {
    let mine = shelf(1, 1);
    let turned = text(
        1,
        vec![piece(90.0, &[]), piece(30.0, &[]), piece(180.0, &[])],
    );
    keep(home, mine, &[turned, text(2, vec![piece(60.0, &[])])]).await;
    let candidates = ask(home, mine, &question(&[])).await;
    let order = [(1, 1), (2, 0), (1, 0), (1, 2)];
    assert_eq!(found(&candidates.dense), order);
    near(&scores(&candidates.dense), &[0.866, 0.5, 0.0, -1.0]);
    assert_eq!(candidates.sparse, []);
}

pub(crate) async fn words_are_ranked_by_bm25(home: &dyn Home) {
    let mine = shelf(1, 1);
    let pieces = vec![
        piece(0.0, &[(7, 1), (8, 7)]),
        piece(0.0, &[(7, 1), (9, 2)]),
        piece(0.0, &[(7, 5), (9, 1)]),
        piece(0.0, &[(9, 3)]),
    ];
    keep(home, mine, &[text(1, pieces)]).await;
    let hits = ask(home, mine, &question(&[7])).await.sparse;
    assert_eq!(found(&hits), [(1, 2), (1, 1), (1, 0)]);
    let expected = [bm25(5, 6, 3, 4), bm25(1, 3, 3, 4), bm25(1, 8, 3, 4)];
    near(&scores(&hits), &expected);
    let hits = ask(home, mine, &question(&[7, 8])).await.sparse;
    assert_eq!(found(&hits)[0], (1, 0), "it has both words");
    near(&scores(&hits)[..1], &[bm25(1, 8, 3, 4) + bm25(7, 8, 1, 4)]);
}

pub(crate) async fn a_rare_word_tells_more_than_a_common_one(home: &dyn Home) {
    let mine = shelf(1, 1);
    let common = (0..9).map(|_| piece(0.0, &[(1, 1)]));
    let pieces = [piece(0.0, &[(2, 1)])].into_iter().chain(common);
    keep(home, mine, &[text(1, pieces.collect())]).await;
    let hits = ask(home, mine, &question(&[1, 2])).await.sparse;
    assert_eq!(found(&hits)[0], (1, 0));
    near(&scores(&hits)[..2], &[bm25(1, 1, 1, 10), bm25(1, 1, 9, 10)]);
}

pub(crate) async fn a_word_that_is_asked_twice_counts_once(home: &dyn Home) {
    let mine = shelf(1, 1);
    keep(home, mine, &[text(1, vec![piece(0.0, &[(3, 1)])])]).await;
    let once = ask(home, mine, &question(&[3, 4])).await;
    let twice = ask(home, mine, &question(&[3, 4, 3])).await;
    assert_eq!(found(&once.sparse), [(1, 0)]);
    assert_eq!(once, twice);
}

pub(crate) async fn no_more_are_found_than_asked_for_and_those_are_the_best(home: &dyn Home) {
    let mine = shelf(1, 1);
    // The best by vector come last, and those by words before them.
    let piece = |number: u16| match number {
        20..25 => piece(90.0, &[(1, 2 + number)]),
        27..30 => piece(20.0 * f32::from(30 - number), &[(1, 1), (2, 9)]),
        _ => piece(180.0, &[(1, 1), (2, 9)]),
    };
    let pieces: Vec<Piece> = (0..30).map(piece).collect();
    keep(home, mine, &[text(1, pieces)]).await;
    let mut asked = question(&[1]);
    asked.most = 3;
    let candidates = ask(home, mine, &asked).await;
    assert_eq!(found(&candidates.dense), [(1, 29), (1, 28), (1, 27)]);
    let by_words = found(&candidates.sparse);
    assert_eq!(by_words.len(), 3);
    assert!(
        by_words
            .iter()
            .all(|(_, position)| (20..25).contains(position))
    );
    assert!(scores(&candidates.sparse).is_sorted_by(|one, next| one >= next));
    asked.most = 0;
    assert_eq!(ask(home, mine, &asked).await, Candidates::default());
}

pub(crate) async fn a_question_without_vector_or_words_finds_by_the_other(home: &dyn Home) {
    let mine = shelf(1, 1);
    keep(home, mine, &[text(1, vec![piece(0.0, &[(3, 1)])])]).await;
    let by_vector = ask(home, mine, &question(&[])).await;
    assert_eq!((by_vector.dense.len(), by_vector.sparse.len()), (1, 0));
    let mut asked = question(&[3]);
    asked.dense = None;
    let by_words = ask(home, mine, &asked).await;
    assert_eq!((by_words.dense.len(), by_words.sparse.len()), (0, 1));
    asked.terms.clear();
    assert_eq!(ask(home, mine, &asked).await, Candidates::default());
    // A word that no chunk has is no word of theirs.
    assert_eq!(ask(home, mine, &question(&[4])).await.sparse, []);
}

pub(crate) async fn chunks_without_vector_or_words_are_found_by_the_other(home: &dyn Home) {
    let mine = shelf(1, 1);
    let wordless = piece(10.0, &[]);
    let mut plain = piece(0.0, &[(3, 1)]);
    plain.dense = None;
    let mut bare = piece(0.0, &[]);
    bare.dense = None;
    keep(home, mine, &[text(1, vec![wordless, plain, bare])]).await;
    let candidates = ask(home, mine, &question(&[3])).await;
    assert_eq!(found(&candidates.dense), [(1, 0)]);
    assert_eq!(found(&candidates.sparse), [(1, 1)]);
    assert_eq!(
        home.count(mine).await.unwrap(),
        3,
        "bare ones are there too"
    );
}

pub(crate) async fn what_is_found_stands_where_it_was_kept(home: &dyn Home) {
    let mine = shelf(1, 1);
    let places = [
        Place {
            kind: Kind::Method,
            symbol: Some("größer\u{202e}\0".to_owned()),
            parent: Some("Zahl<T>".to_owned()),
            bytes: (0, u32::MAX),
            lines: (1, u32::MAX),
        },
        Place {
            kind: Kind::Entry,
            symbol: None,
            parent: None,
            bytes: (7, 7),
            lines: (3, 3),
        },
    ];
    let kept = places.clone().map(|place| Piece {
        place,
        terms: Terms {
            counts: vec![(u32::MAX, u16::MAX)],
            length: 65_535,
        },
        dense: Some(vec![1.0, 0.0]),
    });
    keep(home, mine, &[text(1, kept.to_vec())]).await;
    let candidates = ask(home, mine, &question(&[u32::MAX])).await;
    for mut hits in [candidates.dense, candidates.sparse] {
        hits.sort_by_key(|hit| hit.position);
        assert!(hits.iter().all(|hit| hit.project == mine.project));
        let found: Vec<Place> = hits.into_iter().map(|hit| hit.place).collect();
        assert_eq!(found, places);
    }
}

pub(crate) async fn a_home_of_words_finds_by_them_alone(home: &dyn Home) {
    let mine = shelf(1, 1);
    let pieces = vec![piece(0.0, &[(3, 1)]), piece(0.0, &[(4, 1)])];
    keep(home, mine, &[text(1, pieces)]).await;
    let candidates = ask(home, mine, &question(&[4])).await;
    assert_eq!(candidates.dense, []);
    assert_eq!(found(&candidates.sparse), [(1, 1)]);
    assert_eq!(home.count(mine).await.unwrap(), 2);
}
