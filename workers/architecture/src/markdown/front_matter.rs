//! Front matter: the fields before a document's text.
//!
//! The parser supports the subset of YAML and TOML that documents use: fields with a value or a
//! list of values, on the same line or below. Deeper nesting is ignored.

/// The maximum number of lines.
const MAX_LINES: usize = 500;

/// A field of front matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// In lower case, with `-` for `_` and spaces.
    pub(crate) name: String,
    /// The value, or the values of a list, without quotation marks.
    pub(crate) values: Vec<String>,
}

impl Field {
    /// Whether the field has this name; case, `-` and `_` are ignored.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name == normalized_name(name)
    }

    /// The value; commas separate the values of a list.
    pub(crate) fn value(&self) -> String {
        self.values.join(", ")
    }
}

/// The fields of a document's front matter, and the offset at which the text begins.
pub(super) fn split(text: &str) -> (Vec<Field>, usize) {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let (closing_lines, separator): (&[&str], char) = match first.trim_end() {
        "---" => (&["---", "..."], ':'),
        "+++" => (&["+++"], '='),
        _ => return (Vec::new(), 0),
    };
    let mut fields = Vec::new();
    let mut end = first.len();
    for line in lines.take(MAX_LINES - 1) {
        end += line.len();
        let line = line.trim_end();
        if closing_lines.contains(&line) {
            return (fields, end);
        }
        add(&mut fields, line, separator);
    }
    // Without a closing line it is a thematic break followed by text.
    (Vec::new(), 0)
}

fn add(fields: &mut Vec<Field>, line: &str, separator: char) {
    let trimmed = line.trim();
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return;
    }
    let entry = trimmed.strip_prefix("- ").or(trimmed.strip_prefix('"'));
    if let (Some(entry), Some(last)) = (entry, fields.last_mut()) {
        last.values.extend(value(entry.trim_end_matches(',')));
        return;
    }
    // Indented lines belong to an ignored nested field.
    let Some((name, rest)) = line
        .split_once(separator)
        .filter(|_| !line.starts_with(' '))
    else {
        return;
    };
    let rest = rest.trim();
    let list = rest
        .strip_prefix('[')
        .map(|list| list.trim_end_matches(']'));
    // A value that merely begins with a bracket, such as `[one](one.md)`, is not a list.
    let list = list.filter(|_| !rest.contains("]("));
    let values = match list {
        Some(list) => list.split(',').filter_map(value).collect(),
        None => value(rest).into_iter().collect(),
    };
    fields.push(Field {
        name: normalized_name(name),
        values,
    });
}

/// A value without quotation marks or a trailing comment; `None` if it is empty.
fn value(text: &str) -> Option<String> {
    let text = text.trim();
    let quoted = ['"', '\''].into_iter().find_map(|mark| {
        let (inside, _behind) = text.strip_prefix(mark)?.split_once(mark)?;
        Some(inside)
    });
    let plain = || {
        text.split_once(" #")
            .map_or(text, |(value, _comment)| value)
    };
    let value = quoted.unwrap_or_else(plain).trim();
    // `|` and `>` start a multi-line text.
    let is_empty = matches!(value, "" | "|" | ">" | "null" | "~");
    (!is_empty).then(|| value.to_owned())
}

fn normalized_name(name: &str) -> String {
    let name = name.trim().trim_matches(['"', '\'']).to_lowercase();
    name.replace(['_', ' '], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Vec<(String, Vec<String>)> {
        let (fields, _) = split(text);
        let pair = |field: Field| (field.name, field.values);
        fields.into_iter().map(pair).collect()
    }

    fn field(name: &str, values: &[&str]) -> (String, Vec<String>) {
        let values = values.iter().map(ToString::to_string).collect();
        (name.to_owned(), values)
    }

    #[test]
    fn fields_have_a_value_or_a_list_of_them() {
        let text = "---\nstatus: \"accepted\" # since May\nDecision_Makers: [Ann, 'Bob']\n\
                    supersedes:\n  - 0001-a\n  - \"0002\"\nnested:\n  deep: 1\nempty:\n---\n# Title\n";
        let expected = [
            field("status", &["accepted"]),
            field("decision-makers", &["Ann", "Bob"]),
            field("supersedes", &["0001-a", "0002"]),
            field("nested", &[]),
            field("empty", &[]),
        ];
        assert_eq!(fields(text), expected);
        let (_, body) = split(text);
        assert_eq!(text.get(body..), Some("# Title\n"));
    }

    #[test]
    fn toml_is_front_matter_too() {
        let text = "+++\r\ntitle = \"One\"\r\ntags = [\"a\", \"b\"]\r\n+++\r\nText\r\n";
        let expected = [field("title", &["One"]), field("tags", &["a", "b"])];
        assert_eq!(fields(text), expected);
    }

    #[test]
    fn a_link_is_a_value_not_a_list() {
        let text = "---\nstatus: superseded by [ADR 5](0005-b.md)\nby: [ADR 5](0005-b.md)\n---\n";
        let expected = [
            field("status", &["superseded by [ADR 5](0005-b.md)"]),
            field("by", &["[ADR 5](0005-b.md)"]),
        ];
        assert_eq!(fields(text), expected);
    }

    #[test]
    fn a_thematic_break_at_the_start_is_not_front_matter() {
        assert_eq!(
            split("---\nText that goes on\n\n# Title\n"),
            (Vec::new(), 0)
        );
        assert_eq!(split("# Title\n---\na: b\n---\n"), (Vec::new(), 0));
        let long = format!("---\n{}---\n", "a: b\n".repeat(MAX_LINES));
        assert_eq!(split(&long).1, 0);
    }
}
