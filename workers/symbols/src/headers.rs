//! The language of a header: headers of C and C++ have the same extension.

use archway_repo::syntax::Language;

/// Lines of C++ begin with these, and no line of ordinary C does.
const STARTS: [&str; 12] = [
    "namespace ",
    "inline namespace ",
    "template <",
    "template<",
    "public:",
    "protected:",
    "private:",
    "public slots:",
    "using ",
    "virtual ",
    "explicit ",
    "enum class ",
];

/// The language of a text whose path says C or another one.
pub(crate) fn language(of_path: Language, text: &str) -> Language {
    match of_path {
        Language::C if code(text).lines().any(is_cpp) => Language::Cpp,
        language => language,
    }
}

/// Whether a line without comments and strings is C++ and no ordinary C.
fn is_cpp(line: &str) -> bool {
    let line = line.trim_start();
    // `class = 1;` is C.
    let is_class = line.strip_prefix("class ").is_some_and(|rest| {
        let next = rest.trim_start().chars().next();
        next.is_some_and(|c| c.is_alphabetic() || c == '_' || c == '[')
    });
    // Attributes of C have `::`, too: `[[gnu::unused]]`.
    let has_scope = line.contains("::") && !line.contains("[[");
    is_class || has_scope || STARTS.iter().any(|start| line.starts_with(start))
}

/// A text without comments and what is in quotes, line by line.
fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('/', Some('/')) => {
                chars.by_ref().find(|c| *c == '\n');
                code.push('\n');
            }
            ('/', Some('*')) => {
                chars.next();
                let mut last = ' ';
                for c in chars.by_ref() {
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    code.extend((c == '\n').then_some(c));
                    last = c;
                }
            }
            ('"' | '\'', _) => {
                let mut is_escaped = false;
                // No quote is open at the end of a line.
                let is_end = |next: &char| {
                    let is_end = *next == '\n' || (*next == c && !is_escaped);
                    is_escaped = *next == '\\' && !is_escaped;
                    is_end
                };
                let end = chars.by_ref().find(is_end);
                code.extend(end.filter(|end| *end == '\n'));
            }
            _ => code.push(c),
        }
    }
    code
}
