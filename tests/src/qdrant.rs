//! The double of Qdrant from the unit tests of the index, for whole stacks.

use qdrant_client::qdrant::{
    CountPoints, Filter, ListCollectionsRequest, collections_client::CollectionsClient,
    condition::ConditionOneOf, r#match::MatchValue, points_client::PointsClient,
};

use store_tests::double::{Behavior, QdrantDouble};

// Includes files of another crate.
#[path = "../../workers/index/src/vector_store/tests"]
mod store_tests {
    #[expect(dead_code, reason = "the unit tests use more of it")]
    pub(crate) mod double;
}

/// A Qdrant on loopback, stopped on drop.
pub struct Qdrant(QdrantDouble);

impl Qdrant {
    /// Starts an empty server.
    pub async fn start() -> Qdrant {
        Qdrant(QdrantDouble::start().await)
    }

    /// Its URL.
    pub fn url(&self) -> String {
        self.0.url()
    }

    /// Stops it like a crash; its data survives.
    pub fn stop(&mut self) {
        self.0.stop();
    }

    /// Restarts it at the same address.
    pub async fn start_again(&mut self) {
        self.0.restart().await;
    }

    /// Accepts requests and answers none, until [`speak`](Self::speak).
    pub fn fall_silent(&self) {
        self.0.set_behavior(Behavior::Silent);
    }

    /// Answers again.
    pub fn speak(&self) {
        self.0.set_behavior(Behavior::Normal);
    }

    /// The number of chunks, of all tenants.
    pub async fn chunks(&self) -> u64 {
        let mut collections = CollectionsClient::connect(self.url()).await.unwrap();
        let list = collections.list(ListCollectionsRequest {}).await.unwrap();
        let mut points = PointsClient::connect(self.url()).await.unwrap();
        let mut chunks = 0;
        for collection in list.into_inner().collections {
            let count = CountPoints {
                collection_name: collection.name,
                exact: Some(true),
                ..CountPoints::default()
            };
            let count = points.count(count).await.unwrap().into_inner();
            chunks += count.result.unwrap().count;
        }
        chunks
    }

    /// The requests for chunks since the last call: the method, and for each filter its tenant (`None`
    /// if it names none).
    pub fn requests(&self) -> Vec<(&'static str, Vec<Option<String>>)> {
        let requests = self.0.take_requests().into_iter();
        let points = requests.filter(|request| request.method.starts_with("points."));
        points
            .map(|request| (request.method, request.filters.iter().map(tenant).collect()))
            .collect()
    }

    /// Loses every other chunk.
    pub fn lose_half(&self) {
        self.0.lose_half();
    }

    /// Loses all collections.
    pub fn lose_everything(&self) {
        self.0.lose_all();
    }
}

fn tenant_of(shelf: &str) -> Option<String> {
    Some(shelf.split_once('/')?.0.to_owned())
}

/// The tenant that a filter names.
fn tenant(filter: &Filter) -> Option<String> {
    filter.must.iter().find_map(|condition| {
        let Some(ConditionOneOf::Field(field)) = &condition.condition_one_of else {
            return None;
        };
        match field.r#match.as_ref()?.match_value.as_ref()? {
            MatchValue::Keyword(shelf) if field.key == "shelf" => tenant_of(shelf),
            MatchValue::Keywords(shelves) if field.key == "shelf" => {
                tenant_of(shelves.strings.first()?)
            }
            _ => None,
        }
    })
}
