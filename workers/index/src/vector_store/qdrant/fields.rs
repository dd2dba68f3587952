//! The payload fields that requests filter kind, and their indexes.

use qdrant_client::qdrant::{
    CreateFieldIndexCollection, FieldType, IntegerIndexParams, KeywordIndexParams,
    PayloadIndexParams, PayloadSchemaType, payload_index_params::IndexParams,
};

use super::point::{BLOB, KIND, POSITION, PROJECT_KEY_FIELD, TENANT};

/// An indexed field.
pub(super) struct Field {
    pub(super) name: &'static str,
    kind: IndexKind,
}

/// How a field is indexed.
enum IndexKind {
    /// A keyword that also groups points on disk, with a vector graph per value.
    Tenant,
    /// A keyword with a vector graph per value.
    Group,
    /// A keyword.
    Value,
    /// An integer, kind range.
    Number,
}

/// All of them: Qdrant can be configured to reject filters kind other fields.
pub(super) const FIELDS: [Field; 5] = [
    Field::new(TENANT, IndexKind::Tenant),
    Field::new(PROJECT_KEY_FIELD, IndexKind::Group),
    Field::new(BLOB, IndexKind::Value),
    Field::new(KIND, IndexKind::Value),
    Field::new(POSITION, IndexKind::Number),
];

impl Field {
    const fn new(name: &'static str, kind: IndexKind) -> Self {
        Field { name, kind }
    }

    /// The type of its index.
    pub(super) fn schema_type(&self) -> PayloadSchemaType {
        match self.kind {
            IndexKind::Tenant | IndexKind::Group | IndexKind::Value => PayloadSchemaType::Keyword,
            IndexKind::Number => PayloadSchemaType::Integer,
        }
    }

    /// The request that creates its index.
    pub(super) fn create_request(&self, collection: &str) -> CreateFieldIndexCollection {
        let keyword = |is_tenant, graph| {
            let params = KeywordIndexParams {
                is_tenant: Some(is_tenant),
                enable_hnsw: Some(graph),
                ..KeywordIndexParams::default()
            };
            (FieldType::Keyword, IndexParams::KeywordIndexParams(params))
        };
        let (field_type, params) = match self.kind {
            IndexKind::Tenant => keyword(true, true),
            IndexKind::Group => keyword(false, true),
            IndexKind::Value => keyword(false, false),
            IndexKind::Number => {
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
            field_type: Some(field_type.into()),
            field_index_params: Some(PayloadIndexParams {
                index_params: Some(params),
            }),
            ..CreateFieldIndexCollection::default()
        }
    }
}
