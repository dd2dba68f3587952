//! Front matter: what a document says about itself before its text begins.
//!
//! Of YAML and TOML as much is read as documents use here: fields with a value or a list of them,
//! on their line or beneath it. What is nested deeper is passed over.

/// How many lines front matter may have.
const MAX_LINES: usize = 500;

/// A field of front matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// In lower case, with `-` for `_` and blanks.
    pub(crate) name: String,
    /// Its value, or those of a list, without quotation marks.
    pub(crate) values: Vec<String>,
}

impl Field {
    /// Whether it is called so; case, `-` and `_` make no difference.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name == normal(name)
    }

    /// Its value; those of a list parted by commas.
    pub(crate) fn value(&self) -> String {
        self.values.join(", ")
    }
}

/// The fields of a document's front matter, and where its text begins.
pub(super) fn split(text: &str) -> (Vec<Field>, usize) {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let (close, parting): (&[&str], char) = match first.trim_end() {
        "---" => (&["---", "..."], ':'),
        "+++" => (&["+++"], '='),
        _ => return (Vec::new(), 0),
    };
    let mut fields = Vec::new();
    let mut end = first.len();
    for line in lines.take(MAX_LINES - 1) {
        end += line.len();
        let line = line.trim_end();
        if close.contains(&line) {
            return (fields, end);
        }
        add(&mut fields, line, parting);
    }
    // It was never closed: a rule, and text beneath it.
    (Vec::new(), 0)
}

fn add(fields: &mut Vec<Field>, line: &str, parting: char) {
    let trimmed = line.trim();
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return;
    }
    let entry = trimmed.strip_prefix("- ").or(trimmed.strip_prefix('"'));
    if let (Some(entry), Some(last)) = (entry, fields.last_mut()) {
        last.values.extend(value(entry.trim_end_matches(',')));
        return;
    }
    // What is indented belongs to a field that was passed over.
    let Some((name, rest)) = line.split_once(parting).filter(|_| !line.starts_with(' ')) else {
        return;
    };
    let rest = rest.trim();
    let list = rest
        .strip_prefix('[')
        .map(|list| list.trim_end_matches(']'));
    // A value that merely begins with a bracket, as in `[one](one.md)`, is no list.
    let list = list.filter(|_| !rest.contains("]("));
    let values = match list {
        Some(list) => list.split(',').filter_map(value).collect(),
        None => value(rest).into_iter().collect(),
    };
    fields.push(Field {
        name: normal(name),
        values,
    });
}

/// A value without its quotation marks, or the comment behind it; `None` if nothing is left.
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
    // `|` and `>` open a text of several lines.
    let is_empty = matches!(value, "" | "|" | ">" | "null" | "~");
    (!is_empty).then(|| value.to_owned())
}

fn normal(name: &str) -> String {
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
    fn a_link_is_a_value_and_no_list() {
        let text = "---\nstatus: superseded by [ADR 5](0005-b.md)\nby: [ADR 5](0005-b.md)\n---\n";
        let expected = [
            field("status", &["superseded by [ADR 5](0005-b.md)"]),
            field("by", &["[ADR 5](0005-b.md)"]),
        ];
        assert_eq!(fields(text), expected);
    }

    #[test]
    fn a_rule_at_the_start_is_no_front_matter() {
        assert_eq!(
            split("---\nText that goes on\n\n# Title\n"),
            (Vec::new(), 0)
        );
        assert_eq!(split("# Title\n---\na: b\n---\n"), (Vec::new(), 0));
        let long = format!("---\n{}---\n", "a: b\n".repeat(MAX_LINES));
        assert_eq!(split(&long).1, 0);
    }
}
