//! A chunk as a point in Qdrant: its id, vectors and payload.
//!
//! Points live as long as their collection. Any change here needs a new
//! [`FORMAT`](super::collection::FORMAT).

use std::collections::HashMap;

use archway_store::{Blob, ProjectKey};
use qdrant_client::qdrant::{
    DenseVector, NamedVectors, PointId, PointStruct, ScoredPoint, SparseVector, Value, Vector,
    Vectors, point_id::PointIdOptions, value, vector, vectors::VectorsOptions,
};
use uuid::{Builder, Uuid};

use crate::{
    chunk::{DeclarationPlace, Kind},
    terms::{self, Term, Terms},
    vector_store::{ChunkLocation, Hit, IndexedChunk, VectorStoreError},
};

/// Name of the embedding vector.
pub(super) const DENSE: &str = "dense";
/// Name of the sparse vector of words.
pub(super) const TEXT: &str = "text";

/// Fields that requests filter by.
pub(super) const TENANT: &str = "tenant";
pub(super) const PROJECT_KEY_FIELD: &str = "shelf";
pub(super) const BLOB: &str = "blob";
pub(super) const KIND: &str = "kind";
pub(super) const POSITION: &str = "position";
/// Fields that are only returned.
const PROJECT: &str = "project";
const SYMBOL: &str = "symbol";
const PARENT: &str = "parent";
const BYTES: [&str; 2] = ["byte_start", "byte_end"];
const LINES: [&str; 2] = ["line_start", "line_end"];
/// Bytes and lines of the declaration, and where its body begins; absent in points of whole ones.
const DECLARATION: [&str; 5] = [
    "of_byte_start",
    "of_byte_end",
    "of_line_start",
    "of_line_end",
    "of_body_start",
];

/// Namespace of point ids (UUID version 5).
const ID_NAMESPACE: Uuid = Uuid::from_u128(0x1f0c_8a52_6c3e_5d94_a7b1_90de_4c2f_7e38);

/// The content of a new point.
#[derive(Clone, Copy)]
pub(super) struct NewPoint<'a> {
    pub(super) project_key: ProjectKey,
    pub(super) blob: &'a Blob,
    pub(super) position: u32,
    pub(super) chunk: &'a IndexedChunk,
}

impl NewPoint<'_> {
    /// The point, without a dense vector if the collection has none.
    pub(super) fn point(&self, dense: bool) -> Result<PointStruct, VectorStoreError> {
        let id = self.id().ok_or_else(|| VectorStoreError::Refused {
            what: "naming a chunk",
            source: "its blob is crafted to collide with another (SHA-1)".into(),
        })?;
        let mut vectors = HashMap::new();
        if let Some(data) = self.chunk.dense.as_ref().filter(|_| dense) {
            let data = data.clone();
            let meaning = vector::Vector::Dense(DenseVector { data });
            vectors.insert(DENSE.to_owned(), named(meaning));
        }
        if !self.chunk.terms.counts.is_empty() {
            let words = vector::Vector::Sparse(sparse(self.project_key.tenant, &self.chunk.terms));
            vectors.insert(TEXT.to_owned(), named(words));
        }
        Ok(PointStruct {
            id: Some(PointId {
                point_id_options: Some(PointIdOptions::Uuid(id.to_string())),
            }),
            payload: self.payload(),
            vectors: Some(Vectors {
                vectors_options: Some(VectorsOptions::Vectors(NamedVectors { vectors })),
            }),
        })
    }

    /// Approximate size of the point on the wire, in bytes.
    pub(super) fn size(&self) -> usize {
        let location = &self.chunk.location;
        let names = [&location.symbol, &location.parent];
        let names: usize = names.into_iter().flatten().map(String::len).sum();
        let dense = self.chunk.dense.as_ref().map_or(0, Vec::len);
        400 + names + 4 * dense + 9 * self.chunk.terms.counts.len()
    }

    /// Deterministic, so that repeated writes replace each other. `None` if SHA-1 detects a collision
    /// attack.
    fn id(&self) -> Option<Uuid> {
        let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
        hasher.update(ID_NAMESPACE.as_bytes());
        hasher.update(self.project_key.tenant.as_bytes());
        hasher.update(self.project_key.project.as_bytes());
        hasher.update(self.blob);
        hasher.update(&self.position.to_be_bytes());
        let hash = hasher.try_finalize().ok()?;
        let bytes = *hash.as_slice().first_chunk()?;
        Some(Builder::from_sha1_bytes(bytes).into_uuid())
    }

    fn payload(&self) -> HashMap<String, Value> {
        let location = &self.chunk.location;
        let mut payload: HashMap<String, Value> = HashMap::with_capacity(17);
        let mut put = |field: &str, value: Value| payload.insert(field.to_owned(), value);
        put(TENANT, self.project_key.tenant.to_string().into());
        put(PROJECT_KEY_FIELD, project_key_text(self.project_key).into());
        put(PROJECT, self.project_key.project.to_string().into());
        put(BLOB, hex(self.blob).into());
        put(KIND, kind_name(location.kind).into());
        put(POSITION, i64::from(self.position).into());
        put(BYTES[0], i64::from(location.bytes.0).into());
        put(BYTES[1], i64::from(location.bytes.1).into());
        put(LINES[0], i64::from(location.lines.0).into());
        put(LINES[1], i64::from(location.lines.1).into());
        if let Some(symbol) = &location.symbol {
            put(SYMBOL, symbol.clone().into());
        }
        if let Some(parent) = &location.parent {
            put(PARENT, parent.clone().into());
        }
        if let Some(of) = location.declaration {
            let numbers = [of.bytes.0, of.bytes.1, of.lines.0, of.lines.1, of.body];
            for (field, number) in DECLARATION.into_iter().zip(numbers) {
                put(field, i64::from(number).into());
            }
        }
        payload
    }
}

