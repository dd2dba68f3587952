//! Ends of members that TypeScript leaves out: a line break ends a member of an interface, also before a
//! call signature that begins with `<`. There the grammar reads on, and most of the text is an error.

/// No member ends behind one of these.
const OPEN: &str = ";,{([<|&=:?+-*";

/// The text with `;` for the last space before each `<` that begins a line and follows a whole member.
/// `None` if there is none.
pub(super) fn ended(text: &str) -> Option<Vec<u8>> {
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
        is_whole = !code.ends_with(|last| OPEN.contains(last)) && !code.ends_with("=>");
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
    const CALLS: &str = "interface Get {\n  // first\n  <K extends string>(key: K): Box<K>\n\n  // second\n\
        \x20 <\n    K,\n  >(key: K, other: number): [K]\n  <A>(key: A): { a: A };\n  <B>(key: B): B,\n  <C>(key: C): C\n}\n";

    #[test]
    fn only_whole_members_are_ended() {
        let ended = super::ended(CALLS).unwrap();
        let ended = String::from_utf8(ended).unwrap();
        let lines: Vec<usize> = (1..)
            .zip(ended.lines())
            .filter(|(_, line)| line.starts_with(" ;<"))
            .map(|(number, _)| number)
            .collect();
        assert_eq!(lines, [6, 9]);
        assert_eq!(ended.len(), CALLS.len());
        for text in [
            "<A>(a: A): A\n<B>(b: B): B\n",
            "a: A\n\u{a0}<B>(b: B): B\n",
            "const view = () =>\n  <div>\n",
        ] {
            assert!(super::ended(text).is_none(), "{text}");
        }
    }
}
