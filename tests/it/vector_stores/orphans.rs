//! Chunks that an interrupted run left in a vector store are removed by the next run.

use std::{fs, path::Path};

use e2e::{Harness, Qdrant, Repo, Stack, Tenant, git};
use sqlx::PgPool;

/// Postgres refuses to record that a text was stored, as if the worker had ended before.
const NOTHING_ARRIVES: &str = "create trigger refused before insert or update on index_texts \
    for each row when (new.is_home) execute function refuse()";
/// Postgres refuses to record that a text was removed.
const NOTHING_LEAVES: &str = "create trigger refused before delete on index_texts \
    for each row execute function refuse()";
const REFUSE: &str = "create function refuse() returns trigger language plpgsql as \
    $$ begin raise exception 'refused'; end $$";
const DROP: &str = "drop trigger refused on index_texts";

fn acme() -> Tenant {
    let repo = Repo::new()
        .file("gate.rs", "pub fn open_gate() {}\n")
        .file("bell.rs", "pub fn ring_bell() {}\n");
    Tenant::new("acme").project("site", repo.commit())
}

struct Scene {
    stack: Stack,
    owner: PgPool,
}

impl Scene {
    async fn of(harness: Harness) -> Scene {
        let stack = harness.start().await;
        let owner = stack.database().owner();
        let owner = PgPool::connect_with(owner).await.unwrap();
        sqlx::query(REFUSE).execute(&owner).await.unwrap();
        Scene { stack, owner }
    }

    async fn run(&self, statement: &'static str) {
        sqlx::query(statement).execute(&self.owner).await.unwrap();
    }

    async fn number(&self, query: &'static str) -> u64 {
        let number: i64 = sqlx::query_scalar(query)
            .fetch_one(&self.owner)
            .await
            .unwrap();
        number.try_into().unwrap()
    }

    /// Waits until the store has so many chunks, and the index as many documents.
    async fn becomes(&self, home: &impl AsyncFn(&Scene) -> u64, chunks: u64, documents: u64) {
        let count = "select count(*) from index_documents";
        self.stack
            .eventually(async || {
                let is = (home(self).await, self.number(count).await);
                (is == (chunks, documents)).then_some(())
            })
            .await;
    }

    /// Commits what `change` does to the project's folder.
    fn commit(&self, change: impl FnOnce(&Path)) {
        let folder = self.stack.folder("acme", "site");
        change(&folder);
        git(&folder, &["add", "-A"]);
        git(&folder, &["commit", "-qm", "change"]);
    }

    /// A text is stored without a record of it; then no file contains it any longer.
    async fn is_rid_of_what_nobody_noted(&self, home: impl AsyncFn(&Scene) -> u64) {
        self.becomes(&home, 2, 2).await;
        self.run(NOTHING_ARRIVES).await;
        let lamp = |folder: &Path| {
            fs::write(folder.join("lamp.rs"), "pub fn light_lamp() {}\n").unwrap();
        };
        self.commit(lamp);
        self.becomes(&home, 3, 2).await;
        self.commit(|folder| {
            fs::remove_file(folder.join("lamp.rs")).unwrap();
            fs::write(folder.join("door.rs"), "pub fn lock_door() {}\n").unwrap();
        });
        self.run(DROP).await;
        self.becomes(&home, 3, 3).await;
        // The row is deleted once the store has confirmed the removal.
        let lamp = "select count(*) from index_texts where not is_home";
        let is_gone = async || (self.number(lamp).await == 0).then_some(());
        self.stack.eventually(is_gone).await;
    }
}

async fn rows(scene: &Scene) -> u64 {
    scene.number("select count(*) from index_pieces").await
}

#[tokio::test]
async fn the_next_run_removes_an_orphaned_text_from_postgres() {
    let scene = Scene::of(Harness::new().tenant(acme()).indexing()).await;
    scene.is_rid_of_what_nobody_noted(rows).await;
}

#[tokio::test]
async fn the_next_run_removes_an_orphaned_text_from_qdrant() {
    let qdrant = Qdrant::start().await;
    let scene = Scene::of(Harness::new().tenant(acme()).qdrant(&qdrant)).await;
    let points = async |_: &Scene| qdrant.chunks().await;
    scene.is_rid_of_what_nobody_noted(points).await;
}

#[tokio::test]
async fn a_text_that_went_and_was_not_noted_is_not_missed() {
    let scene = Scene::of(Harness::new().tenant(acme()).indexing()).await;
    scene.becomes(&rows, 2, 2).await;
    scene.run(NOTHING_LEAVES).await;
    scene.commit(|folder| fs::remove_file(folder.join("bell.rs")).unwrap());
    scene.becomes(&rows, 1, 1).await;
    let noted = "select sum(chunks)::bigint from index_texts";
    assert_eq!(scene.number(noted).await, 1, "no more than what exists");
    scene.run(DROP).await;
    scene.commit(|folder| fs::write(folder.join("door.rs"), "pub fn lock_door() {}\n").unwrap());
    scene.becomes(&rows, 2, 2).await;
    let texts = async || {
        let texts = scene.number("select count(*) from index_texts").await;
        (texts == 2).then_some(())
    };
    scene.stack.eventually(texts).await;
}
