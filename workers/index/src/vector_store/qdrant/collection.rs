//! The collection: one for each embedding model, checked before it is first used, and again after
//! the server was away or lost it. Only indexing makes it.
//!
//! It is made with a random id among its metadata, in one step: several workers may make it at once,
//! one does, and the others find its id, and add what is missing. A collection that was made before
//! there were ids has the id nil.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use qdrant_client::qdrant::{CollectionInfo, GetCollectionInfoRequest};
use tokio::{sync::Mutex, time::Instant};
use uuid::Uuid;

use super::{
    config::is_plain,
    failure::{Asking, Failure},
    fields::FIELDS,
    line::Line,
    shape::id,
};
use crate::{embed::Model, vector_store::HomeError};

/// The form of ids, payloads and words: another one gets collections of its own.
pub(super) const FORM: u32 = 2;
/// The first version that counts the words of one tenant alone.
const LEAST_VERSION: (u32, u32) = (1, 19);
/// How long who asks for chunks waits for another that looks after the collection.
const MOMENT: Duration = Duration::from_millis(100);
/// A model's name as part of the collection's.
const LONGEST_NAME: usize = 100;

/// A collection, and whether it was found as it should be.
pub(super) struct Collection {
    pub(super) name: String,
    pub(super) dimensions: Option<u64>,
    /// It was there, as it should be.
    checked: AtomicBool,
    /// Held by who looks after it.
    making: Mutex<()>,
}

impl Collection {
    /// The collection of a model's vectors; without one, of words alone.
    pub(super) fn new(prefix: &str, model: Option<&Model>) -> Self {
        Collection {
            name: name(prefix, model),
            dimensions: model.map(|model| model.dimensions as u64),
            checked: AtomicBool::new(false),
            making: Mutex::new(()),
        }
    }

    /// Whether it has vectors of meaning.
    pub(super) fn is_dense(&self) -> bool {
        self.dimensions.is_some()
    }

    /// It may no longer be as it was.
    pub(super) fn forget(&self) {
        self.checked.store(false, Ordering::Relaxed);
    }

    /// Whether it is there, as it should be; looked at once, and again after [`forget`](Self::forget).
    /// Makes nothing. While another looks, and the server says nothing, it is away.
    pub(super) async fn is_there(&self, line: &Line, asking: Asking) -> Result<bool, HomeError> {
        if self.checked.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let until = asking.until.min(Instant::now() + MOMENT);
        let waiting = tokio::time::timeout_at(until, self.making.lock()).await;
        let _making = waiting.map_err(|_elapsed| Failure::Paused.of(asking.what))?;
        if self.checked.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let is_there = self.met(line, asking).await?.is_some();
        self.checked.store(is_there, Ordering::Relaxed);
        Ok(is_there)
    }

    /// Makes it if it is not there, and what it lacks. Its id.
    pub(super) async fn make(&self, line: &Line, asking: Asking) -> Result<Uuid, HomeError> {
        let waiting = tokio::time::timeout_at(asking.until, self.making.lock()).await;
        let _making = waiting.map_err(|_elapsed| HomeError::Late(asking.what))?;
        let info = match self.met(line, asking).await? {
            Some(info) => info,
            None => self.create(line, asking).await?,
        };
        self.index_fields(&info, line, asking).await?;
        self.checked.store(true, Ordering::Relaxed);
        Ok(id(&info))
    }

    /// Its id as it is now; `None` if it is not there.
    pub(super) async fn id(&self, line: &Line, asking: Asking) -> Result<Option<Uuid>, HomeError> {
        match self.info(line, asking).await {
            Ok(info) => Ok(Some(id(&info))),
            Err(failure) => {
                // Who comes back may have lost it, or may be another.
                if failure.is_away() || failure.is_missing() {
                    self.forget();
                }
                match failure.is_missing() {
                    true => Ok(None),
                    false => Err(failure.of(asking.what)),
                }
            }
        }
    }

    /// The collection, if there is one, as it should be, of a server that is new enough.
    async fn met(&self, line: &Line, asking: Asking) -> Result<Option<CollectionInfo>, HomeError> {
        self.check_server(line, asking).await?;
        let info = match self.info(line, asking).await {
            Err(failure) if failure.is_missing() => return Ok(None),
            other => other.map_err(|failure| failure.of(asking.what))?,
        };
        self.check(&info)?;
        Ok(Some(info))
    }

