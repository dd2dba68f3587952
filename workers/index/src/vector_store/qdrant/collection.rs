//! The collection: one per embedding model, checked before its first use, and again after the
//! server was unavailable or lost it. Only indexing creates it.
//!
//! It is created with a random id in its metadata, in one step. When several workers create it at
//! once, one succeeds; the others read its id and add missing field indexes. Collections from
//! before ids existed have the nil id.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use qdrant_client::qdrant::{CollectionInfo, GetCollectionInfoRequest};
use tokio::{sync::Mutex, time::Instant};
use uuid::Uuid;

use super::{
    config::is_plain,
    connection::Connection,
    failure::{Failure, RequestContext},
    fields::FIELDS,
    schema::id,
};
use crate::{embed::Model, vector_store::VectorStoreError};

/// Format of ids, payloads and words; each format has collections of its own.
pub(super) const FORMAT: u32 = 5;
/// First version of Qdrant that counts the words of one tenant alone.
const LEAST_VERSION: (u32, u32) = (1, 19);
/// How long a request waits for another that checks the collection.
const CHECK_WAIT: Duration = Duration::from_millis(100);
/// Bytes of the model's name in the collection's name, at most.
const LONGEST_NAME: usize = 100;

/// A collection, and whether it passed its check.
pub(super) struct Collection {
    pub(super) name: String,
    pub(super) dimensions: Option<u64>,
    /// It passed its check.
    is_checked: AtomicBool,
    /// Held while checking or creating it.
    updating: Mutex<()>,
}

impl Collection {
    /// The collection for vectors of `model`, or for words alone.
    pub(super) fn new(prefix: &str, model: Option<&Model>) -> Self {
        Collection {
            name: name(prefix, model),
            dimensions: model.map(|model| model.dimensions as u64),
            is_checked: AtomicBool::new(false),
            updating: Mutex::new(()),
        }
    }

    /// Whether it has dense vectors.
    pub(super) fn is_dense(&self) -> bool {
        self.dimensions.is_some()
    }

    /// Requires another check.
    pub(super) fn invalidate(&self) {
        self.is_checked.store(false, Ordering::Relaxed);
    }

    /// Whether it exists and passes its check, which is repeated only after
    /// [`invalidate`](Self::invalidate). Creates nothing. Reports an outage while another request waits
    /// for a silent server.
    pub(super) async fn exists(
        &self,
        connection: &Connection,
        context: RequestContext,
    ) -> Result<bool, VectorStoreError> {
        if self.is_checked.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let until = context.deadline.min(Instant::now() + CHECK_WAIT);
        let waiting = tokio::time::timeout_at(until, self.updating.lock()).await;
        let _updating =
            waiting.map_err(|_elapsed| Failure::NotSent.into_error(context.operation))?;
        if self.is_checked.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let exists = self.checked_info(connection, context).await?.is_some();
        self.is_checked.store(exists, Ordering::Relaxed);
        Ok(exists)
    }

    /// Creates it and its field indexes where missing; returns its id.
    pub(super) async fn ensure(
        &self,
        connection: &Connection,
        context: RequestContext,
    ) -> Result<Uuid, VectorStoreError> {
        let waiting = tokio::time::timeout_at(context.deadline, self.updating.lock()).await;
        let _updating = waiting.map_err(|_elapsed| VectorStoreError::Late(context.operation))?;
        let info = match self.checked_info(connection, context).await? {
            Some(info) => info,
            None => self.create(connection, context).await?,
        };
        self.index_fields(&info, connection, context).await?;
        self.is_checked.store(true, Ordering::Relaxed);
        Ok(id(&info))
    }

    /// Reads its present id; `None` if it does not exist.
    pub(super) async fn id(
        &self,
        connection: &Connection,
        context: RequestContext,
    ) -> Result<Option<Uuid>, VectorStoreError> {
        match self.info(connection, context).await {
            Ok(info) => Ok(Some(id(&info))),
            Err(failure) => {
                // The server may come back without the collection, or with another one.
                if failure.is_away() || failure.is_missing() {
                    self.invalidate();
                }
                match failure.is_missing() {
                    true => Ok(None),
                    false => Err(failure.into_error(context.operation)),
                }
            }
        }
    }

