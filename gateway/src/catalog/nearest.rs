//! The known argument that somebody most likely meant.
//!
//! A spelling alone does not do: `file_pattern` is nearer to `pattern` than to `glob`, which it is
//! another tool's word for. So words that stand for one thing come first.

use archway_proto::nearest;

/// Arguments of one meaning. Models carry them from tool to tool, and from other servers' tools.
const SYNONYMS: [&[&str]; 7] = [
    &["glob", "file_pattern", "include", "file_glob"],
    &["pattern", "query", "regex", "search"],
    &["path", "file_path", "file", "filename", "filepath"],
    &["directory", "dir", "folder", "path"],
    &["project", "repo", "repository"],
    &["max_results", "limit", "max_count", "head_limit"],
    &["start_line", "offset", "from_line"],
];

/// The argument of `known` that has the meaning of `name`, else the nearest.
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
    fn a_word_of_the_same_meaning_comes_before_one_of_a_like_spelling() {
        let search = ["context_lines", "glob", "max_results", "pattern", "project"];
        for (given, meant) in [
            ("file_pattern", "glob"),
            ("query", "pattern"),
            ("limit", "max_results"),
            ("Repo", "project"),
            ("patern", "pattern"),
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
