//! A home answers within a tenant and the projects that it is asked about, and nothing tells
//! what else it keeps.

use super::{
    Home, ask, ask_all, blob, bm25, found, keep, near, piece, question, scores, shelf, text,
};

pub(crate) async fn no_tenant_finds_counts_or_removes_what_is_anothers(home: &dyn Home) {
    // The same project's id, too: it is the tenant that keeps them apart.
    let (mine, theirs) = (shelf(1, 1), shelf(2, 1));
    keep(home, mine, &[text(1, vec![piece(0.0, &[(1, 1)])])]).await;
    keep(
        home,
        theirs,
        &[
            text(1, vec![piece(45.0, &[(1, 1)])]),
            text(2, vec![piece(0.0, &[(1, 2)])]),
        ],
    )
    .await;
    let candidates = ask(home, mine, &question(&[1])).await;
    assert_eq!(found(&candidates.dense), [(1, 0)]);
    near(&scores(&candidates.dense), &[1.0]);
    assert_eq!(found(&candidates.sparse), [(1, 0)]);
    assert_eq!(home.count(mine).await.unwrap(), 1);
    home.remove(mine, &[blob(1), blob(2)]).await.unwrap();
    keep(home, mine, &[text(2, Vec::new())]).await;
    assert_eq!(home.count(mine).await.unwrap(), 0);
    assert_eq!(home.count(theirs).await.unwrap(), 2);
    let candidates = ask(home, theirs, &question(&[1])).await;
    assert_eq!(found(&candidates.dense), [(2, 0), (1, 0)]);
    assert_eq!(candidates.sparse.len(), 2);
}

pub(crate) async fn words_of_other_tenants_change_no_score(home: &dyn Home) {
    let mine = shelf(1, 1);
    let pieces = vec![piece(0.0, &[(1, 1)]), piece(0.0, &[(2, 1)])];
    keep(home, mine, &[text(1, pieces)]).await;
    let before = ask(home, mine, &question(&[1, 2])).await;
    let many = (0..50).map(|_| piece(0.0, &[(1, 1)])).collect();
    keep(home, shelf(2, 1), &[text(1, many)]).await;
    let after = ask(home, mine, &question(&[1, 2])).await;
    near(&scores(&before.sparse), &[bm25(1, 1, 1, 2); 2]);
    near(&scores(&after.sparse), &scores(&before.sparse));
}

pub(crate) async fn only_the_projects_that_are_asked_are_searched(home: &dyn Home) {
    let shelves = [1, 2, 3].map(|project| shelf(1, project));
    for (shelf, number) in shelves.into_iter().zip(1..) {
        keep(home, shelf, &[text(number, vec![piece(0.0, &[(1, 1)])])]).await;
    }
    let alone = ask(home, shelves[1], &question(&[1])).await;
    assert_eq!(found(&alone.dense), [(2, 0)]);
    assert_eq!(found(&alone.sparse), [(2, 0)]);
    let together = ask_all(home, &[shelves[0], shelves[2]], &question(&[1])).await;
    for mut hits in [together.dense, together.sparse] {
        hits.sort_by_key(|hit| hit.project);
        assert_eq!(found(&hits), [(1, 0), (3, 0)]);
        assert_eq!(hits[0].project, shelves[0].project);
        assert_eq!(hits[1].project, shelves[2].project);
    }
    assert_eq!(home.count(shelves[1]).await.unwrap(), 1);
}

pub(crate) async fn words_are_as_rare_as_in_all_projects_that_are_asked(home: &dyn Home) {
    let (one, other) = (shelf(1, 1), shelf(1, 2));
    keep(home, one, &[text(1, vec![piece(0.0, &[(1, 1)])])]).await;
    let pieces = (0..3).map(|_| piece(0.0, &[(2, 1)])).collect();
    keep(home, other, &[text(2, pieces)]).await;
    let alone = ask(home, one, &question(&[1])).await.sparse;
    near(&scores(&alone), &[bm25(1, 1, 1, 1)]);
    let together = ask_all(home, &[one, other], &question(&[1])).await;
    near(&scores(&together.sparse), &[bm25(1, 1, 1, 4)]);
}

pub(crate) async fn a_blob_of_two_projects_is_in_each_by_itself(home: &dyn Home) {
    let (one, other) = (shelf(1, 1), shelf(1, 2));
    let shared = [text(1, vec![piece(0.0, &[(1, 1)])])];
    keep(home, one, &shared).await;
    keep(home, other, &shared).await;
    home.remove(one, &[blob(1)]).await.unwrap();
    assert_eq!(home.count(one).await.unwrap(), 0);
    assert_eq!(
        found(&ask(home, other, &question(&[1])).await.sparse),
        [(1, 0)]
    );
}
