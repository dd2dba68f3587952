//! A stored text exists once, until it is replaced or removed.

use super::{
    IndexedChunk, IndexedText, VectorStore, blob, chunk_at, identities, project_key, query, search,
    text, upsert,
};

pub(crate) async fn storing_a_text_twice_keeps_one_copy(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let texts = [text(
        1,
        vec![chunk_at(0.0, &[(1, 1)]), chunk_at(9.0, &[(2, 1)])],
    )];
    upsert(store, mine, &texts).await;
    let first = search(store, mine, &query(&[2])).await;
    upsert(store, mine, &texts).await;
    assert_eq!(store.count(mine).await.unwrap(), 2);
    let again = search(store, mine, &query(&[2])).await;
    assert_eq!(identities(&again.dense), identities(&first.dense));
    assert_eq!(identities(&again.sparse), identities(&first.sparse));
}

pub(crate) async fn a_replaced_text_loses_its_old_chunks(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let three = vec![
        chunk_at(0.0, &[(1, 1)]),
        chunk_at(30.0, &[(1, 1)]),
        chunk_at(60.0, &[(1, 1)]),
    ];
    upsert(store, mine, &[text(1, three.clone()), text(2, three)]).await;
    let one = vec![chunk_at(15.0, &[(2, 1)])];
    upsert(store, mine, &[text(1, one)]).await;
    assert_eq!(store.count(mine).await.unwrap(), 4);
    let candidates = search(store, mine, &query(&[2])).await;
    assert_eq!(
        identities(&candidates.dense),
        [(2, 0), (1, 0), (2, 1), (2, 2)]
    );
    assert_eq!(identities(&candidates.sparse), [(1, 0)]);
    let former = search(store, mine, &query(&[1])).await.sparse;
    assert!(identities(&former).iter().all(|(number, _)| *number == 2));
    let two = vec![chunk_at(0.0, &[(3, 1)]), chunk_at(0.0, &[(3, 1)])];
    upsert(store, mine, &[text(1, two)]).await;
    assert_eq!(store.count(mine).await.unwrap(), 5, "it grew again");
}

pub(crate) async fn a_text_without_chunks_replaces_its_old_chunks(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let one = vec![chunk_at(0.0, &[(1, 1)])];
    upsert(store, mine, &[text(1, one.clone()), text(2, one)]).await;
    upsert(store, mine, &[text(1, Vec::new()), text(3, Vec::new())]).await;
    assert_eq!(
        identities(&search(store, mine, &query(&[1])).await.dense),
        [(2, 0)]
    );
    assert_eq!(store.count(mine).await.unwrap(), 1);
    upsert(store, mine, &[]).await;
    assert_eq!(store.count(mine).await.unwrap(), 1);
}

pub(crate) async fn removing_a_blob_keeps_the_others(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let two = vec![chunk_at(0.0, &[(1, 1)]), chunk_at(1.0, &[(1, 1)])];
    let texts = [1, 2, 3].map(|number| text(number, two.clone()));
    upsert(store, mine, &texts).await;
    store.remove(mine, &[blob(1), blob(3)]).await.unwrap();
    let candidates = search(store, mine, &query(&[1])).await;
    assert_eq!(identities(&candidates.dense), [(2, 0), (2, 1)]);
    let mut by_words = identities(&candidates.sparse);
    by_words.sort_unstable();
    assert_eq!(by_words, [(2, 0), (2, 1)]);
    assert_eq!(store.count(mine).await.unwrap(), 2);
}

pub(crate) async fn removing_a_missing_blob_is_no_error(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    store.remove(mine, &[blob(1)]).await.unwrap();
    upsert(store, mine, &[text(1, vec![chunk_at(0.0, &[(1, 1)])])]).await;
    store.remove(mine, &[]).await.unwrap();
    store.remove(mine, &[blob(2)]).await.unwrap();
    assert_eq!(store.count(mine).await.unwrap(), 1);
}

pub(crate) async fn many_chunks_are_all_stored(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let long: Vec<IndexedChunk> = (0..700_u16)
        .map(|number| chunk_at(f32::from(number) / 10.0, &[(u32::from(number), 1)]))
        .collect();
    let short = (2..500).map(|number| text(number, vec![chunk_at(180.0, &[(9999, 1)])]));
    let texts: Vec<IndexedText> = [text(1, long)].into_iter().chain(short).collect();
    upsert(store, mine, &texts).await;
    assert_eq!(store.count(mine).await.unwrap(), 700 + 498);
    for last in [0, 255, 256, 699] {
        assert_eq!(
            identities(&search(store, mine, &query(&[last])).await.sparse),
            [(1, last)]
        );
    }
    let gone: Vec<_> = (1..499).map(blob).collect();
    store.remove(mine, &gone).await.unwrap();
    assert_eq!(store.count(mine).await.unwrap(), 1);
}

pub(crate) async fn concurrent_writes_of_a_text_keep_one_copy(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let texts: Vec<IndexedText> = (1..40)
        .map(|number| {
            text(
                number,
                vec![chunk_at(0.0, &[(1, 1)]), chunk_at(1.0, &[(2, 1)])],
            )
        })
        .collect();
    futures::join!(
        upsert(store, mine, &texts),
        upsert(store, mine, &texts),
        upsert(store, project_key(2, 1), &texts),
    );
    assert_eq!(store.count(mine).await.unwrap(), 78);
    assert_eq!(store.count(project_key(2, 1)).await.unwrap(), 78);
}
