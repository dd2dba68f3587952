//! Filters restrict the matches and leave their scores alone.

use std::{collections::HashSet, sync::Arc};

use super::{
    AllowedBlobs, Blob, Candidates, Filter, Hit, IndexedChunk, Kind, NearestQuery, VectorStore,
    blob, chunk_at, identities, project_key, query, scores, search, search_all, text, upsert,
};

fn of_kind(kind: Kind) -> IndexedChunk {
    let mut chunk_at = chunk_at(0.0, &[(1, 1)]);
    chunk_at.location.kind = kind;
    chunk_at
}

fn filtered(kinds: Option<&[Kind]>, blobs: Option<&[u32]>) -> NearestQuery {
    let blobs = blobs.map(|blobs| blobs.iter().copied().map(blob).collect::<HashSet<Blob>>());
    NearestQuery {
        filter: Filter {
            kinds: kinds.map(<[Kind]>::to_vec),
            blobs: blobs.map(Arc::new).map(AllowedBlobs::Only),
        },
        ..query(&[1])
    }
}

fn except(blobs: &[u32]) -> NearestQuery {
    let mut query = filtered(None, Some(blobs));
    if let Some(AllowedBlobs::Only(blobs)) = query.filter.blobs {
        query.filter.blobs = Some(AllowedBlobs::Except(blobs));
    }
    query
}

fn sorted(hits: &[Hit]) -> Vec<(u32, u32)> {
    let mut found = identities(hits);
    found.sort_unstable();
    found
}

pub(crate) async fn only_chunks_that_pass_the_filter_match(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let texts = [
        text(1, vec![of_kind(Kind::Function), of_kind(Kind::Class)]),
        text(2, vec![of_kind(Kind::Class), of_kind(Kind::Section)]),
        text(3, vec![of_kind(Kind::Class)]),
    ];
    upsert(store, mine, &texts).await;
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
        let candidates = search(store, mine, &filtered(kinds, blobs)).await;
        assert_eq!(sorted(&candidates.dense), expected, "{kinds:?} {blobs:?}");
        assert_eq!(sorted(&candidates.sparse), expected, "{kinds:?} {blobs:?}");
    }
    let candidates = search(store, mine, &except(&[1, 3, 99])).await;
    assert_eq!(sorted(&candidates.dense), [(2, 0), (2, 1)]);
    assert_eq!(candidates.dense.len(), candidates.sparse.len());
}

pub(crate) async fn a_filter_changes_no_score(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let others = (0..5).map(|_| chunk_at(0.0, &[(2, 1)]));
    let pieces = others.chain([of_kind(Kind::Class)]);
    upsert(store, mine, &[text(1, pieces.collect())]).await;
    let all = search(store, mine, &filtered(None, None)).await.sparse;
    let some = search(store, mine, &filtered(Some(&[Kind::Class]), None)).await;
    assert_eq!(scores(&all).len(), 1);
    assert_eq!(all, some.sparse);
}

pub(crate) async fn a_filter_without_values_matches_nothing(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    upsert(store, mine, &[text(1, vec![of_kind(Kind::Class)])]).await;
    for filter in [filtered(Some(&[]), None), filtered(None, Some(&[]))] {
        assert_eq!(search(store, mine, &filter).await, Candidates::default());
    }
    let nowhere = search_all(store, &[], &filtered(None, None)).await;
    assert_eq!(nowhere, Candidates::default());
}

pub(crate) async fn a_filter_of_many_blobs_misses_none(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let pieces = |number: u16| {
        vec![chunk_at(
            f32::from(15 * number).min(180.0),
            &[(1, 1), (2, number)],
        )]
    };
    let texts: Vec<_> = (1..=20_u16)
        .map(|number| text(u32::from(number) * 1000, pieces(number)))
        .collect();
    upsert(store, mine, &texts).await;
    let many: Vec<u32> = (2000..21_000).collect();
    let mut query = filtered(None, Some(&many));
    query.limit = 5;
    let candidates = search(store, mine, &query).await;
    let best = [2, 3, 4, 5, 6].map(|number| (number * 1000, 0));
    assert_eq!(identities(&candidates.dense), best);
    assert_eq!(
        identities(&candidates.sparse),
        best,
        "shorter chunks score higher"
    );
}
