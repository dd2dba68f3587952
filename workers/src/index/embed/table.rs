//! Stands in for the table until it is merged.

use super::Model;

/// The table.
pub struct Table(Model);

/// Why it can't be used.
#[derive(Debug, thiserror::Error)]
#[error("the table can't be used")]
pub struct TableError;

impl Table {
    /// The one of the program.
    pub fn built_in() -> Result<Self, TableError> {
        Ok(Table(Model {
            name: "archway-code-256".to_owned(),
            dimensions: 256,
        }))
    }

    /// The vector of a text.
    pub fn encode(&self, text: &str) -> Option<Vec<f32>> {
        let mut vector = vec![0.0; 256];
        *vector.get_mut(text.len() % 256)? = 1.0;
        (!text.trim().is_empty()).then_some(vector)
    }

    /// What it is called.
    pub fn model(&self) -> &Model {
        &self.0
    }
}
