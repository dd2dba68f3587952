//! Other names of a tool's arguments: its own in camelCase, and those that similar tools of everybody use.
//!
//! A name that the tool has itself always means that argument.

use std::collections::HashMap;

/// A file or folder.
const PATHS: [&str; 3] = ["path", "file_path", "directory"];
/// How many.
const LIMITS: [&str; 3] = ["limit", "max_results", "max_count"];
/// Which files. A tool without any of these, but with [`PATTERN`], takes a glob by that.
const GLOBS: [&str; 3] = ["glob", "file_pattern", "path_glob"];
/// What to search for.
const QUERY: &str = "query";
/// Which symbol. Such a tool takes it as [`QUERY`] and [`PATTERN`], too.
const SYMBOLS: [&str; 2] = ["symbol", "name"];
/// What to search for, or which files.
const PATTERN: &str = "pattern";

/// From other spellings to the advertised names.
#[derive(Default)]
pub(super) struct Spellings(HashMap<String, String>);

impl Spellings {
    /// The spellings of a tool with these arguments.
    ///
    /// # Errors
    /// The name of an argument whose camelCase spelling is that of another.
    pub(super) fn of<'a>(
        names: impl Iterator<Item = &'a String> + Clone,
    ) -> Result<Spellings, String> {
        let mut all = HashMap::new();
        for name in names.clone() {
            let spelling = camel_case(name);
            if spelling != *name && all.insert(spelling, name.clone()).is_some() {
                return Err(name.clone());
            }
        }
        let has = |name: &str| names.clone().any(|it| it == name);
        for (other, name) in borrowed(has) {
            for spelling in [other.to_owned(), camel_case(other)] {
                if !has(&spelling) {
                    all.entry(spelling).or_insert_with(|| name.to_owned());
                }
            }
        }
        Ok(Spellings(all))
    }

    /// The advertised name that a spelling means, if it is another one.
    pub(super) fn advertised(&self, spelling: &str) -> Option<&String> {
        self.0.get(spelling)
    }
}

/// The names of other tools, each with the argument that it means here. A name that could mean two has none.
fn borrowed(has: impl Fn(&str) -> bool) -> Vec<(&'static str, &'static str)> {
    let only = |names: &[&'static str]| {
        let mut found = names.iter().copied().filter(|name| has(name));
        found.next().filter(|_| found.next().is_none())
    };
    let glob = only(&GLOBS).or_else(|| only(&[PATTERN]).filter(|_| !has(QUERY)));
    let symbol = only(&SYMBOLS);
    let text = only(&[QUERY, PATTERN]).filter(|name| Some(*name) != glob);
    let text = text.or(symbol.filter(|_| !has(QUERY) && !has(PATTERN)));
    let groups: [(&[&'static str], Option<&'static str>); 5] = [
        (&PATHS, only(&PATHS)),
        (&LIMITS, only(&LIMITS)),
        (&SYMBOLS, symbol),
        (&[QUERY, PATTERN], text),
        (&[GLOBS[0], GLOBS[1], GLOBS[2], PATTERN], glob),
    ];
    let mut borrowed = Vec::new();
    for (names, meant) in groups {
        borrowed.extend(names.iter().copied().zip(std::iter::repeat(meant)));
    }
    let meant = |(other, meant)| Some((other, meant?));
    borrowed.into_iter().filter_map(meant).collect()
}

/// `max_depth` → `maxDepth`.
pub(super) fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut spelling = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        spelling.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        spelling.push_str(letters.as_str());
    }
    spelling
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a spelling means for a tool with these arguments; itself where it is advertised.
    fn meant(arguments: &[&str], spelling: &str) -> Option<String> {
        let names: Vec<String> = arguments.iter().map(|name| (*name).to_owned()).collect();
        let spellings = Spellings::of(names.iter()).unwrap();
        spellings.advertised(spelling).cloned()
    }

    #[test]
    fn names_of_similar_tools_mean_the_argument_of_their_kind() {
        let grep = ["pattern", "file_pattern", "limit", "project"];
        let search = ["pattern", "glob", "max_results"];
        let list = ["directory", "pattern", "max_depth"];
        let context = ["query", "path_glob", "limit"];
        let log = ["file_path", "max_count", "grep"];
        let (definition, uses) = (["name", "kind", "path_glob"], ["symbol", "path_glob"]);
        for (arguments, spelling, name) in [
            (&grep[..], "query", Some("pattern")),
            (&grep, "glob", Some("file_pattern")),
            (&grep, "pathGlob", Some("file_pattern")),
            (&grep, "maxResults", Some("limit")),
            (&grep, "pattern", None),
            (&grep, "path", None),
            (&search, "query", Some("pattern")),
            (&search, "file_pattern", Some("glob")),
            (&search, "max_count", Some("max_results")),
            (&list, "path", Some("directory")),
            (&list, "glob", Some("pattern")),
            (&list, "query", None),
            (&context, "pattern", Some("query")),
            (&context, "glob", Some("path_glob")),
            (&log, "path", Some("file_path")),
            (&log, "limit", Some("max_count")),
            (&log, "pattern", None),
            (&definition, "symbol", Some("name")),
            (&definition, "query", Some("name")),
            (&definition, "pattern", Some("name")),
            (&definition, "glob", Some("path_glob")),
            (&uses, "name", Some("symbol")),
            (&uses, "query", Some("symbol")),
        ] {
            assert_eq!(
                meant(arguments, spelling).as_deref(),
                name,
                "{arguments:?} {spelling}"
            );
        }
    }

    #[test]
    fn a_name_that_could_mean_two_arguments_means_none() {
        assert_eq!(meant(&["path", "directory"], "file_path"), None);
        assert_eq!(meant(&["limit", "max_results"], "max_count"), None);
    }

    #[test]
    fn two_arguments_of_one_camel_case_spelling_are_an_error() {
        let names = ["max_depth".to_owned(), "max__depth".to_owned()];
        assert!(Spellings::of(names.iter()).is_err());
    }
}
