//! Makes slugs unique within a kind.

use std::collections::{HashMap, HashSet};

use crate::document::{Document, Kind};

/// Appends `~2` to the slug of the second file with a stem, and so on.
pub(super) fn make_unique(project: &str, documents: &mut [Document]) {
    // A file whose name has that suffix keeps it.
    let stems: HashSet<(Kind, String)> = documents
        .iter()
        .map(|document| (document.kind, document.slug.clone()))
        .collect();
    let mut next: HashMap<(Kind, String), u32> = HashMap::new();
    for document in documents {
        let stem = (document.kind, document.slug.clone());
        let Some(number) = next.get_mut(&stem) else {
            next.insert(stem, 2);
            continue;
        };
        let is_taken = |number: u32| stems.contains(&(stem.0, format!("{}~{number}", stem.1)));
        while is_taken(*number) {
            *number += 1;
        }
        document.slug = format!("{}~{number}", stem.1);
        *number += 1;
        tracing::warn!(
            project,
            path = %document.path,
            slug = document.slug,
            "two documents have the same name"
        );
    }
}
