//! The double's data, and its filters.

use std::collections::{BTreeMap, HashMap};

use qdrant_client::qdrant::{
    Condition, FieldCondition, Filter, Match, PointStruct, PointsSelector, Value, Vector,
    VectorParams, condition::ConditionOneOf, r#match::MatchValue, point_id::PointIdOptions,
    points_selector, value::Kind, vector, vectors::VectorsOptions,
};
use tonic::Status;

use qdrant_client::qdrant::{PayloadSchemaType, SparseVectorParams};

/// A collection.
#[derive(Default)]
pub(super) struct Collection {
    pub(super) dense: HashMap<String, VectorParams>,
    pub(super) sparse: HashMap<String, SparseVectorParams>,
    pub(super) fields: HashMap<String, PayloadSchemaType>,
    pub(super) points: BTreeMap<String, Point>,
    pub(super) metadata: HashMap<String, Value>,
}

/// A point; its id is the key.
#[derive(Clone)]
pub(super) struct Point {
    pub(super) payload: HashMap<String, Value>,
    pub(super) dense: HashMap<String, Vec<f32>>,
    pub(super) sparse: HashMap<String, HashMap<u32, f32>>,
}

impl Collection {
    pub(super) fn upsert(&mut self, points: Vec<PointStruct>) -> Result<(), Status> {
        for point in points {
            let Some(PointIdOptions::Uuid(id)) = point.id.and_then(|id| id.point_id_options) else {
                return Err(Status::unimplemented("ids that are numbers"));
            };
            let vectors = point.vectors.and_then(|vectors| vectors.vectors_options);
            let Some(VectorsOptions::Vectors(named)) = vectors else {
                return Err(Status::invalid_argument("Expected some vectors"));
            };
            let mut stored = Point {
                payload: point.payload,
                dense: HashMap::new(),
                sparse: HashMap::new(),
            };
            for (name, vector) in named.vectors {
                self.insert_vector(&mut stored, name, vector)?;
            }
            self.points.insert(id, stored);
        }
        Ok(())
    }

    fn insert_vector(
        &self,
        stored: &mut Point,
        name: String,
        vector: Vector,
    ) -> Result<(), Status> {
        match vector.vector {
            Some(vector::Vector::Dense(dense)) => {
                let dense = self.unit(&name, dense.data)?;
                stored.dense.insert(name, dense);
            }
            Some(vector::Vector::Sparse(sparse)) => {
                self.sparse_named(&name)?;
                let words = words(sparse.indices, sparse.values)?;
                stored.sparse.insert(name, words);
            }
            _ => return Err(Status::unimplemented("vectors of this form")),
        }
        Ok(())
    }

    /// The vector scaled to length 1, as cosine collections store it.
    pub(super) fn unit(&self, name: &str, vector: Vec<f32>) -> Result<Vec<f32>, Status> {
        let params = self.dense.get(name).ok_or_else(|| unknown(name))?;
        if params.size != vector.len() as u64 {
            let (size, given) = (params.size, vector.len());
            return Err(Status::invalid_argument(format!(
                "Wrong input: Vector dimension error: expected dim: {size}, got {given}"
            )));
        }
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        let length = if length > 0.0 { length } else { 1.0 };
        Ok(vector.into_iter().map(|x| x / length).collect())
    }

    pub(super) fn sparse_named(&self, name: &str) -> Result<&SparseVectorParams, Status> {
        self.sparse.get(name).ok_or_else(|| unknown(name))
    }

    pub(super) fn delete(&mut self, points: Option<PointsSelector>) -> Result<(), Status> {
        let selector = points.and_then(|points| points.points_selector_one_of);
        let Some(points_selector::PointsSelectorOneOf::Filter(filter)) = selector else {
            return Err(Status::unimplemented("deleting by id"));
        };
        let gone: Vec<String> = self.matching(Some(&filter))?.into_iter().cloned().collect();
        for id in gone {
            self.points.remove(&id);
        }
        Ok(())
    }