    /// The collection, if it exists; checks it and the server's version.
    async fn checked_info(
        &self,
        connection: &Connection,
        context: RequestContext,
    ) -> Result<Option<CollectionInfo>, VectorStoreError> {
        self.check_server(connection, context).await?;
        let info = match self.info(connection, context).await {
            Err(failure) if failure.is_missing() => return Ok(None),
            other => other.map_err(|failure| failure.into_error(context.operation))?,
        };
        self.check_schema(&info)?;
        Ok(Some(info))
    }

    async fn check_server(
        &self,
        connection: &Connection,
        context: RequestContext,
    ) -> Result<(), VectorStoreError> {
        let health = connection.health(context).await;
        let version = health
            .map_err(|it| it.into_error(context.operation))?
            .version;
        if major_minor(&version).is_some_and(|version| version >= LEAST_VERSION) {
            return Ok(());
        }
        let (major, minor) = LEAST_VERSION;
        let shown: String = version.chars().take(20).collect();
        Err(VectorStoreError::Mismatch(format!(
            "Qdrant is version {shown:?}, which mixes the word counts of all tenants: \
             version {major}.{minor} or later is needed"
        )))
    }

    async fn info(
        &self,
        connection: &Connection,
        context: RequestContext,
    ) -> Result<CollectionInfo, Failure> {
        let request = GetCollectionInfoRequest {
            collection_name: self.name.clone(),
        };
        let info = connection.send(context, request, |to, request| async move {
            to.collections().get(request).await
        });
        Ok(info.await?.result.unwrap_or_default())
    }

    /// Creates it; another worker may do so first.
    async fn create(
        &self,
        connection: &Connection,
        context: RequestContext,
    ) -> Result<CollectionInfo, VectorStoreError> {
        let created = connection.send(context, self.create_request(), |to, request| async move {
            to.collections().create(request).await
        });
        let created = created.await.map(|_created| ());
        if created.is_ok() {
            tracing::info!(collection = %self.name, "created a collection in Qdrant");
        }
        match self.info(connection, context).await {
            Ok(info) => self.check_schema(&info).map(|()| info),
            Err(failure) => Err(created
                .err()
                .unwrap_or(failure)
                .into_error(context.operation)),
        }
    }

    /// Creates the missing indexes of fields that requests filter by.
    async fn index_fields(
        &self,
        info: &CollectionInfo,
        connection: &Connection,
        context: RequestContext,
    ) -> Result<(), VectorStoreError> {
        for field in FIELDS {
            if let Some(existing) = info.payload_schema.get(field.name) {
                if existing.data_type != i32::from(field.schema_type()) {
                    let has = format!("has another kind of index on {:?}", field.name);
                    return Err(self.mismatch(&has));
                }
                continue;
            }
            let updating = connection.send(
                context,
                field.create_request(&self.name),
                |to, request| async move { to.points().create_field_index(request).await },
            );
            updating
                .await
                .map_err(|failure| failure.into_error(context.operation))?;
        }
        Ok(())
    }
}

/// The collection's name. A model's name that had to be changed gets a hash of the original.
fn name(prefix: &str, model: Option<&Model>) -> String {
    let Some(Model { name, dimensions }) = model else {
        return format!("{prefix}-words-v{FORMAT}");
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
        return format!("{prefix}-{plain}-{dimensions}d-v{FORMAT}");
    }
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{prefix}-{plain}-{hash:016x}-{dimensions}d-v{FORMAT}")
}

/// Major and minor version.
fn major_minor(version: &str) -> Option<(u32, u32)> {
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
    fn a_collection_is_named_after_model_dimensions_and_format() {
        assert_eq!(
            named("archway-code-256"),
            "archway-archway-code-256-256d-v5"
        );
        assert_eq!(name("archway", None), "archway-words-v5");
    }

    #[test]
    fn model_names_with_forbidden_characters_stay_distinct() {
        let (one, other) = (named("baai/bge:large"), named("baai-bge/large"));
        assert_ne!(one, other);
        for name in [one, other, named(&"ü".repeat(500))] {
            assert!(name.bytes().all(is_plain) && name.len() < 255, "{name}");
        }
    }

    #[test]
    fn versions_compare_by_major_and_minor() {
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
            let major_minor = major_minor(version).is_some_and(|version| version >= LEAST_VERSION);
            assert_eq!(major_minor, good, "{version}");
        }
    }
}
