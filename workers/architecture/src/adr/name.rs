//! Titles and file names of records, and the files in their folders that are not records.

/// Splits a title into its leading number, as written, and the rest: `ADR-012: Use it`, `12. Use
/// it`, `[ADR 12] Use it`.
pub(crate) fn split_number(title: &str) -> (Option<String>, String) {
    let title = title.trim();
    let whole = || (None, title.to_owned());
    let bare = title.trim_start_matches(['[', '(', '#', '`']);
    let named = without_prefix(bare);
    let (digits, rest) = digits(named);
    let behind = rest.trim_start_matches([']', ')', '`']);
    let plain = behind
        .trim_start()
        .trim_start_matches([':', '.', ')', '-', '–', '—', '|']);
    // The leading digits of "2024 in review" and "3D maps" are no record number.
    let is_parted = plain.len() < behind.trim_start().len() || behind.len() < rest.len();
    let is_named = named.len() < bare.len() && (rest.is_empty() || rest.starts_with(' '));
    if digits.is_empty() || digits.len() > 5 || !(is_parted || is_named) || is_date(rest) {
        return whole();
    }
    let plain = plain.trim();
    let plain = if plain.is_empty() { title } else { plain };
    (Some(digits.to_owned()), plain.to_owned())
}

/// The number at the start of a file stem, as written: `0007-use-it`, `adr_7`.
pub(crate) fn number_of_stem(stem: &str) -> Option<&str> {
    let (digits, rest) = digits(without_prefix(stem));
    let ends = rest.is_empty() || rest.starts_with(['-', '_', '.', ' ', ',']);
    let fits = !digits.is_empty() && digits.len() <= 5 && ends && !is_date(rest);
    fits.then_some(digits)
}

/// Whether a file with this stem and title is a template.
pub(crate) fn is_template(stem: &str, title: &str) -> bool {
    let stem = stem.to_lowercase();
    let words = stem.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_named = match words.as_slice() {
        ["template", ..] | [.., "template" | "templates"] => words.len() <= 4,
        _ => false,
    };
    is_named || is_placeholder(title)
}

/// Whether a title is a template's placeholder: `[short title of …]`, `NUMBER. TITLE`.
fn is_placeholder(title: &str) -> bool {
    let title = title.to_lowercase();
    let bracketed = title.split(['[', '{', '<']).skip(1);
    let mut holes = bracketed.filter_map(|hole| hole.split([']', '}', '>']).next());
    let is_hole =
        |hole: &str| hole == "title" || hole.contains("title of") || hole.contains("short title");
    holes.any(is_hole) || title.starts_with("number. title")
}

/// Whether a file with this stem lists other pages, by convention.
pub(crate) fn is_index(stem: &str) -> bool {
    let stem = stem.to_lowercase();
    matches!(
        stem.as_str(),
        "readme"
            | "index"
            | "_index"
            | "toc"
            | "summary"
            | "contributing"
            | "changelog"
            | "0000-index"
            | "000-index"
            | "0000-readme"
    )
}

/// Whether hosting sites show a file with this stem as the page of its folder.
pub(crate) fn is_cover(stem: &str) -> bool {
    let covers = ["readme", "index", "_index"];
    covers.iter().any(|name| stem.eq_ignore_ascii_case(name))
}

/// Removes a prefix such as "ADR" before a number.
fn without_prefix(name: &str) -> &str {
    let lower = name.to_ascii_lowercase();
    let prefixes = [
        "architecture decision record",
        "decision record",
        "decision",
        "adr",
        "ad",
    ];
    for prefix in prefixes {
        if lower.starts_with(prefix) {
            let rest = name.get(prefix.len()..).unwrap_or_default();
            let rest = rest.trim_start_matches([' ', '-', '_', '#', ':', '.', '\u{2011}']);
            if rest.starts_with(|c: char| c.is_ascii_digit()) {
                return rest;
            }
        }
    }
    name
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at_checked(end.unwrap_or(text.len()))
        .unwrap_or((text, ""))
}

/// Whether these characters after digits make a date: `-05-17`.
fn is_date(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    matches!(bytes, [b'-' | b'.' | b'_', a, b, c, ..]
        if a.is_ascii_digit() && b.is_ascii_digit() && b"-._".contains(c))
        && bytes.get(4).is_some_and(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_split_from_its_number() {
        for (title, number, plain) in [
            ("ADR-012: Use Postgres", Some("012"), "Use Postgres"),
            (
                "1. Record architecture decisions",
                Some("1"),
                "Record architecture decisions",
            ),
            ("ADR 12 - Use it", Some("12"), "Use it"),
            ("[ADR-0012] Use it", Some("0012"), "Use it"),
            ("Decision 4: Use it", Some("4"), "Use it"),
            ("adr 7 Use it", Some("7"), "Use it"),
            ("2024 in review", None, "2024 in review"),
            ("2024-05-17 Use it", None, "2024-05-17 Use it"),
            ("3D maps", None, "3D maps"),
            ("Adopt 12 factors", None, "Adopt 12 factors"),
            ("Add 2. level caches", None, "Add 2. level caches"),
        ] {
            let number = number.map(str::to_owned);
            assert_eq!(split_number(title), (number, plain.to_owned()), "{title}");
        }
    }

    #[test]
    fn a_stem_may_begin_with_a_number_but_not_a_date() {
        for (stem, number) in [
            ("0007-use-it", Some("0007")),
            ("7", Some("7")),
            ("adr-007-x", Some("007")),
            ("ADR_12", Some("12")),
            ("20200101-use-it", None),
            ("2020-01-01-use-it", None),
            ("use-it-2", None),
            ("3d-maps", None),
            ("address-12", None),
        ] {
            assert_eq!(number_of_stem(stem), number, "{stem}");
        }
    }

    #[test]
    fn templates_and_indexes_are_recognized() {
        for stem in [
            "template",
            "adr-template",
            "0000-template",
            "_template",
            "template-long",
        ] {
            assert!(is_template(stem, "x"), "{stem}");
        }
        assert!(is_template(
            "0000-x",
            "[short title of solved problem and solution]"
        ));
        assert!(is_template(
            "x",
            "{short title, representative of solved problem}"
        ));
        assert!(is_template("x", "NUMBER. TITLE"));
        assert!(!is_template(
            "0009-use-the-jinja-template-engine",
            "Use the Jinja template engine"
        ));
        assert!(!is_template("x", "[ADR-3] The short title of pages"));
        assert!(is_index("README") && !is_index("0001-index-the-logs"));
    }
}
