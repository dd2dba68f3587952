//! The prompts that every project has. Repositories can't use their names.

use std::{collections::BTreeMap, sync::LazyLock};

use super::{
    expand::Part,
    file::{Prompt, Role},
};

const FILES: [&str; 3] = [
    include_str!("builtin/guided-pattern-validation.json"),
    include_str!("builtin/review-a-decision.json"),
    include_str!("builtin/onboard-to-this-repo.json"),
];

/// A file that does not parse is skipped. A test checks that all parse.
static ALL: LazyLock<Vec<Prompt>> = LazyLock::new(|| {
    let files = FILES.into_iter();
    files
        .filter_map(|file| Prompt::parse(file.as_bytes()).ok())
        .collect()
});

/// All built-in prompts, in the order of `prompts/list`.
pub(super) fn all() -> &'static [Prompt] {
    &ALL
}

/// Removes the lines of arguments that were not given: each argument has its own line.
pub(super) fn without_absent(
    messages: Vec<(Role, Vec<Part>)>,
    given: &BTreeMap<String, String>,
) -> Vec<(Role, Vec<Part>)> {
    let messages = messages.into_iter();
    let without = messages.map(|(role, parts)| (role, without_lines(parts, given)));
    without.collect()
}

fn without_lines(parts: Vec<Part>, given: &BTreeMap<String, String>) -> Vec<Part> {
    let is_absent = |name: &String| given.get(name).is_none_or(String::is_empty);
    let mut remaining: Vec<Part> = Vec::with_capacity(parts.len());
    let mut is_cut = false;
    for part in parts {
        match part {
            Part::Argument(name) if is_absent(&name) => {
                if let Some(Part::Text(text)) = remaining.last_mut() {
                    let label = text.rfind('\n').map_or(0, |end| end + 1);
                    *text = text.get(..label).unwrap_or_default().into();
                }
                is_cut = true;
            }
            Part::Text(text) if is_cut => {
                let rest = text.strip_prefix('\n').unwrap_or(&text);
                let own_paragraph =
                    matches!(remaining.last(), Some(Part::Text(text)) if text.ends_with("\n\n"));
                // If the argument was its own paragraph, the empty line after it goes too.
                let after_paragraph = rest.strip_prefix('\n').filter(|_| own_paragraph);
                remaining.push(Part::Text(after_paragraph.unwrap_or(rest).into()));
                is_cut = false;
            }
            part => remaining.push(part),
        }
    }
    remaining
}

/// Whether a name belongs to a built-in prompt.
pub(super) fn is_reserved(name: &str) -> bool {
    ALL.iter().any(|prompt| prompt.name == name)
}

#[cfg(test)]
mod tests {
    use super::super::template::Piece;
    use super::*;

    /// The tools that built-in prompts may name.
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
    fn built_in_prompts_name_only_known_tools_and_their_own_arguments() {
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
                    Piece::Resource(_) | Piece::Unknown(_) => {
                        panic!("{}: some projects lack it", prompt.name)
                    }
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

    #[test]
    fn an_omitted_argument_leaves_no_line() {
        let parts = |language: &str| {
            let text = |text: &str| Part::Text(text.into());
            let argument = |name: &str| Part::Argument(name.to_owned());
            let (a, b) = (argument("a"), argument("b"));
            let parts = vec![text("Go.\n\nA: "), a, text("\nB: "), b, text("\nEnd.")];
            let given = BTreeMap::from([("b".to_owned(), language.to_owned())]);
            without_absent(vec![(Role::User, parts)], &given)
                .remove(0)
                .1
        };
        let [text, other] = ["Go.\n\n", "B: "].map(|text| Part::Text(text.into()));
        let given = [
            text.clone(),
            other,
            Part::Argument("b".to_owned()),
            Part::Text("\nEnd.".into()),
        ];
        assert_eq!(parts("x"), given);
        assert_eq!(
            parts(""),
            [text, Part::Text("".into()), Part::Text("End.".into())]
        );
    }

    #[test]
    fn each_optional_argument_has_its_own_line() {
        for prompt in all() {
            let optional = prompt.arguments.iter().filter(|it| !it.required);
            for argument in optional {
                let is_it = |piece: &Piece| *piece == Piece::Argument(argument.name.clone());
                for (_, pieces) in &prompt.messages {
                    let positions = pieces.iter().enumerate().filter(|(_, piece)| is_it(piece));
                    for (at, _) in positions {
                        let after = pieces.get(at + 1);
                        assert!(matches!(after, Some(Piece::Text(text)) if text.starts_with('\n')));
                        let before = at.checked_sub(1).and_then(|at| pieces.get(at));
                        assert!(matches!(before, Some(Piece::Text(text)) if text.contains('\n')));
                    }
                }
            }
        }
    }
}
