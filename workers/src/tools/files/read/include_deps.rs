//! The argument `include_deps`: false, true, or a word for a part of what is imported.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error};

/// What is shown of imported files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum IncludeDeps {
    #[default]
    None,
    /// Their text.
    Content,
    /// What they export.
    Signatures,
}

pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["boolean", "string"], "enum": [false, true, "signatures"] })
}

impl<'de> Deserialize<'de> for IncludeDeps {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<IncludeDeps, D::Error> {
        let value = serde_json::Value::deserialize(from)?;
        match (value.as_bool(), value.as_str()) {
            (Some(false), _) => Ok(IncludeDeps::None),
            (Some(true), _) => Ok(IncludeDeps::Content),
            (None, Some("signatures")) => Ok(IncludeDeps::Signatures),
            _ => Err(D::Error::custom("expected false, true or \"signatures\"")),
        }
    }
}

impl serde::Serialize for IncludeDeps {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            IncludeDeps::None => to.serialize_bool(false),
            IncludeDeps::Content => to.serialize_bool(true),
            IncludeDeps::Signatures => to.serialize_str("signatures"),
        }
    }
}
