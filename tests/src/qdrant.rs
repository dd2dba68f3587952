//! A server that speaks Qdrant's wire: the double that the index's home in Qdrant is tested with,
//! for whole stacks.

use qdrant_client::qdrant::{
    CountPoints, Filter, ListCollectionsRequest, collections_client::CollectionsClient,
    condition::ConditionOneOf, r#match::MatchValue, points_client::PointsClient,
};

use home::double::{Double, Mood};

// A folder of another crate: its files are taken as they are.
#[path = "../../workers/index/src/vector_store/tests"]
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

    /// The requests for chunks since this was asked last: what each is called, and whose chunks each
    /// of its filters lets be found; `None` for a filter that lets anybody's.
    pub fn requests(&self) -> Vec<(&'static str, Vec<Option<String>>)> {
        let seen = self.0.seen().into_iter();
        let points = seen.filter(|seen| seen.method.starts_with("points."));
        points
            .map(|seen| (seen.method, seen.filters.iter().map(tenant).collect()))
            .collect()
    }

    /// Loses every other chunk of all.
    pub fn lose_half(&self) {
        self.0.lose_half();
    }

    /// Loses all collections.
    pub fn lose_everything(&self) {
        self.0.lose_everything();
    }
}

fn tenant_of(shelf: &str) -> Option<String> {
    Some(shelf.split_once('/')?.0.to_owned())
}

/// The tenant that a filter demands.
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
