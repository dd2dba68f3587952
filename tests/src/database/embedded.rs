//! The cluster of a test process to which none was given: plain `cargo test`.
//!
//! It keeps its data in the system's folder for temporary files, so that the next run finds
//! cluster and template; of several test processes at once each takes a folder of its own.

use archway::{
    data_dir::DataDir,
    postgres::{EmbeddedPostgres, PostgresConfig},
};
use sqlx::postgres::PgConnectOptions;
use tokio::sync::oneshot;

/// Test processes that can run side by side.
const FOLDERS: u8 = 16;

/// Starts it on a thread that lives as long as the process: a test's own runtime does not.
pub(super) async fn start() -> PgConnectOptions {
    let (send, started) = oneshot::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let data = free_folder();
            let postgres = EmbeddedPostgres::start(&data, &PostgresConfig::default()).await;
            let postgres = postgres.unwrap_or_else(|error| panic!("{error}; or use tests/run"));
            send.send(postgres.owner()).expect("the starter waits");
            std::future::pending::<()>().await;
        });
    });
    started.await.expect("an embedded PostgreSQL")
}

fn free_folder() -> DataDir {
    let place = std::env::temp_dir();
    let mut folders = (0..FOLDERS).map(|number| place.join(format!("archway-tests-{number}")));
    folders
        .find_map(|folder| DataDir::open(&folder).ok())
        .expect("a free folder")
}
