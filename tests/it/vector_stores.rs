//! What every home of the index promises, of the one in Postgres and memory. The cases are the ones
//! that the home in Qdrant is asked, beside it in `workers`, where there is no Postgres.

use archway_index::{
    embed::Model,
    vector_store::{MemoryBudget, PostgresStore, VectorStore},
};
use archway_store::{StoreConfig, Stores};
use e2e::Database;
use futures::{FutureExt, future::LocalBoxFuture};
use sqlx::{Connection, PgConnection};

use suite::cases::{self, StoreFixture};

// A folder of another crate: its files are used as they are.
#[macro_use]
#[path = "../../workers/index/src/vector_store/tests"]
mod suite {
    use archway_index as index;
    use archway_store as store;

    #[macro_use]
    pub(crate) mod cases;
}

mod alike;
mod late;
mod lost;
mod memory;
mod orphans;
mod qdrant;

mod in_postgres {
    every_case!(super::InPostgres);
}

/// A home in a database of its own.
struct InPostgres {
    store: PostgresStore,
    budget: MemoryBudget,
    stores: Stores,
    /// Ends with this value.
    database: Database,
}

impl InPostgres {
    /// One that has this much memory, in bytes.
    async fn with(dimensions: Option<usize>, budget: usize) -> InPostgres {
        let database = Database::create().await;
        let mut owner = PgConnection::connect_with(&database.owner()).await.unwrap();
        // The cases' tenants and projects are nobody's.
        let unbind = "alter table index_pieces \
                      drop constraint index_pieces_tenant_id_project_id_fkey";
        sqlx::query(unbind).execute(&mut owner).await.unwrap();
        owner.close().await.unwrap();
        let stores = Stores::connect(&StoreConfig {
            url: database.url("archway_worker").into(),
            max_connections: 4,
        });
        let stores = stores.unwrap();
        let model = dimensions.map(|dimensions| Model {
            name: "test".to_owned(),
            dimensions,
        });
        let budget = MemoryBudget {
            bytes: budget,
            ..MemoryBudget::default()
        };
        InPostgres {
            store: PostgresStore::new(stores.clone(), "test", model.as_ref(), budget.clone()),
            budget,
            stores,
            database,
        }
    }
}

impl StoreFixture for InPostgres {
    fn start(dimensions: Option<usize>) -> LocalBoxFuture<'static, Self> {
        InPostgres::with(dimensions, 64 << 20).boxed_local()
    }

    fn store(&self) -> &dyn VectorStore {
        &self.store
    }

    fn end(self) -> LocalBoxFuture<'static, ()> {
        async move { self.stores.close().await }.boxed_local()
    }
}
