//! Takes the endings off words, so that `stores`, `stored` and `storing` are one.

/// Endings and what takes their place, longest first.
const ENDINGS: [(&str, &str); 17] = [
    ("ements", ""),
    ("ations", "at"),
    ("ement", ""),
    ("ation", "at"),
    ("sses", "ss"),
    ("ions", ""),
    ("ings", ""),
    ("edly", ""),
    ("ies", "y"),
    ("ion", ""),
    ("ing", ""),
    ("ers", "er"),
    ("ed", ""),
    ("es", ""),
    ("ly", ""),
    ("s", ""),
    ("e", ""),
];

/// The stem of a lower-case word. It need not be a word.
pub(super) fn of(word: &str) -> String {
    let mut stem = word.to_owned();
    if !word.ends_with("ss") {
        let cut = ENDINGS.iter().find_map(|(end, by)| {
            let left = word.strip_suffix(end)?;
            (left.len() >= 3).then_some((left, by))
        });
        if let Some((left, by)) = cut {
            stem = format!("{left}{by}");
        }
    }
    let mut ends = stem.chars().rev();
    let last = ends.next();
    if stem.len() > 3 && last == ends.next() && !matches!(last, Some('a' | 'l' | 's' | 'z')) {
        stem.pop();
    }
    if stem.len() > 4 && stem.ends_with('e') {
        stem.pop();
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            ["store", "stores", "stored", "storing"],
            ["deploy", "deploys", "deployed", "deploying"],
            ["query", "queries", "query", "query"],
            ["stop", "stops", "stopped", "stopping"],
        ] {
            assert!(
                forms.iter().all(|form| of(form) == of(forms[0])),
                "{forms:?}"
            );
        }
        assert_ne!(of("class"), of("clas"));
    }
}
