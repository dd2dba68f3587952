//! Results are ranked best first, by vector and by words.

use super::{
    Candidates, ChunkLocation, DeclarationPlace, IndexedChunk, Kind, Terms, VectorStore, bm25,
    chunk_at, identities, near, project_key, query, scores, search, text, upsert,
};

pub(crate) async fn an_empty_store_has_no_matches_and_no_chunks(store: &dyn VectorStore) {
    let candidates = search(store, project_key(1, 1), &query(&[1])).await;
    assert_eq!(candidates, Candidates::default());
    assert_eq!(store.count(project_key(1, 1)).await.unwrap(), 0);
}

pub(crate) async fn the_nearest_by_vector_come_first_with_their_cosines(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let turned = text(
        1,
        vec![
            chunk_at(90.0, &[]),
            chunk_at(30.0, &[]),
            chunk_at(180.0, &[]),
        ],
    );
    upsert(store, mine, &[turned, text(2, vec![chunk_at(60.0, &[])])]).await;
    let candidates = search(store, mine, &query(&[])).await;
    let order = [(1, 1), (2, 0), (1, 0), (1, 2)];
    assert_eq!(identities(&candidates.dense), order);
    near(&scores(&candidates.dense), &[0.866, 0.5, 0.0, -1.0]);
    assert_eq!(candidates.sparse, []);
}

pub(crate) async fn words_are_ranked_by_bm25(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let pieces = vec![
        chunk_at(0.0, &[(7, 1), (8, 7)]),
        chunk_at(0.0, &[(7, 1), (9, 2)]),
        chunk_at(0.0, &[(7, 5), (9, 1)]),
        chunk_at(0.0, &[(9, 3)]),
    ];
    upsert(store, mine, &[text(1, pieces)]).await;
    let hits = search(store, mine, &query(&[7])).await.sparse;
    assert_eq!(identities(&hits), [(1, 2), (1, 1), (1, 0)]);
    let expected = [bm25(5, 6, 3, 4), bm25(1, 3, 3, 4), bm25(1, 8, 3, 4)];
    near(&scores(&hits), &expected);
    let hits = search(store, mine, &query(&[7, 8])).await.sparse;
    assert_eq!(identities(&hits)[0], (1, 0), "it has both words");
    near(&scores(&hits)[..1], &[bm25(1, 8, 3, 4) + bm25(7, 8, 1, 4)]);
}

pub(crate) async fn a_rare_word_weighs_more_than_a_common_one(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let common = (0..9).map(|_| chunk_at(0.0, &[(1, 1)]));
    let pieces = [chunk_at(0.0, &[(2, 1)])].into_iter().chain(common);
    upsert(store, mine, &[text(1, pieces.collect())]).await;
    let hits = search(store, mine, &query(&[1, 2])).await.sparse;
    assert_eq!(identities(&hits)[0], (1, 0));
    near(&scores(&hits)[..2], &[bm25(1, 1, 1, 10), bm25(1, 1, 9, 10)]);
}

pub(crate) async fn a_repeated_query_word_counts_once(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    upsert(store, mine, &[text(1, vec![chunk_at(0.0, &[(3, 1)])])]).await;
    let once = search(store, mine, &query(&[3, 4])).await;
    let twice = search(store, mine, &query(&[3, 4, 3])).await;
    assert_eq!(identities(&once.sparse), [(1, 0)]);
    assert_eq!(once, twice);
}