fn named(vector: vector::Vector) -> Vector {
    Vector {
        vector: Some(vector),
        ..Vector::default()
    }
}

/// The value of [`PROJECT_KEY_FIELD`]: `<tenant>/<project>`.
pub(super) fn project_key_text(project_key: ProjectKey) -> String {
    format!("{}/{}", project_key.tenant, project_key.project)
}

/// A word's index in the sparse vectors of a tenant. Qdrant walks the posting list of each query
/// word, so per-tenant indexes keep other tenants' chunks out of it. Distinct words of a tenant stay
/// distinct.
pub(super) fn tenant_term(tenant: Uuid, term: Term) -> Term {
    let mixed = (term ^ terms::term(&tenant.to_string())).wrapping_mul(0x9e37_79b1);
    (mixed ^ (mixed >> 16)).wrapping_mul(0x85eb_ca6b)
}

/// BM25 weights without the IDF, which Qdrant multiplies in.
fn sparse(tenant: Uuid, words: &Terms) -> SparseVector {
    let counts = words.counts.iter();
    let mut words: Vec<(Term, f32)> = counts
        .map(|(term, count)| {
            let weight = terms::weight(*count, words.length, terms::AVERAGE);
            (tenant_term(tenant, *term), weight)
        })
        .collect();
    words.sort_unstable_by_key(|(term, _)| *term);
    let (indices, values) = words.into_iter().unzip();
    SparseVector { values, indices }
}

/// Decodes a point into its tenant and the chunk. Rejects points that Archway did not write.
pub(super) fn decode(point: ScoredPoint) -> Result<(Uuid, Hit), VectorStoreError> {
    let fields = Fields(&point.payload);
    let found = fields.read().map(|(tenant, hit)| {
        let score = point.score;
        (tenant, Hit { score, ..hit })
    });
    found.ok_or_else(|| {
        VectorStoreError::Mismatch(
            "a chunk in Qdrant was not written by Archway: name another collection with \
             --qdrant-collection (ARCHWAY_QDRANT_COLLECTION), or delete this one"
                .to_owned(),
        )
    })
}

struct Fields<'a>(&'a HashMap<String, Value>);

impl Fields<'_> {
    fn read(&self) -> Option<(Uuid, Hit)> {
        let location = ChunkLocation {
            kind: kind_named(self.text(KIND)?)?,
            symbol: self.text(SYMBOL).map(str::to_owned),
            parent: self.text(PARENT).map(str::to_owned),
            bytes: (self.number(BYTES[0])?, self.number(BYTES[1])?),
            lines: (self.number(LINES[0])?, self.number(LINES[1])?),
            declaration: self.declaration(),
        };
        let hit = Hit {
            project: self.text(PROJECT)?.parse().ok()?,
            blob: unhex(self.text(BLOB)?)?,
            position: self.number(POSITION)?,
            location,
            score: 0.0,
        };
        Some((self.text(TENANT)?.parse().ok()?, hit))
    }

    fn declaration(&self) -> Option<DeclarationPlace> {
        let [from, to, first, last, body] = DECLARATION.map(|field| self.number(field));
        Some(DeclarationPlace {
            bytes: (from?, to?),
            lines: (first?, last?),
            body: body?,
        })
    }

    fn text(&self, field: &str) -> Option<&str> {
        match self.0.get(field)?.kind.as_ref()? {
            value::Kind::StringValue(text) => Some(text),
            _ => None,
        }
    }

    fn number(&self, field: &str) -> Option<u32> {
        match self.0.get(field)?.kind.as_ref()? {
            value::Kind::IntegerValue(number) => u32::try_from(*number).ok(),
            _ => None,
        }
    }
}

/// The blob's hash in hexadecimal.
pub(super) fn hex(blob: &Blob) -> String {
    gix::ObjectId::from(*blob).to_string()
}

fn unhex(text: &str) -> Option<Blob> {
    let id = gix::ObjectId::from_hex(text.as_bytes()).ok()?;
    id.as_slice().try_into().ok()
}

/// The kind as the payload has it.
pub(super) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Function => "function",
        Kind::Class => "class",
        Kind::Method => "method",
        Kind::Interface => "interface",
        Kind::Type => "type",
        Kind::Section => "section",
        Kind::Lines => "lines",
        Kind::Entry => "entry",
    }
}