    async fn check_server(&self, line: &Line, asking: Asking) -> Result<(), HomeError> {
        let health = line.health(asking).await;
        let version = health.map_err(|it| it.of(asking.what))?.version;
        if parsed(&version).is_some_and(|version| version >= LEAST_VERSION) {
            return Ok(());
        }
        let (major, minor) = LEAST_VERSION;
        let shown: String = version.chars().take(20).collect();
        Err(HomeError::Mismatch(format!(
            "Qdrant is version {shown:?}, which mixes the word counts of all tenants: \
             version {major}.{minor} or later is needed"
        )))
    }

    async fn info(&self, line: &Line, asking: Asking) -> Result<CollectionInfo, Failure> {
        let which = GetCollectionInfoRequest {
            collection_name: self.name.clone(),
        };
        let info = line.ask(asking, which, |to, request| async move {
            to.collections().get(request).await
        });
        Ok(info.await?.result.unwrap_or_default())
    }

    /// Makes it, unless somebody else does meanwhile.
    async fn create(&self, line: &Line, asking: Asking) -> Result<CollectionInfo, HomeError> {
        let made = line.ask(asking, self.wanted(), |to, request| async move {
            to.collections().create(request).await
        });
        let made = made.await.map(|_made| ());
        if made.is_ok() {
            tracing::info!(collection = %self.name, "a collection was made in Qdrant");
        }
        match self.info(line, asking).await {
            Ok(info) => self.check(&info).map(|()| info),
            Err(failure) => Err(made.err().unwrap_or(failure).of(asking.what)),
        }
    }

    /// Makes what requests filter by quick to find.
    async fn index_fields(
        &self,
        info: &CollectionInfo,
        line: &Line,
        asking: Asking,
    ) -> Result<(), HomeError> {
        for field in FIELDS {
            if let Some(there) = info.payload_schema.get(field.name) {
                if there.data_type != i32::from(field.schema()) {
                    let has = format!("has another kind of index on {:?}", field.name);
                    return Err(self.mismatch(&has));
                }
                continue;
            }
            let making = line.ask(asking, field.index(&self.name), |to, request| async move {
                to.points().create_field_index(request).await
            });
            making.await.map_err(|failure| failure.of(asking.what))?;
        }
        Ok(())
    }
}

/// What a model's collection is called. Names that had to be changed get a hash of what they were.
fn name(prefix: &str, model: Option<&Model>) -> String {
    let Some(Model { name, dimensions }) = model else {
        return format!("{prefix}-words-v{FORM}");
    };
    let plain: String = name
        .bytes()
        .map(|byte| {
            if is_plain(byte) {
                char::from(byte)
            } else {
                '-'
            }
        })
        .take(LONGEST_NAME)
        .collect();
    if plain == *name {
        return format!("{prefix}-{plain}-{dimensions}d-v{FORM}");
    }
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{prefix}-{plain}-{hash:016x}-{dimensions}d-v{FORM}")
}

/// The first two numbers of a version.
fn parsed(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim_start_matches('v').split('.');
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name_of_model: &str) -> String {
        let model = Model {
            name: name_of_model.to_owned(),
            dimensions: 256,
        };
        name("archway", Some(&model))
    }

    #[test]
    fn a_collection_is_named_for_its_model_its_dimensions_and_its_form() {
        assert_eq!(
            named("archway-code-256"),
            "archway-archway-code-256-256d-v2"
        );
        assert_eq!(name("archway", None), "archway-words-v2");
    }

    #[test]
    fn names_of_models_that_no_collection_may_have_stay_apart() {
        let (one, other) = (named("baai/bge:large"), named("baai-bge/large"));
        assert_ne!(one, other);
        for name in [one, other, named(&"ü".repeat(500))] {
            assert!(name.bytes().all(is_plain) && name.len() < 255, "{name}");
        }
    }

    #[test]
    fn versions_are_told_apart_by_their_first_two_numbers() {
        for (version, good) in [
            ("1.19.0", true),
            ("1.19.1-dev", true),
            ("v1.20", true),
            ("2.0.0", true),
            ("1.18.9", false),
            ("1.9.0", false),
            ("", false),
            ("latest", false),
        ] {
            let parsed = parsed(version).is_some_and(|version| version >= LEAST_VERSION);
            assert_eq!(parsed, good, "{version}");
        }
    }
}
