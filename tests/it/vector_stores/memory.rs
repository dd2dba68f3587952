//! The memory of the store in Postgres: bounded, without losing results of a query.

use std::time::Duration;

use archway_index::vector_store::{IndexedText, SearchedProject, VectorStore, VectorStoreError};
use archway_store::ProjectKey;
use sqlx::{Connection, PgConnection};
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    InPostgres,
    cases::{chunk_at, project_key, query, text},
};

/// How long a test waits on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// The memory that the projects of these tests share, in bytes.
const BUDGET: usize = 64 << 10;

/// A text of so many chunks of one word each: 19 bytes in its row, 38 in memory.
fn large(number: u32, chunks: usize) -> IndexedText {
    text(
        number,
        (0..chunks).map(|_| chunk_at(0.0, &[(1, 1)])).collect(),
    )
}

/// The number of matches by words in a version of a project.
async fn found(
    stage: &InPostgres,
    project_key: ProjectKey,
    edition: i64,
) -> Result<usize, VectorStoreError> {
    found_by(stage, project_key, edition, query(&[1]).deadline).await
}

async fn found_by(
    stage: &InPostgres,
    project_key: ProjectKey,
    edition: i64,
    deadline: Instant,
) -> Result<usize, VectorStoreError> {
    let mut query = query(&[1]);
    query.limit = 10_000;
    query.deadline = deadline;
    let project = project_key.project;
    let asked = [SearchedProject {
        project,
        edition,
        store_id: Uuid::nil(),
        chunks: 0,
    }];
    let candidates = stage
        .store
        .nearest(project_key.tenant, &asked, &query)
        .await?;
    Ok(candidates.sparse.len())
}

async fn keep(stage: &InPostgres, project_key: ProjectKey, text: IndexedText) {
    stage.store.upsert(project_key, &[text]).await.unwrap();
}

#[tokio::test]
async fn a_project_is_read_when_its_edition_is_new_and_not_before() {
    let stage = InPostgres::with(Some(2), BUDGET).await;
    let mine = project_key(1, 1);
    keep(&stage, mine, large(1, 3)).await;
    assert_eq!(found(&stage, mine, 1).await.unwrap(), 3);
    keep(&stage, mine, large(2, 4)).await;
    assert_eq!(found(&stage, mine, 1).await.unwrap(), 3, "it is held");
    assert_eq!(found(&stage, mine, 2).await.unwrap(), 7);
    assert_eq!(found(&stage, mine, 1).await.unwrap(), 7, "a later one does");
}

#[tokio::test]
async fn a_project_that_loads_too_slowly_for_one_call_is_ready_for_the_next() {
    let stage = InPostgres::with(Some(2), BUDGET).await;
    let mine = project_key(1, 1);
    keep(&stage, mine, large(1, 3)).await;
    let owner = stage.database.owner();
    let mut owner = PgConnection::connect_with(&owner).await.unwrap();
    let mut locked = owner.begin().await.unwrap();
    let lock = sqlx::query("lock table index_pieces");
    lock.execute(&mut *locked).await.unwrap();
    let soon = Instant::now() + Duration::from_millis(300);
    let late = found_by(&stage, mine, 1, soon).await.unwrap_err();
    assert!(matches!(late, VectorStoreError::Late(_)), "{late:?}");
    locked.rollback().await.unwrap();
    let deadline = Instant::now() + PATIENCE;
    while stage.budget.used.get() == 0 {
        assert!(Instant::now() < deadline, "no read finished");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stage.database.close().await;
    assert_eq!(found(&stage, mine, 1).await.unwrap(), 3, "it is held");
}

#[tokio::test]
async fn evicted_projects_are_read_again() {
    let stage = InPostgres::with(Some(2), BUDGET).await;
    let (one, other) = (project_key(1, 1), project_key(2, 1));
    keep(&stage, one, large(1, 1200)).await;
    keep(&stage, other, large(1, 1300)).await;
    assert_eq!(found(&stage, one, 1).await.unwrap(), 1200);
    // Seen as soon as it is read again, which happens in no other way.
    keep(&stage, one, large(2, 1)).await;
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert_eq!(found(&stage, other, 1).await.unwrap(), 1300);
        match found(&stage, one, 1).await.unwrap() {
            1200 => assert!(Instant::now() < deadline, "both are held"),
            found => break assert_eq!(found, 1201),
        }
    }
}

#[tokio::test]
async fn a_project_larger_than_all_memory_is_refused_and_no_other() {
    let stage = InPostgres::with(Some(2), BUDGET).await;
    let (one, other) = (project_key(1, 1), project_key(1, 2));
    keep(&stage, other, large(1, 5)).await;
    // Too large after reading, and too large to read.
    for chunks in [2500, 10_000] {
        keep(&stage, one, large(1, chunks)).await;
        let refused = found(&stage, one, 1).await.unwrap_err();
        let VectorStoreError::TooLarge { needed, allowed } = refused else {
            panic!("{refused:?}");
        };
        assert!(needed > allowed && allowed == BUDGET, "{needed}");
        assert_eq!(found(&stage, other, 1).await.unwrap(), 5);
    }
    assert_eq!(stage.store.count(one).await.unwrap(), 10_000);
}

#[tokio::test]
async fn of_several_projects_those_that_fit_into_the_memory_are_searched() {
    let stage = InPostgres::with(Some(2), BUDGET).await;
    let (one, other) = (project_key(1, 1), project_key(1, 2));
    let (small, huge) = (project_key(1, 3), project_key(1, 4));
    keep(&stage, one, large(1, 1200)).await;
    keep(&stage, other, large(1, 1300)).await;
    keep(&stage, small, large(1, 5)).await;
    keep(&stage, huge, large(1, 10_000)).await;
    let asked = |key: ProjectKey| SearchedProject {
        project: key.project,
        edition: 1,
        store_id: Uuid::nil(),
        chunks: 0,
    };
    let mut query = query(&[1]);
    query.limit = 10_000;
    let all = [one, huge, other, small].map(asked);
    for _ in 0..2 {
        let found = stage.store.nearest(one.tenant, &all, &query).await.unwrap();
        assert_eq!(found.sparse.len(), 1205);
        assert_eq!(found.unsearched, [huge.project, other.project]);
    }
    query.required = Some(huge.project);
    let refused = stage.store.nearest(one.tenant, &all, &query).await;
    assert!(matches!(refused, Err(VectorStoreError::TooLarge { .. })));
    query.required = None;
    let refused = stage.store.nearest(one.tenant, &all[1..2], &query).await;
    assert!(matches!(refused, Err(VectorStoreError::TooLarge { .. })));
}

#[tokio::test]
async fn without_postgres_cached_projects_answer_and_others_fail() {
    let stage = InPostgres::with(Some(2), BUDGET).await;
    let (one, other) = (project_key(1, 1), project_key(1, 2));
    keep(&stage, one, large(1, 3)).await;
    keep(&stage, other, large(1, 4)).await;
    assert_eq!(found(&stage, one, 1).await.unwrap(), 3);
    stage.database.close().await;
    assert_eq!(found(&stage, one, 1).await.unwrap(), 3);
    let away = found(&stage, other, 1).await.unwrap_err();
    assert!(
        matches!(away, VectorStoreError::Unavailable { .. }),
        "{away:?}"
    );
    stage.database.open().await;
    assert_eq!(found(&stage, other, 1).await.unwrap(), 4);
}
