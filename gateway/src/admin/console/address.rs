//! The addresses of the pages: which page a request asks for, and links to others.

use std::collections::HashMap;

use reqwest::Url;

use crate::slug::is_slug;

/// Characters of a value of the query at most; longer ones are cut.
const LONGEST_VALUE: usize = 100;
/// Characters of the id of a key or of an issuer's subject at most.
const LONGEST_ID: usize = 64;

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Overview,
    Tenants,
    /// A tenant's slug.
    Tenant(String),
    /// A tenant's slug, and the id of one of its keys.
    Key(String, String),
    /// A tenant's slug, and that of one of its projects.
    Project(String, String),
    Calls,
}

impl Place {
    /// The page at a path below `/console`; `None` if there is none.
    pub(super) fn parse(path: &str) -> Option<Place> {
        let path = path.strip_prefix("/console")?;
        let parts: Vec<&str> = path.split('/').collect();
        let ["", parts @ ..] = &parts[..] else {
            return None;
        };
        let own = str::to_owned;
        match *parts {
            [] => Some(Place::Overview),
            ["tenants"] => Some(Place::Tenants),
            ["calls"] => Some(Place::Calls),
            ["tenants", tenant] if is_slug(tenant) => Some(Place::Tenant(own(tenant))),
            ["tenants", tenant, "keys", key] if is_slug(tenant) && is_id(key) => {
                Some(Place::Key(own(tenant), own(key)))
            }
            ["tenants", tenant, "projects", project] if is_slug(tenant) && is_slug(project) => {
                Some(Place::Project(own(tenant), own(project)))
            }
            _ => None,
        }
    }

    /// Its path.
    pub(super) fn path(&self) -> String {
        match self {
            Place::Overview => "/console".to_owned(),
            Place::Tenants => "/console/tenants".to_owned(),
            Place::Calls => "/console/calls".to_owned(),
            Place::Tenant(tenant) => format!("/console/tenants/{tenant}"),
            Place::Key(tenant, key) => format!("/console/tenants/{tenant}/keys/{key}"),
            Place::Project(tenant, project) => {
                format!("/console/tenants/{tenant}/projects/{project}")
            }
        }
    }

    /// Its path with a query of the values that are not empty.
    pub(super) fn with(&self, query: &[(&str, &str)]) -> String {
        let path = self.path();
        // A fixed URL parses.
        let Ok(mut url) = Url::parse("http://console/") else {
            return path;
        };
        let filled = query.iter().filter(|(_, value)| !value.is_empty());
        url.query_pairs_mut().extend_pairs(filled);
        match url.query() {
            Some(query) if !query.is_empty() => format!("{path}?{query}"),
            _ => path,
        }
    }
}

/// Whether a text may be the id of a key or of an issuer's subject.
fn is_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(plain)
}

/// The values of a query by name; the first of a name counts.
#[derive(Debug, Default)]
pub(super) struct Query(HashMap<String, String>);

impl Query {
    /// From the text after `?`. NULs, which Postgres does not take, are left out.
    pub(super) fn parse(text: Option<&str>) -> Query {
        Query::up_to(LONGEST_VALUE, text)
    }

    /// The same with values of up to `longest` characters.
    pub(super) fn up_to(longest: usize, text: Option<&str>) -> Query {
        let url = text.and_then(|text| Url::parse(&format!("http://console/?{text}")).ok());
        let mut values = HashMap::new();
        for (name, value) in url.iter().flat_map(Url::query_pairs) {
            let value = value.chars().filter(|it| *it != '\0').take(longest);
            let value: String = value.collect();
            values
                .entry(name.into_owned())
                .or_insert_with(|| value.trim().to_owned());
        }
        Query(values)
    }

    /// The value of this name; empty if there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// The value of this name if it is not empty.
    pub(super) fn some(&self, name: &str) -> Option<String> {
        Some(self.get(name).to_owned()).filter(|value| !value.is_empty())
    }

    /// Whether the query has this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_by_its_own_path_alone() {
        let pages = [
            Place::Overview,
            Place::Tenants,
            Place::Calls,
            Place::Tenant("acme".to_owned()),
            Place::Key("acme".to_owned(), "bu6mltErMopy".to_owned()),
            Place::Project("acme".to_owned(), "site".to_owned()),
        ];
        for page in pages {
            assert_eq!(Place::parse(&page.path()), Some(page));
        }
        for none in [
            "/console/x",
            "/console/tenants/A",
            "/console/tenants/acme/keys/a%2f",
            "/consolex/tenants",
        ] {
            assert_eq!(Place::parse(none), None, "{none}");
        }
    }

    #[test]
    fn values_of_a_query_come_back_as_they_were() {
        let value = "a&b=c d\u{e4}%";
        let link = Place::Calls.with(&[("tool", value), ("key", "")]);
        let query = Query::parse(link.split_once('?').map(|(_, query)| query));
        assert_eq!(query.get("tool"), value);
        assert!(!query.has("key") && query.some("key").is_none());
        let long = format!("q={}%00", "x".repeat(300));
        assert_eq!(Query::parse(Some(&long)).get("q").len(), LONGEST_VALUE);
    }
}