fn kind_named(name: &str) -> Option<Kind> {
    let mut all = Kind::ALL.into_iter();
    all.find(|kind| kind_name(*kind) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece() -> IndexedChunk {
        IndexedChunk {
            location: ChunkLocation {
                kind: Kind::Method,
                symbol: Some("open".to_owned()),
                parent: None,
                bytes: (10, 90),
                lines: (2, 7),
                declaration: Some(DeclarationPlace {
                    bytes: (4, 300),
                    lines: (1, 20),
                    body: 30,
                }),
            },
            terms: Terms {
                counts: vec![(3, 1), (9, 2)],
                length: 3,
            },
            dense: Some(vec![1.0, 0.0]),
        }
    }

    fn new_point(chunk: &IndexedChunk) -> NewPoint<'_> {
        NewPoint {
            project_key: ProjectKey {
                tenant: Uuid::from_u128(1),
                project: Uuid::from_u128(2),
            },
            blob: &[7; 20],
            position: 4,
            chunk,
        }
    }

    #[test]
    fn an_id_depends_on_tenant_project_blob_and_position_only() {
        let chunk = piece();
        let one = new_point(&chunk);
        let tenant = ProjectKey {
            tenant: Uuid::from_u128(9),
            ..one.project_key
        };
        let project = ProjectKey {
            project: Uuid::from_u128(9),
            ..one.project_key
        };
        let others = [
            NewPoint {
                project_key: tenant,
                ..one
            },
            NewPoint {
                project_key: project,
                ..one
            },
            NewPoint {
                blob: &[8; 20],
                ..one
            },
            NewPoint { position: 5, ..one },
        ];
        for other in others {
            assert_ne!(one.id(), other.id());
        }
        // Stored points have these ids: other ids would leave them behind for ever.
        assert_eq!(
            one.id().unwrap().to_string(),
            "18d081ea-67c7-53b2-b22b-b775cffb6995"
        );
    }

    #[test]
    fn a_word_has_a_different_index_for_each_tenant() {
        let numbers = |tenant: u128| {
            let tenant = Uuid::from_u128(tenant);
            [7, 8, 9].map(|term| tenant_term(tenant, term))
        };
        let (one, other) = (numbers(1), numbers(2));
        assert!(one.iter().all(|number| !other.contains(number)));
        let chunk = piece();
        let point = new_point(&chunk).point(false).unwrap();
        let Some(VectorsOptions::Vectors(named)) = point.vectors.unwrap().vectors_options else {
            panic!("no named vectors");
        };
        let Some(vector::Vector::Sparse(words)) = &named.vectors[TEXT].vector else {
            panic!("no words");
        };
        let mut expected: Vec<Term> = chunk.terms.counts.iter().map(|it| it.0).collect();
        expected
            .iter_mut()
            .for_each(|term| *term = tenant_term(Uuid::from_u128(1), *term));
        expected.sort_unstable();
        assert_eq!(words.indices, expected);
        // Stored words have these indexes.
        assert_eq!(one, [1_323_407_498, 2_127_979_629, 270_329_157]);
    }

    #[test]
    fn a_point_decodes_to_the_chunk_it_was_made_of() {
        let chunk = piece();
        let point = new_point(&chunk).point(true).unwrap();
        let found = ScoredPoint {
            payload: point.payload,
            score: 0.5,
            ..ScoredPoint::default()
        };
        let (tenant, hit) = decode(found).unwrap();
        assert_eq!(tenant, Uuid::from_u128(1));
        let expected = Hit {
            project: Uuid::from_u128(2),
            blob: [7; 20],
            position: 4,
            location: chunk.location,
            score: 0.5,
        };
        assert_eq!(hit, expected);
    }

    #[test]
    fn a_foreign_point_is_a_mismatch() {
        let chunk = piece();
        for field in [TENANT, PROJECT, BLOB, KIND, POSITION, BYTES[1], LINES[0]] {
            let mut payload = new_point(&chunk).payload();
            payload.insert(field.to_owned(), "x".into());
            let found = ScoredPoint {
                payload,
                ..ScoredPoint::default()
            };
            assert!(
                matches!(decode(found), Err(VectorStoreError::Mismatch(_))),
                "{field}"
            );
        }
    }

    #[test]
    fn every_kind_is_decoded_as_it_was_encoded() {
        for each in Kind::ALL {
            assert_eq!(kind_named(kind_name(each)), Some(each));
        }
    }

    #[test]
    fn vectors_that_the_chunk_or_collection_lacks_are_left_out() {
        let names = |chunk: &IndexedChunk, dense| {
            let point = new_point(chunk).point(dense).unwrap();
            let Some(VectorsOptions::Vectors(named)) = point.vectors.unwrap().vectors_options
            else {
                panic!("vectors are named");
            };
            let mut names: Vec<_> = named.vectors.into_keys().collect();
            names.sort();
            names
        };
        assert_eq!(names(&piece(), true), [DENSE, TEXT]);
        assert_eq!(names(&piece(), false), [TEXT]);
        let bare = IndexedChunk {
            terms: Terms::default(),
            ..piece()
        };
        assert_eq!(names(&bare, true), [DENSE]);
        assert!(names(&bare, false).is_empty());
    }
}
