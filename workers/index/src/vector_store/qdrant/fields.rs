//! The fields that requests filter by, and how Qdrant finds chunks by them.

use qdrant_client::qdrant::{
    CreateFieldIndexCollection, FieldType, IntegerIndexParams, KeywordIndexParams,
    PayloadIndexParams, PayloadSchemaType, payload_index_params::IndexParams,
};

use super::point::{BLOB, KIND, POSITION, SHELF, TENANT};

/// A field that requests filter by.
pub(super) struct Field {
    pub(super) name: &'static str,
    by: By,
}

/// How a field is asked.
enum By {
    /// Whose chunks stand side by side on the disk, with a graph for each.
    Tenant,
    /// One of several values, with a graph for each.
    Group,
    /// One of several values.
    Value,
    /// From a number on.
    Number,
}

/// All of them: Qdrant can be told to refuse a filter by any other.
pub(super) const FIELDS: [Field; 5] = [
    Field::new(TENANT, By::Tenant),
    Field::new(SHELF, By::Group),
    Field::new(BLOB, By::Value),
    Field::new(KIND, By::Value),
    Field::new(POSITION, By::Number),
];

impl Field {
    const fn new(name: &'static str, by: By) -> Self {
        Field { name, by }
    }

    /// What kind of index a collection has of it.
    pub(super) fn schema(&self) -> PayloadSchemaType {
        match self.by {
            By::Tenant | By::Group | By::Value => PayloadSchemaType::Keyword,
            By::Number => PayloadSchemaType::Integer,
        }
    }

    /// Makes the index.
    pub(super) fn index(&self, collection: &str) -> CreateFieldIndexCollection {
        let keyword = |is_tenant, graph| {
            let params = KeywordIndexParams {
                is_tenant: Some(is_tenant),
                enable_hnsw: Some(graph),
                ..KeywordIndexParams::default()
            };
            (FieldType::Keyword, IndexParams::KeywordIndexParams(params))
        };
        let (kind, params) = match self.by {
            By::Tenant => keyword(true, true),
            By::Group => keyword(false, true),
            By::Value => keyword(false, false),
            By::Number => {
                let params = IntegerIndexParams {
                    lookup: Some(false),
                    range: Some(true),
                    enable_hnsw: Some(false),
                    ..IntegerIndexParams::default()
                };
                (FieldType::Integer, IndexParams::IntegerIndexParams(params))
            }
        };
        CreateFieldIndexCollection {
            collection_name: collection.to_owned(),
            wait: Some(true),
            field_name: self.name.to_owned(),
            field_type: Some(kind.into()),
            field_index_params: Some(PayloadIndexParams {
                index_params: Some(params),
            }),
            ..CreateFieldIndexCollection::default()
        }
    }
}
