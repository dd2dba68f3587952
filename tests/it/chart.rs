//! The chart, held against itself and against the binary: each set of values beneath
//! `helm/archway/ci` is rendered, and what comes out must fit together.
//!
//! `tests/chart/run` does what needs no knowledge of Archway: schemas, Pod Security, contradictory
//! values, a release's life.

mod addresses;
mod administration;
mod documents;
mod ending;
mod environment;
mod files;
mod indexers;
mod names;
mod rendered;
mod rollouts;
mod secrets;
mod selectors;
