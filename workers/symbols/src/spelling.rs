//! A name as people write it, in parts: `Vec<T>::push`, `(*Gate).admit`, `Gate#admit`, `admit(1)`.

/// The parts of a name from the outside in, without arguments of types and calls. A private name of
/// JavaScript keeps its `#`, an operator of C++ its signs.
pub(crate) fn parts(text: &str) -> Vec<String> {
    let (text, operator) = match operator(text) {
        Some((before, operator)) => (before, Some(operator)),
        None => (text, None),
    };
    let mut parts = split(&plain(text));
    parts.extend(operator);
    parts
}

/// What stands before the last part, and that part, if it is an operator of C++: `operator==`.
fn operator(text: &str) -> Option<(&str, String)> {
    const WORD: &str = "operator";
    let (before, after) = text.rsplit_once(WORD)?;
    let signs: String = after.chars().filter(|c| !c.is_whitespace()).collect();
    let signs = match signs.starts_with("()") {
        true => "()",
        false => signs.split('(').next().unwrap_or_default(),
    };
    let is_sign = |c: char| "+-*/%^&|~!=<>()[],".contains(c);
    let is_operator = !before.ends_with(is_word) && !signs.is_empty() && signs.chars().all(is_sign);
    is_operator.then(|| (before, format!("{WORD}{signs}")))
}

/// A name without arguments, the parentheses around a receiver, and the trait in `<T as Trait>`.
fn plain(text: &str) -> String {
    let unqualified = without_trait(text.trim());
    let mut rest = unqualified.as_deref().unwrap_or(text);
    let mut plain = String::new();
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        let before = plain.trim_end();
        let is_after_name = before.ends_with(|c| is_word(c) || matches!(c, '?' | '!'));
        let arguments = match c {
            '<' if is_after_name || before.ends_with("::") => after_closing(rest, ('<', '>')),
            '[' if is_after_name => after_closing(rest, ('[', ']')),
            _ => None,
        };
        match (c, arguments) {
            (_, Some(after)) => rest = after,
            ('(', _) if is_after_name => break,
            ('(', _) => rest = rest.trim_start_matches(['*', '&']),
            (')' | '`', _) => {}
            _ => plain.push(c),
        }
    }
    plain
}

/// `T::name` for `<T as Trait>::name`.
fn without_trait(text: &str) -> Option<String> {
    let inside = text.strip_prefix('<')?;
    let after = after_closing(inside, ('<', '>')).filter(|after| after.starts_with("::"))?;
    let own = inside.strip_suffix(after)?.strip_suffix('>')?;
    let own = own.split(" as ").next()?;
    Some(format!("{own}{after}"))
}

/// What follows the bracket that closes an open one. The angle of an arrow closes none.
fn after_closing(rest: &str, (open, close): (char, char)) -> Option<&str> {
    let (mut depth, mut last) = (1_usize, open);
    for (at, c) in rest.char_indices() {
        let is_arrow = c == '>' && matches!(last, '-' | '=');
        if c == open {
            depth += 1;
        } else if c == close && !is_arrow {
            depth -= 1;
        }
        if depth == 0 {
            return rest.get(at + close.len_utf8()..);
        }
        last = c;
    }
    None
}

/// `admit` for `pub fn admit`.
fn without_keywords(part: &str) -> &str {
    let is_words = part.chars().all(|c| is_word(c) || c == ' ');
    match part.rsplit_once(' ') {
        Some((_, name)) if is_words => name,
        _ => part,
    }
}

fn split(plain: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = plain.chars().peekable();
    while let Some(c) = chars.next() {
        let is_double = matches!((c, chars.peek()), (':', Some(':')) | ('-', Some('>')));
        let is_first = parts.last().is_none_or(|part| part.trim().is_empty());
        if is_double {
            chars.next();
        }
        // `Gate#admit` is a method of Gate, `#admit` a private name.
        match is_double || matches!(c, '.' | '\\' | '/') || (c == '#' && !is_first) {
            true => parts.push(String::new()),
            false => parts.last_mut().map_or((), |part| part.push(c)),
        }
    }
    let parts = parts.iter().map(|part| without_keywords(part.trim()));
    let parts = parts.filter(|part| !part.trim_matches('#').is_empty());
    parts.map(str::to_owned).collect()
}

/// Whether names have this character.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
