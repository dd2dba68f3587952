//! The chart, checked for consistency with itself and with the binary. Each set of values in
//! `helm/archway/ci` is rendered, and all parts must fit together.
//!
//! `tests/chart/run` checks what needs no knowledge of Archway: schemas, Pod Security, contradictory
//! values, a release's life cycle.

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
