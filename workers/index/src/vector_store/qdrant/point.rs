//! A chunk as Qdrant keeps it: its id, its vectors, and what is shown of it.
//!
//! All of this is kept for as long as the collection is: who changes it, changes
//! [`FORM`](super::collection::FORM) too.

use std::collections::HashMap;

use archway_store::{Blob, Shelf};
use qdrant_client::qdrant::{
    DenseVector, NamedVectors, PointId, PointStruct, ScoredPoint, SparseVector, Value, Vector,
    Vectors, point_id::PointIdOptions, value, vector, vectors::VectorsOptions,
};
use uuid::{Builder, Uuid};

use crate::{
    chunk::Kind,
    terms::{self, Term, Terms},
    vector_store::{Hit, HomeError, Piece, Place},
};

/// The vector of meaning.
pub(super) const DENSE: &str = "dense";
/// The vector of words.
pub(super) const TEXT: &str = "text";

/// Fields by which chunks are found.
pub(super) const TENANT: &str = "tenant";
pub(super) const SHELF: &str = "shelf";
pub(super) const BLOB: &str = "blob";
pub(super) const KIND: &str = "kind";
pub(super) const POSITION: &str = "position";
/// Fields that are only shown.
const PROJECT: &str = "project";
const SYMBOL: &str = "symbol";
const PARENT: &str = "parent";
const BYTES: [&str; 2] = ["byte_start", "byte_end"];
const LINES: [&str; 2] = ["line_start", "line_end"];

/// What ids are made within, so that they are nobody else's.
const CHUNKS: Uuid = Uuid::from_u128(0x1f0c_8a52_6c3e_5d94_a7b1_90de_4c2f_7e38);

/// What a point is made of: a chunk, and where it belongs.
#[derive(Clone, Copy)]
pub(super) struct Kept<'a> {
    pub(super) shelf: Shelf,
    pub(super) blob: &'a Blob,
    pub(super) position: u32,
    pub(super) piece: &'a Piece,
}