    /// The ids of matching points.
    pub(super) fn matching(&self, filter: Option<&Filter>) -> Result<Vec<&String>, Status> {
        let mut found = Vec::new();
        for (id, point) in &self.points {
            if filter.map_or(Ok(true), |filter| self.matches_filter(filter, point))? {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// The values of an indexed field among the matching points, and how many have each.
    pub(super) fn count_by(
        &self,
        field: &str,
        filter: Option<&Filter>,
    ) -> Result<BTreeMap<String, u64>, Status> {
        if self.fields.get(field) != Some(&PayloadSchemaType::Keyword) {
            return Err(Status::invalid_argument(format!(
                "Payload field {field} is not indexed as a keyword"
            )));
        }
        let mut counts = BTreeMap::new();
        for id in self.matching(filter)? {
            let value = self.points[id].payload.get(field);
            if let Some(Kind::StringValue(text)) = value.and_then(|value| value.kind.as_ref()) {
                *counts.entry(text.clone()).or_default() += 1;
            }
        }
        Ok(counts)
    }

    fn matches_filter(&self, filter: &Filter, point: &Point) -> Result<bool, Status> {
        if filter.min_should.is_some() {
            return Err(Status::unimplemented("min_should"));
        }
        let judge = |conditions: &[Condition]| -> Result<Vec<bool>, Status> {
            let judged = conditions
                .iter()
                .map(|it| self.matches_condition(it, point));
            judged.collect()
        };
        let should = judge(&filter.should)?;
        let must = judge(&filter.must)?.into_iter().all(|holds| holds);
        let must_not = judge(&filter.must_not)?.into_iter().any(|holds| holds);
        Ok(must && !must_not && (should.is_empty() || should.contains(&true)))
    }

    fn matches_condition(&self, condition: &Condition, point: &Point) -> Result<bool, Status> {
        match condition.condition_one_of.as_ref() {
            Some(ConditionOneOf::Field(field)) => self.matches_field(field, point),
            Some(ConditionOneOf::Filter(filter)) => self.matches_filter(filter, point),
            _ => Err(Status::unimplemented("this condition")),
        }
    }

    fn matches_field(&self, field: &FieldCondition, point: &Point) -> Result<bool, Status> {
        if !self.fields.contains_key(&field.key) {
            return Err(Status::invalid_argument(format!(
                "Bad request: Index required but not found for \"{}\"",
                field.key
            )));
        }
        let value = point
            .payload
            .get(&field.key)
            .and_then(|it| it.kind.as_ref());
        match (&field.r#match, &field.range) {
            (Some(wanted), None) => equals(wanted, value),
            (None, Some(range)) => {
                let Some(Kind::IntegerValue(number)) = value else {
                    return Ok(false);
                };
                #[expect(clippy::cast_precision_loss, reason = "positions are small")]
                let number = *number as f64;
                let bounds = [
                    range.gte.is_none_or(|bound| number >= bound),
                    range.gt.is_none_or(|bound| number > bound),
                    range.lte.is_none_or(|bound| number <= bound),
                    range.lt.is_none_or(|bound| number < bound),
                ];
                Ok(!bounds.contains(&false))
            }
            _ => Err(Status::unimplemented("this condition on a field")),
        }
    }
}

fn equals(wanted: &Match, value: Option<&Kind>) -> Result<bool, Status> {
    let text = match value {
        Some(Kind::StringValue(text)) => Some(text),
        _ => None,
    };
    match wanted.match_value.as_ref() {
        Some(MatchValue::Keyword(keyword)) => Ok(text == Some(keyword)),
        Some(MatchValue::Keywords(any)) => Ok(text.is_some_and(|text| any.strings.contains(text))),
        _ => Err(Status::unimplemented("this match")),
    }
}

/// The words and weights of a sparse vector.
pub(super) fn words(indices: Vec<u32>, values: Vec<f32>) -> Result<HashMap<u32, f32>, Status> {
    let count = indices.len();
    let same = count == values.len();
    let words: HashMap<u32, f32> = indices.into_iter().zip(values).collect();
    if same && words.len() == count {
        return Ok(words);
    }
    Err(Status::invalid_argument(
        "Validation error in body: indices: must be unique, and as many as values",
    ))
}

fn unknown(name: &str) -> Status {
    Status::invalid_argument(format!(
        "Wrong input: Not existing vector name error: {name}"
    ))
}
