//! A store answers within the tenant and the named projects, and reveals nothing about its other
//! chunks.

use super::{
    VectorStore, blob, bm25, chunk_at, identities, near, project_key, query, scores, search,
    search_all, text, upsert,
};

pub(crate) async fn tenants_cannot_find_count_or_remove_anothers_chunks(store: &dyn VectorStore) {
    // With equal project ids, only the tenant separates them.
    let (mine, theirs) = (project_key(1, 1), project_key(2, 1));
    upsert(store, mine, &[text(1, vec![chunk_at(0.0, &[(1, 1)])])]).await;
    upsert(
        store,
        theirs,
        &[
            text(1, vec![chunk_at(45.0, &[(1, 1)])]),
            text(2, vec![chunk_at(0.0, &[(1, 2)])]),
        ],
    )
    .await;
    let candidates = search(store, mine, &query(&[1])).await;
    assert_eq!(identities(&candidates.dense), [(1, 0)]);
    near(&scores(&candidates.dense), &[1.0]);
    assert_eq!(identities(&candidates.sparse), [(1, 0)]);
    assert_eq!(store.count(mine).await.unwrap(), 1);
    store.remove(mine, &[blob(1), blob(2)]).await.unwrap();
    upsert(store, mine, &[text(2, Vec::new())]).await;
    assert_eq!(store.count(mine).await.unwrap(), 0);
    assert_eq!(store.count(theirs).await.unwrap(), 2);
    let candidates = search(store, theirs, &query(&[1])).await;
    assert_eq!(identities(&candidates.dense), [(2, 0), (1, 0)]);
    assert_eq!(candidates.sparse.len(), 2);
}

pub(crate) async fn words_of_other_tenants_change_no_score(store: &dyn VectorStore) {
    let mine = project_key(1, 1);
    let pieces = vec![chunk_at(0.0, &[(1, 1)]), chunk_at(0.0, &[(2, 1)])];
    upsert(store, mine, &[text(1, pieces)]).await;
    let before = search(store, mine, &query(&[1, 2])).await;
    let many = (0..50).map(|_| chunk_at(0.0, &[(1, 1)])).collect();
    upsert(store, project_key(2, 1), &[text(1, many)]).await;
    let after = search(store, mine, &query(&[1, 2])).await;
    near(&scores(&before.sparse), &[bm25(1, 1, 1, 2); 2]);
    near(&scores(&after.sparse), &scores(&before.sparse));
}

pub(crate) async fn only_the_named_projects_are_searched(store: &dyn VectorStore) {
    let project_keys = [1, 2, 3].map(|project| project_key(1, project));
    for (project_key, number) in project_keys.into_iter().zip(1..) {
        upsert(
            store,
            project_key,
            &[text(number, vec![chunk_at(0.0, &[(1, 1)])])],
        )
        .await;
    }
    let alone = search(store, project_keys[1], &query(&[1])).await;
    assert_eq!(identities(&alone.dense), [(2, 0)]);
    assert_eq!(identities(&alone.sparse), [(2, 0)]);
    let together = search_all(store, &[project_keys[0], project_keys[2]], &query(&[1])).await;
    for mut hits in [together.dense, together.sparse] {
        hits.sort_by_key(|hit| hit.project);
        assert_eq!(identities(&hits), [(1, 0), (3, 0)]);
        assert_eq!(hits[0].project, project_keys[0].project);
        assert_eq!(hits[1].project, project_keys[2].project);
    }
    assert_eq!(store.count(project_keys[1]).await.unwrap(), 1);
}

pub(crate) async fn document_frequencies_span_the_searched_projects(store: &dyn VectorStore) {
    let (one, other) = (project_key(1, 1), project_key(1, 2));
    upsert(store, one, &[text(1, vec![chunk_at(0.0, &[(1, 1)])])]).await;
    let pieces = (0..3).map(|_| chunk_at(0.0, &[(2, 1)])).collect();
    upsert(store, other, &[text(2, pieces)]).await;
    let alone = search(store, one, &query(&[1])).await.sparse;
    near(&scores(&alone), &[bm25(1, 1, 1, 1)]);
    let together = search_all(store, &[one, other], &query(&[1])).await;
    near(&scores(&together.sparse), &[bm25(1, 1, 1, 4)]);
}

pub(crate) async fn projects_store_a_shared_blob_separately(store: &dyn VectorStore) {
    let (one, other) = (project_key(1, 1), project_key(1, 2));
    let shared = [text(1, vec![chunk_at(0.0, &[(1, 1)])])];
    upsert(store, one, &shared).await;
    upsert(store, other, &shared).await;
    store.remove(one, &[blob(1)]).await.unwrap();
    assert_eq!(store.count(one).await.unwrap(), 0);
    assert_eq!(
        identities(&search(store, other, &query(&[1])).await.sparse),
        [(1, 0)]
    );
}
