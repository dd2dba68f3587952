//! Ends of members that TypeScript leaves out: a line break ends a member of an interface, also before a
//! call signature that begins with `<`. There the grammar reads on, and most of the text is an error.

use archway_repo::{
    Cancel, Stopped,
    syntax::{Language, Syntax, SyntaxError},
};

/// No member ends behind one of these.
const OPEN: &str = ";,{([<|&=:?+-*";

/// Parses a text and visits its tree. If there is an error, and more of the text is read once the ends
/// are written, that tree is visited. Its positions are the same.
///
/// # Errors
/// If the text cannot be parsed, or `cancel` stops the work.
pub(crate) fn parsed(
    language: Language,
    text: &str,
    cancel: &Cancel,
    visit: impl FnOnce(&Syntax<'_>) -> Result<(), Stopped>,
) -> Result<(), SyntaxError> {
    let syntax = language.parse(text.as_bytes(), cancel)?;
    let is_typed = matches!(language, Language::TypeScript | Language::Tsx);
    if is_typed
        && let Some(line) = syntax.error_line(cancel)?
        && let Some(ended) = ended(text)
    {
        let syntax = language.parse(&ended, cancel)?;
        if syntax.error_line(cancel)?.is_none_or(|later| later > line) {
            return Ok(visit(&syntax)?);
        }
    }
    Ok(visit(&syntax)?)
}

/// The text with `;` for the last space before each `<` that begins a line and follows a whole member.
/// `None` if there is none.
fn ended(text: &str) -> Option<Vec<u8>> {
    let mut ended = text.as_bytes().to_vec();
    let (mut at, mut is_whole, mut is_same) = (0, false, true);
    for line in text.split_inclusive('\n') {
        let code = line.trim_start();
        let start = at + line.len() - code.len();
        at += line.len();
        if code.is_empty() || code.starts_with("//") || code.starts_with(['*', '/']) {
            continue;
        }
        let before = text.get(..start).unwrap_or_default();
        if is_whole && is_signature(code) && before.ends_with([' ', '\t']) {
            ended[start - 1] = b';';
            is_same = false;
        }
        let code = code.split(" //").next().unwrap_or_default().trim_end();
        is_whole = !code.ends_with(|last| OPEN.contains(last));
    }
    (!is_same).then_some(ended)
}

/// Whether a line begins with parameters of types.
fn is_signature(code: &str) -> bool {
    let first = code.strip_prefix('<').and_then(|rest| rest.chars().next());
    first.is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '$' | '\n' | '\r'))
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::cancel;

    use super::*;
    use crate::Symbols;

    const CALLS: &str = "export interface Get {\n  // first\n  <K extends string>(key: K): Box<K>\n\n  // second\n\
        \x20 <\n    K,\n  >(key: K, other: number): [K]\n  <A>(key: A): { a: A };\n  <B>(key: B): B,\n  <C>(key: C): C\n}\n\
        export class Gate {}\n";

    #[test]
    fn call_signatures_need_no_separators() {
        for language in [Language::TypeScript, Language::Tsx] {
            let symbols = Symbols::of(language, CALLS.as_bytes(), &cancel()).unwrap();
            let definitions = symbols.definitions.iter();
            let defined: Vec<String> = definitions
                .map(|it| format!("{} {} {}", it.name_line, it.name, it.is_exported))
                .collect();
            let expected = ["1 Get true", "13 Gate true"];
            assert!(
                expected
                    .iter()
                    .all(|it| defined.contains(&(*it).to_owned())),
                "{defined:?}"
            );
        }
    }

    #[test]
    fn only_whole_members_are_ended() {
        let ended = ended(CALLS).unwrap();
        let ended = String::from_utf8(ended).unwrap();
        let lines: Vec<usize> = (1..)
            .zip(ended.lines())
            .filter(|(_, line)| line.starts_with(" ;<"))
            .map(|(number, _)| number)
            .collect();
        assert_eq!(lines, [6, 9]);
        assert_eq!(ended.len(), CALLS.len());
        for text in ["<A>(a: A): A\n<B>(b: B): B\n", "a: A\n\u{a0}<B>(b: B): B\n"] {
            assert!(super::ended(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_text_without_errors_is_read_as_it_is() {
        let text = "const a = b\n  <c\n\nfunction f() {}\n";
        let symbols = Symbols::of(Language::TypeScript, text.as_bytes(), &cancel()).unwrap();
        let names: Vec<&str> = symbols.definitions.iter().map(|it| &*it.name).collect();
        assert_eq!(names, ["a", "f"]);
    }
}
