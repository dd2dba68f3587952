//! Sections: parts of a text that are found and read apart from its other parts.

/// The most bytes of a section, unless one line is longer. Smaller sections exclude more of a text,
/// and compress less.
const LENGTH: usize = 32 << 10;

/// Divides a text into sections of whole lines.
pub(crate) fn sections(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (section, tail) = rest.split_at_checked(end(rest))?;
        rest = tail;
        (!section.is_empty()).then_some(section)
    })
}

fn end(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let Some((head, tail)) = bytes.split_at_checked(LENGTH) else {
        return bytes.len();
    };
    let is_end = |byte: &u8| *byte == b'\n';
    match head.iter().rposition(is_end) {
        Some(at) => at + 1,
        None => (tail.iter().position(is_end)).map_or(bytes.len(), |at| LENGTH + at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_whole_lines_and_make_up_the_text() {
        let line = |length: usize| format!("{}\n", "ä".repeat(length / 2));
        let short: String = (0..3000).map(|at| line(at % 90)).collect();
        let long = [line(10), line(3 * LENGTH), line(10), "end".to_owned()].concat();
        for text in ["", "\n", "one", &short, &long] {
            let found: Vec<&str> = sections(text).collect();
            assert_eq!(found.concat(), text);
            let Some((last, others)) = found.split_last() else {
                continue;
            };
            assert!(others.iter().all(|section| section.ends_with('\n')));
            assert!(!last.is_empty());
            let is_fit = |section: &&str| section.len() <= LENGTH || section.lines().count() == 1;
            assert!(found.iter().all(is_fit));
        }
        assert!(sections(&short).count() > 3);
        assert_eq!(sections(&long).count(), 3);
    }
}
