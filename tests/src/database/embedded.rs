//! The cluster of a test process that was given none, as under plain `cargo test`.
//!
//! It keeps its data in the system's temporary folder, so that the next run finds cluster and template.
//! Each of several concurrent processes takes a folder of its own.

use archway::{
    data_dir::DataDir,
    postgres::{EmbeddedPostgres, PostgresConfig},
};
use sqlx::postgres::PgConnectOptions;
use tokio::sync::oneshot;

/// The most test processes that can run at once.
const FOLDERS: u8 = 16;

/// Starts it on a thread that lives as long as the process. A test's runtime ends earlier.
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
