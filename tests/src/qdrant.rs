//! A server that speaks Qdrant's wire: the double that the index's home in Qdrant is tested with,
//! for whole stacks.

use qdrant_client::qdrant::{
    CountPoints, ListCollectionsRequest, collections_client::CollectionsClient,
    points_client::PointsClient,
};

use home::double::{Double, Mood};

// A folder of another crate: its files are taken as they are.
#[path = "../../workers/src/index/home/tests"]
mod home {
    #[expect(dead_code, reason = "the home's own tests ask more of it")]
    pub(crate) mod double;
}

/// A Qdrant on loopback; it ends with this value.
pub struct Qdrant(Double);

impl Qdrant {
    /// One that has nothing.
    pub async fn start() -> Qdrant {
        Qdrant(Double::start().await)
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        self.0.url()
    }

    /// Ends it as a crash would. It keeps what it has.
    pub fn stop(&mut self) {
        self.0.stop();
    }

    /// Starts it again, at the same address.
    pub async fn start_again(&mut self) {
        self.0.start_again().await;
    }

    /// Takes requests from now on, and answers none.
    pub fn fall_silent(&self) {
        self.0.be(Mood::Silent);
    }

    /// Answers again.
    pub fn speak(&self) {
        self.0.be(Mood::Well);
    }

    /// How many chunks it has, of all tenants.
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

    /// Loses all collections.
    pub fn lose_everything(&self) {
        self.0.lose_everything();
    }
}
