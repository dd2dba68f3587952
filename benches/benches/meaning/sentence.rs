//! The first sentence of a doc comment, used as a query.

/// Longer ones are not sentences.
const LONGEST: usize = 300;

/// The first sentence of a comment in any of the languages, without comment marks. `None` if it has fewer
/// than three words, or looks like code.
pub(crate) fn first(comment: &str) -> Option<String> {
    let mut paragraph = String::new();
    for line in comment.lines().map(without_marks) {
        let ends = line.is_empty() || line.starts_with(['@', ':']);
        if ends && !paragraph.is_empty() {
            break;
        }
        if !ends {
            paragraph.push_str(line);
            paragraph.push(' ');
        }
    }
    let sentence = paragraph.split(". ").next()?.trim();
    is_words(sentence).then(|| sentence.to_owned())
}

fn without_marks(line: &str) -> &str {
    line.trim()
        .trim_start_matches(['/', '*', '!', '#', '"', '\'', '-'])
        .trim_end_matches("*/")
        .trim_end_matches(['"', '\''])
        .trim()
}

fn is_words(sentence: &str) -> bool {
    let letters = sentence.chars().filter(|&c| c.is_alphabetic() || c == ' ');
    let all = sentence.chars().count();
    all <= LONGEST && sentence.split_whitespace().count() >= 3 && 4 * letters.count() >= 3 * all
}