pub(crate) async fn results_are_the_best_within_the_limit(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    // The best by vector are the last chunks, and the best by words come before them.
    let numbered = |number: u16| match number {
        20..25 => chunk_at(90.0, &[(1, 2 + number)]),
        27..30 => chunk_at(20.0 * f32::from(30 - number), &[(1, 1), (2, 9)]),
        _ => chunk_at(180.0, &[(1, 1), (2, 9)]),
    };
    let chunks: Vec<IndexedChunk> = (0..30).map(numbered).collect();
    upsert(store, mine, &[text(1, chunks)]).await;
    let mut query = query(&[1]);
    query.limit = 3;
    let candidates = search(store, mine, &query).await;
    assert_eq!(identities(&candidates.dense), [(1, 29), (1, 28), (1, 27)]);
    let by_words = identities(&candidates.sparse);
    assert_eq!(by_words.len(), 3);
    assert!(
        by_words
            .iter()
            .all(|(_, position)| (20..25).contains(position))
    );
    assert!(scores(&candidates.sparse).is_sorted_by(|one, next| one >= next));
    query.limit = 0;
    assert_eq!(search(store, mine, &query).await, Candidates::default());
}

pub(crate) async fn a_query_without_vector_or_words_uses_the_other(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    upsert(store, mine, &[text(1, vec![chunk_at(0.0, &[(3, 1)])])]).await;
    let by_vector = search(store, mine, &query(&[])).await;
    assert_eq!((by_vector.dense.len(), by_vector.sparse.len()), (1, 0));
    assert_eq!(search(store, mine, &query(&[4])).await.sparse, []);
    let mut query = query(&[3]);
    query.dense = None;
    let by_words = search(store, mine, &query).await;
    assert_eq!((by_words.dense.len(), by_words.sparse.len()), (0, 1));
    query.terms.clear();
    assert_eq!(search(store, mine, &query).await, Candidates::default());
}

pub(crate) async fn chunks_without_vector_or_words_match_by_the_other(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let wordless = chunk_at(10.0, &[]);
    let mut plain = chunk_at(0.0, &[(3, 1)]);
    plain.dense = None;
    let mut bare = chunk_at(0.0, &[]);
    bare.dense = None;
    upsert(store, mine, &[text(1, vec![wordless, plain, bare])]).await;
    let candidates = search(store, mine, &query(&[3])).await;
    assert_eq!(identities(&candidates.dense), [(1, 0)]);
    assert_eq!(identities(&candidates.sparse), [(1, 1)]);
    assert_eq!(
        store.count(mine).await.unwrap(),
        3,
        "empty chunks are stored, too"
    );
}

pub(crate) async fn locations_are_returned_as_stored(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let locations = [
        ChunkLocation {
            kind: Kind::Method,
            symbol: Some("größer\u{202e}\0".to_owned()),
            parent: Some("Zahl<T>".to_owned()),
            bytes: (0, u32::MAX),
            lines: (1, u32::MAX),
            declaration: Some(DeclarationPlace {
                bytes: (3, u32::MAX),
                lines: (2, u32::MAX),
                body: 9,
            }),
        },
        ChunkLocation {
            kind: Kind::Entry,
            symbol: None,
            parent: None,
            bytes: (7, 7),
            lines: (3, 3),
            declaration: None,
        },
    ];
    let stored = locations.clone().map(|location| IndexedChunk {
        location,
        terms: Terms {
            counts: vec![(u32::MAX, u16::MAX)],
            length: 65_535,
        },
        dense: Some(vec![1.0, 0.0]),
    });
    upsert(store, mine, &[text(1, stored.to_vec())]).await;
    let candidates = search(store, mine, &query(&[u32::MAX])).await;
    for mut hits in [candidates.dense, candidates.sparse] {
        hits.sort_by_key(|hit| hit.position);
        assert!(hits.iter().all(|hit| hit.project == mine.project));
        let found: Vec<ChunkLocation> = hits.into_iter().map(|hit| hit.location).collect();
        assert_eq!(found, locations);
    }
}

pub(crate) async fn a_store_without_vectors_ranks_by_words(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let pieces = vec![chunk_at(0.0, &[(3, 1)]), chunk_at(0.0, &[(4, 1)])];
    upsert(store, mine, &[text(1, pieces)]).await;
    let candidates = search(store, mine, &query(&[4])).await;
    assert_eq!(candidates.dense, []);
    assert_eq!(identities(&candidates.sparse), [(1, 1)]);
    assert_eq!(store.count(mine).await.unwrap(), 2);
}