impl Kept<'_> {
    /// The point; the vector of meaning is left out where the collection has none.
    pub(super) fn point(&self, dense: bool) -> Result<PointStruct, HomeError> {
        let id = self.id().ok_or_else(|| HomeError::Refused {
            what: "naming a chunk",
            source: "its blob is made to be taken for another".into(),
        })?;
        let mut vectors = HashMap::new();
        if let Some(data) = self.piece.dense.as_ref().filter(|_| dense) {
            let data = data.clone();
            let meaning = vector::Vector::Dense(DenseVector { data });
            vectors.insert(DENSE.to_owned(), named(meaning));
        }
        if !self.piece.terms.counts.is_empty() {
            let words = vector::Vector::Sparse(sparse(self.shelf.tenant, &self.piece.terms));
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

    /// About how many bytes the point takes on the wire.
    pub(super) fn size(&self) -> usize {
        let place = &self.piece.place;
        let names = [&place.symbol, &place.parent];
        let names: usize = names.into_iter().flatten().map(String::len).sum();
        let dense = self.piece.dense.as_ref().map_or(0, Vec::len);
        400 + names + 4 * dense + 9 * self.piece.terms.counts.len()
    }

    /// The same chunk has the same id whoever writes it, and however often. `None` where SHA-1
    /// finds that it is under attack.
    fn id(&self) -> Option<Uuid> {
        let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
        hasher.update(CHUNKS.as_bytes());
        hasher.update(self.shelf.tenant.as_bytes());
        hasher.update(self.shelf.project.as_bytes());
        hasher.update(self.blob);
        hasher.update(&self.position.to_be_bytes());
        let hash = hasher.try_finalize().ok()?;
        let bytes = *hash.as_slice().first_chunk()?;
        Some(Builder::from_sha1_bytes(bytes).into_uuid())
    }

    fn payload(&self) -> HashMap<String, Value> {
        let place = &self.piece.place;
        let mut payload: HashMap<String, Value> = HashMap::with_capacity(11);
        let mut put = |field: &str, value: Value| payload.insert(field.to_owned(), value);
        put(TENANT, self.shelf.tenant.to_string().into());
        put(SHELF, shelved(self.shelf).into());
        put(PROJECT, self.shelf.project.to_string().into());
        put(BLOB, hex(self.blob).into());
        put(KIND, word(place.kind).into());
        put(POSITION, i64::from(self.position).into());
        put(BYTES[0], i64::from(place.bytes.0).into());
        put(BYTES[1], i64::from(place.bytes.1).into());
        put(LINES[0], i64::from(place.lines.0).into());
        put(LINES[1], i64::from(place.lines.1).into());
        if let Some(symbol) = &place.symbol {
            put(SYMBOL, symbol.clone().into());
        }
        if let Some(parent) = &place.parent {
            put(PARENT, parent.clone().into());
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

/// A tenant's project in one value, by which chunks are found.
pub(super) fn shelved(shelf: Shelf) -> String {
    format!("{}/{}", shelf.tenant, shelf.project)
}

/// A tenant's own number for a word. Qdrant keeps a list of chunks for each number and walks those of
/// the query's words: so the lists hold no chunks of others. Two words of a tenant stay apart.
pub(super) fn keyed(tenant: Uuid, term: Term) -> Term {
    let mixed = (term ^ terms::term(&tenant.to_string())).wrapping_mul(0x9e37_79b1);
    (mixed ^ (mixed >> 16)).wrapping_mul(0x85eb_ca6b)
}

/// How rare each word is, Qdrant multiplies in.
fn sparse(tenant: Uuid, words: &Terms) -> SparseVector {
    let counts = words.counts.iter();
    let mut words: Vec<(Term, f32)> = counts
        .map(|(term, count)| {
            let weight = terms::weight(*count, words.length, terms::AVERAGE);
            (keyed(tenant, *term), weight)
        })
        .collect();
    words.sort_unstable_by_key(|(term, _)| *term);
    let (indices, values) = words.into_iter().unzip();
    SparseVector { values, indices }
}

/// What a found point is: whose, and the chunk. Refuses what this program never wrote.
pub(super) fn read(point: ScoredPoint) -> Result<(Uuid, Hit), HomeError> {
    let fields = Fields(&point.payload);
    let found = fields.read().map(|(tenant, hit)| {
        let score = point.score;
        (tenant, Hit { score, ..hit })
    });
    found.ok_or_else(|| {
        HomeError::Mismatch(
            "a chunk in Qdrant is not of this program's making: name another collection with \
             --qdrant-collection (ARCHWAY_QDRANT_COLLECTION), or delete this one"
                .to_owned(),
        )
    })
}

struct Fields<'a>(&'a HashMap<String, Value>);

impl Fields<'_> {
    fn read(&self) -> Option<(Uuid, Hit)> {
        let place = Place {
            kind: kind(self.text(KIND)?)?,
            symbol: self.text(SYMBOL).map(str::to_owned),
            parent: self.text(PARENT).map(str::to_owned),
            bytes: (self.number(BYTES[0])?, self.number(BYTES[1])?),
            lines: (self.number(LINES[0])?, self.number(LINES[1])?),
        };
        let hit = Hit {
            project: self.text(PROJECT)?.parse().ok()?,
            blob: unhex(self.text(BLOB)?)?,
            position: self.number(POSITION)?,
            place,
            score: 0.0,
        };
        Some((self.text(TENANT)?.parse().ok()?, hit))
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

/// A blob as git shows it.
pub(super) fn hex(blob: &Blob) -> String {
    gix::ObjectId::from(*blob).to_string()
}

fn unhex(text: &str) -> Option<Blob> {
    let id = gix::ObjectId::from_hex(text.as_bytes()).ok()?;
    id.as_slice().try_into().ok()
}

/// How a kind is written.
pub(super) fn word(kind: Kind) -> &'static str {
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

fn kind(word: &str) -> Option<Kind> {
    let mut all = Kind::ALL.into_iter();
    all.find(|kind| self::word(*kind) == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece() -> Piece {
        Piece {
            place: Place {
                kind: Kind::Method,
                symbol: Some("open".to_owned()),
                parent: None,
                bytes: (10, 90),
                lines: (2, 7),
            },
            terms: Terms {
                counts: vec![(3, 1), (9, 2)],
                length: 3,
            },
            dense: Some(vec![1.0, 0.0]),
        }
    }

    fn kept(piece: &Piece) -> Kept<'_> {
        Kept {
            shelf: Shelf {
                tenant: Uuid::from_u128(1),
                project: Uuid::from_u128(2),
            },
            blob: &[7; 20],
            position: 4,
            piece,
        }
    }

    #[test]
    fn an_id_depends_on_tenant_project_blob_and_position_and_never_changes() {
        let piece = piece();
        let one = kept(&piece);
        let tenant = Shelf {
            tenant: Uuid::from_u128(9),
            ..one.shelf
        };
        let project = Shelf {
            project: Uuid::from_u128(9),
            ..one.shelf
        };
        let others = [
            Kept {
                shelf: tenant,
                ..one
            },
            Kept {
                shelf: project,
                ..one
            },
            Kept {
                blob: &[8; 20],
                ..one
            },
            Kept { position: 5, ..one },
        ];
        for other in others {
            assert_ne!(one.id(), other.id());
        }
        // Chunks that are in Qdrant by now have such ids: another would leave them there for ever.
        assert_eq!(
            one.id().unwrap().to_string(),
            "18d081ea-67c7-53b2-b22b-b775cffb6995"
        );
    }

    #[test]
    fn a_word_has_another_number_for_each_tenant_and_never_changes() {
        let numbers = |tenant: u128| {
            let tenant = Uuid::from_u128(tenant);
            [7, 8, 9].map(|term| keyed(tenant, term))
        };
        let (one, other) = (numbers(1), numbers(2));
        assert!(one.iter().all(|number| !other.contains(number)));
        let piece = piece();
        let point = kept(&piece).point(false).unwrap();
        let Some(VectorsOptions::Vectors(named)) = point.vectors.unwrap().vectors_options else {
            panic!("no named vectors");
        };
        let Some(vector::Vector::Sparse(words)) = &named.vectors[TEXT].vector else {
            panic!("no words");
        };
        let mut expected: Vec<Term> = piece.terms.counts.iter().map(|it| it.0).collect();
        expected
            .iter_mut()
            .for_each(|term| *term = keyed(Uuid::from_u128(1), *term));
        expected.sort_unstable();
        assert_eq!(words.indices, expected);
        // Words that are in Qdrant by now have such numbers.
        assert_eq!(one, [1_323_407_498, 2_127_979_629, 270_329_157]);
    }

    #[test]
    fn what_is_found_is_what_was_kept() {
        let piece = piece();
        let point = kept(&piece).point(true).unwrap();
        let found = ScoredPoint {
            payload: point.payload,
            score: 0.5,
            ..ScoredPoint::default()
        };
        let (tenant, hit) = read(found).unwrap();
        assert_eq!(tenant, Uuid::from_u128(1));
        let expected = Hit {
            project: Uuid::from_u128(2),
            blob: [7; 20],
            position: 4,
            place: piece.place,
            score: 0.5,
        };
        assert_eq!(hit, expected);
    }

    #[test]
    fn a_point_that_we_never_wrote_is_a_mismatch() {
        let piece = piece();
        for field in [TENANT, PROJECT, BLOB, KIND, POSITION, BYTES[1], LINES[0]] {
            let mut payload = kept(&piece).payload();
            payload.insert(field.to_owned(), "x".into());
            let found = ScoredPoint {
                payload,
                ..ScoredPoint::default()
            };
            assert!(
                matches!(read(found), Err(HomeError::Mismatch(_))),
                "{field}"
            );
        }
    }

    #[test]
    fn every_kind_is_read_as_it_was_written() {
        for each in Kind::ALL {
            assert_eq!(kind(word(each)), Some(each));
        }
    }

    #[test]
    fn vectors_that_a_chunk_or_the_collection_lacks_are_left_out() {
        let names = |piece: &Piece, dense| {
            let point = kept(piece).point(dense).unwrap();
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
        let bare = Piece {
            terms: Terms::default(),
            ..piece()
        };
        assert_eq!(names(&bare, true), [DENSE]);
        assert!(names(&bare, false).is_empty());
    }
}
