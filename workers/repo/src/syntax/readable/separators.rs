//! Ends of members that TypeScript leaves out: a line break ends a member of an interface, also before a
//! call signature that begins with `<`. There the grammar reads on, and most of the text is an error.

use std::ops::Range;

use super::{Readable, tokens::is_of_word};
use crate::syntax::failed::LeftOut;

/// The bytes that parameters of types may have, at most.
const REACH: usize = 1_000;
/// No member ends behind one of these.
const OPEN: &str = ";,{([<|&=:?+-*";

/// The text with `;` for the last space before each `<` that begins a line and follows a whole member. Where no space
/// is before it, for the parameters of types. `None` if there is none.
pub(super) fn ended(text: &str) -> Option<Readable> {
    let (mut ended, mut left_out) = (text.as_bytes().to_vec(), LeftOut::default());
    let (mut at, mut is_whole, mut is_same) = (0, false, true);
    for line in text.split_inclusive('\n') {
        let code = line.trim_start();
        let start = at + line.len() - code.len();
        at += line.len();
        if code.is_empty() || code.starts_with("//") || code.starts_with(['*', '/']) {
            continue;
        }
        let before = text.get(..start).unwrap_or_default();
        if is_whole && is_signature(code) {
            if before.ends_with([' ', '\t']) {
                ended[start - 1] = b';';
                is_same = false;
            } else if before.ends_with('\n')
                && let Some(parameters) = parameters(text, start)
            {
                leave_out(&mut ended, &mut left_out, parameters);
                is_same = false;
            }
        }
        let code = code.split(" //").next().unwrap_or_default().trim_end();
        is_whole = !code.ends_with(|last| OPEN.contains(last)) && !code.ends_with("=>");
    }
    (!is_same).then_some(Readable {
        text: ended,
        left_out,
    })
}

/// The parameters of types that begin at a `<`, if those of a call follow.
fn parameters(text: &str, start: usize) -> Option<Range<usize>> {
    let (mut depth, mut before) = (0_usize, b' ');
    let rest = text.as_bytes().get(start..)?;
    for (at, &byte) in (start..).zip(rest).take(REACH) {
        match byte {
            b'<' => depth += 1,
            // `(a: A) => B`
            b'>' if before != b'=' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let end = at + 1;
            return text.get(end..)?.starts_with('(').then_some(start..end);
        }
        before = byte;
    }
    None
}

/// Writes `;` and spaces for parameters of types, but leaves the ends of lines. The types among them are used: a word of
/// the language begins with a small letter.
fn leave_out(text: &mut [u8], left_out: &mut LeftOut, parameters: Range<usize>) {
    let start = parameters.start;
    left_out.note(start);
    let mut word = start;
    for at in parameters.clone() {
        let byte = text[at];
        if !is_of_word(byte) {
            if text[word].is_ascii_uppercase() {
                left_out.words.push(word..at);
            }
            word = at + 1;
        }
    }
    for byte in &mut text[parameters] {
        if !matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    text[start] = b';';
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
        let ended = super::ended(CALLS).unwrap().text;
        let ended = String::from_utf8(ended).unwrap();
        let lines: Vec<usize> = (1..)
            .zip(ended.lines())
            .filter(|(_, line)| line.starts_with(" ;<"))
            .map(|(number, _)| number)
            .collect();
        assert_eq!(lines, [6, 9]);
        assert_eq!(ended.len(), CALLS.len());
        for text in [
            "<A>(a: A): A;\n<B>(b: B): B\n",
            "a: A\n<B>\n",
            "a: A\n\u{a0}<B>(b: B): B\n",
            "const view = () =>\n  <div>\n",
        ] {
            assert!(super::ended(text).is_none(), "{text}");
        }
    }

    #[test]
    fn without_a_space_the_parameters_of_types_are_left_out() {
        let text = "a: A\n<K extends Map<Key, string>,\n V = () => void>(key: K): V\n";
        let ended = super::ended(text).unwrap();
        let blank = text.replace(
            "<K extends Map<Key, string>,",
            &format!(";{}", " ".repeat(27)),
        );
        let blank = blank.replace(" V = () => void>", &" ".repeat(16));
        assert_eq!(String::from_utf8(ended.text).unwrap(), blank);
        let words = ended.left_out.words.into_iter();
        let words: Vec<&str> = words.map(|word| text.get(word).unwrap()).collect();
        assert_eq!(words, ["K", "Map", "Key", "V"]);
    }
}
