//! The slugs of a host's repositories: as the host names them, and for ever the same.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{dialect, repository::HostedRepository};

/// The longest slug, in bytes.
const LONGEST: usize = 63;
/// The slug of a name that has no usable character.
const NAMELESS: &str = "repository";

/// Whether `text` is a slug: `[a-z0-9][a-z0-9-]{0,62}`.
pub fn is_slug(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=LONGEST).contains(&text.len())
        && text.bytes().next().is_some_and(is_plain)
        && text.bytes().all(|byte| is_plain(byte) || byte == b'-')
}

/// The slug of each repository, by host id.
///
/// `existing` has the slugs that host ids got before, listed now or not: each keeps its own, and none
/// of them is given again. `taken` has the tenant's other slugs. `below` is the connection's owner
/// ([`super::Connection::below`]), which is no part of a slug; a group below it is. New slugs are given
/// by the order of paths: of two equal names the second gets `-2`.
pub fn assign(
    existing: &BTreeMap<String, String>,
    taken: &BTreeSet<String>,
    below: &str,
    repositories: &[HostedRepository],
) -> BTreeMap<String, String> {
    let mut assigned = BTreeMap::new();
    let mut used: BTreeSet<String> = taken.iter().chain(existing.values()).cloned().collect();
    // Where the search for a free number goes on, so that many equal names take linear time.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut by_path: Vec<&HostedRepository> = repositories.iter().collect();
    by_path.sort_by(|a, b| (&a.path, &a.host_id).cmp(&(&b.path, &b.host_id)));
    for repository in by_path {
        let id = &repository.host_id;
        if assigned.contains_key(id) {
            continue;
        }
        let slug = match existing.get(id) {
            Some(slug) => slug.clone(),
            None => {
                let name = name(dialect::below(below, &repository.path));
                let number = numbers.entry(name.clone()).or_insert(1);
                free(&name, number, &used)
            }
        };
        used.insert(slug.clone());
        assigned.insert(id.clone(), slug);
    }
    assigned
}

/// The first of `name`, `name-2`, `name-3` … that is not used, from `number` on.
fn free(name: &str, number: &mut usize, used: &BTreeSet<String>) -> String {
    loop {
        let slug = match *number {
            1 => name.to_owned(),
            number => numbered(name, number),
        };
        *number += 1;
        if !used.contains(&slug) {
            return slug;
        }
    }
}

fn numbered(name: &str, number: usize) -> String {
    let ending = format!("-{number}");
    // A slug is ASCII: characters are bytes.
    let kept: String = name.chars().take(LONGEST - ending.len()).collect();
    kept.trim_end_matches('-').to_owned() + &ending
}

fn name(path: &str) -> String {
    let plain = path.chars().map(|c| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() => c,
        _ => '-',
    });
    let slug: String = plain.skip_while(|c| *c == '-').take(LONGEST).collect();
    match slug.trim_end_matches('-') {
        "" => NAMELESS.to_owned(),
        slug => slug.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::remote::{AllowedProtocols, RemoteUrl};

    fn repository(id: &str, path: &str) -> HostedRepository {
        let url = RemoteUrl::parse("https://host/x", &AllowedProtocols::default()).unwrap();
        HostedRepository {
            host_id: id.to_owned(),
            path: path.to_owned(),
            ..HostedRepository::of_url(&url)
        }
    }

    fn assigned(listed: &[(&str, &str)]) -> Vec<(String, String)> {
        let listed: Vec<_> = listed
            .iter()
            .map(|(id, path)| repository(id, path))
            .collect();
        let none = (BTreeMap::new(), BTreeSet::from(["taken".to_owned()]));
        assign(&none.0, &none.1, "acme", &listed)
            .into_iter()
            .collect()
    }

    #[test]
    fn a_slug_is_the_path_below_the_owner_in_lower_case() {
        for (path, slug) in [
            ("acme/Site", "site"),
            ("ACME/team/App.Web", "team-app-web"),
            ("acme/.github", "github"),
            ("acme/a__b-", "a--b"),
            ("acme/日本", "repository"),
            ("other/app", "other-app"),
            ("acmeister/app", "acmeister-app"),
            ("acme", "acme"),
            ("acme/taken", "taken-2"),
        ] {
            assert_eq!(
                assigned(&[("1", path)]),
                [("1".to_owned(), slug.to_owned())]
            );
        }
        let long = format!("acme/{}", "a".repeat(100));
        assert_eq!(assigned(&[("1", &long)])[0].1, "a".repeat(63));
        let two = assigned(&[("1", &long), ("2", &format!("{long}b"))]);
        assert_eq!(two[1].1, format!("{}-2", "a".repeat(61)));
    }

    #[test]
    fn equal_names_are_numbered_by_the_order_of_paths() {
        let listed = [("3", "acme/a.b"), ("1", "acme/a_b"), ("2", "acme/a-b")];
        let slugs: Vec<String> = assigned(&listed)
            .into_iter()
            .map(|(_, slug)| slug)
            .collect();
        assert_eq!(slugs, ["a-b-3", "a-b", "a-b-2"]);
    }

    #[test]
    fn a_renamed_repository_keeps_its_slug_and_nobody_gets_it() {
        let existing = BTreeMap::from([
            ("1".to_owned(), "site".to_owned()),
            ("9".to_owned(), "away".to_owned()),
        ]);
        let listed = [
            repository("1", "acme/renamed"),
            repository("2", "acme/site"),
            repository("3", "acme/away"),
        ];
        let slugs = assign(&existing, &BTreeSet::new(), "acme", &listed);
        let slugs: Vec<&str> = slugs.values().map(String::as_str).collect();
        assert_eq!(slugs, ["site", "site-2", "away-2"]);
    }

    proptest! {
        #[test]
        fn slugs_are_valid_unique_stable_and_know_no_order(
            paths in proptest::collection::vec("(acme/)?[aAbB./_é-]{0,4}[a-b-]{0,70}", 0..30),
            taken in proptest::collection::btree_set("[ab-]{1,3}", 0..10),
            kept in 0..30_usize,
        ) {
            let mut listed: Vec<_> = paths.iter().enumerate()
                .map(|(id, path)| repository(&id.to_string(), path)).collect();
            let slugs = assign(&BTreeMap::new(), &taken, "acme", &listed);
            prop_assert_eq!(slugs.len(), listed.len());
            prop_assert!(slugs.values().all(|slug| is_slug(slug) && !taken.contains(slug)));
            let distinct: BTreeSet<_> = slugs.values().collect();
            prop_assert_eq!(distinct.len(), slugs.len());
            listed.reverse();
            prop_assert_eq!(&assign(&BTreeMap::new(), &taken, "acme", &listed), &slugs);
            // Those that were known before keep theirs whatever is listed beside them.
            let existing: BTreeMap<_, _> =
                slugs.iter().take(kept).map(|(id, slug)| (id.clone(), slug.clone())).collect();
            let again = assign(&existing, &taken, "acme", &listed);
            prop_assert!(existing.iter().all(|(id, slug)| again.get(id) == Some(slug)));
            let distinct: BTreeSet<_> = again.values().collect();
            prop_assert_eq!(distinct.len(), again.len());
        }

        #[test]
        fn any_name_has_a_slug(path in any::<String>()) {
            prop_assert!(is_slug(&name(&path)));
        }
    }
}
