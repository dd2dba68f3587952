//! The known argument that a client most likely meant.
//!
//! Similar spelling is not enough: `file_pattern` is nearer to `pattern` than to `glob`, for which
//! it is another tool's word. So synonyms are tried first.

use archway_proto::nearest;

/// Arguments with the same meaning. Models carry them over from other tools and servers.
const SYNONYMS: [&[&str]; 8] = [
    &["glob", "file_pattern", "include", "file_glob"],
    &["pattern", "query", "regex", "search"],
    &["path", "file_path", "file", "filename", "filepath"],
    &["directory", "dir", "folder", "path"],
    &["project", "repo", "repository"],
    &["max_results", "limit", "max_count", "head_limit"],
    &["start_line", "offset", "from_line"],
    &["path", "file_pattern", "path_glob", "glob"],
];

/// A synonym of `name` in `known`, else the nearest spelling.
pub(super) fn argument<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let meant = SYNONYMS
        .iter()
        .filter(|group| group.contains(&lower.as_str()));
    let synonym = meant
        .flat_map(|group| *group)
        .find_map(|word| known.iter().find(|known| *known == word));
    synonym
        .copied()
        .or_else(|| nearest::to(name, known.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synonym_comes_before_a_similar_spelling() {
        let search = ["context_lines", "glob", "max_results", "pattern", "project"];
        for (given, meant) in [
            ("file_pattern", "glob"),
            ("query", "pattern"),
            ("limit", "max_results"),
            ("Repo", "project"),
            ("patern", "pattern"),
            ("path", "glob"),
        ] {
            assert_eq!(argument(given, &search), Some(meant), "{given}");
        }
        assert_eq!(
            argument("path", &["directory", "pattern"]),
            Some("directory")
        );
        assert_eq!(argument("glob", &["directory", "x"]), None);
        let log = ["author", "cursor", "file_path", "ref", "since", "until"];
        for word in ["grep", "head"] {
            assert_eq!(argument(word, &log), None, "{word}");
        }
    }
}
