//! The prompts that every project has. Their names are no repository's.

use std::sync::LazyLock;

use super::file::Prompt;

const FILES: [&str; 3] = [
    include_str!("builtin/guided-pattern-validation.json"),
    include_str!("builtin/review-a-decision.json"),
    include_str!("builtin/onboard-to-this-repo.json"),
];

/// A file that does not parse is left out; a test holds that all do.
static ALL: LazyLock<Vec<Prompt>> = LazyLock::new(|| {
    let files = FILES.into_iter();
    files
        .filter_map(|file| Prompt::parse(file.as_bytes()).ok())
        .collect()
});

/// All of them, in the order in which they are listed.
pub(super) fn all() -> Vec<Prompt> {
    ALL.clone()
}

/// Whether a name is one of theirs.
pub(super) fn is_reserved(name: &str) -> bool {
    ALL.iter().any(|prompt| prompt.name == name)
}

#[cfg(test)]
mod tests {
    use super::super::template::Piece;
    use super::*;

    /// The tools that the built-in prompts may name, of the worker's.
    const TOOLS: [&str; 9] = [
        "check_adr_alignment",
        "context_search",
        "get_repo_overview",
        "git_log",
        "grep_codebase",
        "list_files",
        "read_file",
        "search_architecture",
        "validate_pattern",
    ];

    #[test]
    fn each_is_a_prompt_and_names_tools_and_arguments_of_its_own_only() {
        let names = [
            "guided-pattern-validation",
            "review-a-decision",
            "onboard-to-this-repo",
        ];
        let all = all();
        assert!(all.iter().map(|prompt| prompt.name.as_str()).eq(names));
        for prompt in all {
            for piece in prompt.messages.iter().flat_map(|(_, pieces)| pieces) {
                match piece {
                    Piece::Text(_) => {}
                    Piece::Resource(_) => panic!("{}: no project has it for sure", prompt.name),
                    Piece::Tool(name) | Piece::Result(name) => {
                        assert!(TOOLS.contains(&name.as_str()), "{name}");
                    }
                    Piece::Argument(name) => {
                        let mut arguments = prompt.arguments.iter();
                        assert!(arguments.any(|it| it.name == *name), "{name}");
                    }
                }
            }
        }
        assert!(is_reserved("review-a-decision") && !is_reserved("mine"));
    }
}
