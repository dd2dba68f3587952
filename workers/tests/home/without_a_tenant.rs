//! Forgets the tenant wherever a home is asked. Every line of it is an error.

use archway_workers::index::home::{Asked, Home, Question, Shelf};
use uuid::Uuid;

fn search(home: &dyn Home, projects: &[Asked], question: &Question) {
    drop(home.nearest(projects, question));
}

fn count(home: &dyn Home, project: Uuid) {
    drop(home.count(project));
}

fn keep(home: &dyn Home, project: Uuid) {
    drop(home.upsert(Shelf { project }, &[], 1.0));
}

fn remove(home: &dyn Home) {
    drop(home.remove(&[]));
}

fn main() {}
