//! Vectors of texts, near to one another where their texts mean the same.

pub mod table;

/// What made a vector: vectors of two models can't be compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Model {
    /// What it is called, unique with its dimensions: `archway-code-256`.
    pub name: String,
    /// How many numbers a vector has.
    pub dimensions: usize,
}
