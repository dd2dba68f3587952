//! A commit in an answer.

use archway_repo::Head;
use serde_json::{Value, json};

use crate::context::moment;

/// `{id, dirty?, synced_at?}`: `dirty` is absent until the first status is known. `synced_at` is when a mirror was last
/// fetched, in seconds since 1970.
pub(super) fn commit(head: &Head, synced_at: Option<i64>) -> Value {
    let mut value = match head.dirty {
        Some(dirty) => json!({ "id": head.commit, "dirty": dirty }),
        None => json!({ "id": head.commit }),
    };
    if let (Some(fields), Some(synced_at)) = (value.as_object_mut(), synced_at) {
        fields.insert("synced_at".to_owned(), moment(synced_at).into());
    }
    value
}
