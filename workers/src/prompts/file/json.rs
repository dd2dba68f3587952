//! Parses a JSON file by hand, so that errors name the line and the path of a value in terms that
//! the file's author knows, instead of a parser's.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, error::Category, value::RawValue};

use archway_repo::text;

/// A value in a file.
#[derive(Clone, Debug)]
pub(super) struct Json<'t> {
    /// The whole file.
    file: &'t str,
    raw: &'t RawValue,
    /// The path of the value, like `messages[0].content`. Empty for the whole file.
    path: String,
}

/// The fields of an object, by name.
pub(super) struct Fields<'t> {
    of: Json<'t>,
    found: Vec<(String, Json<'t>)>,
}

/// The fields of an object, including duplicates.
struct RawFields<'t>(Vec<(String, &'t RawValue)>);

impl<'t> Json<'t> {
    /// Parses the value of a whole file.
    pub(super) fn of(file: &'t str) -> Result<Json<'t>, String> {
        let raw = serde_json::from_str(file).map_err(|error_in_raw| {
            // The parser's errors are more precise for a value than for ignored text.
            let read = serde_json::from_str::<Value>(file).err();
            let error = read.unwrap_or(error_in_raw);
            let line = error.line();
            match error.classify() {
                Category::Eof => format!("line {line}: the JSON ends too early"),
                _ => {
                    let words = error.to_string();
                    let what = words.split(" at line ").next().unwrap_or_default();
                    format!("line {line}: it is no JSON: {}", text::shown(what))
                }
            }
        })?;
        Ok(Json {
            file,
            raw,
            path: String::new(),
        })
    }

    /// Its fields. Any field not in `known` is an error.
    pub(super) fn fields(&self, known: &[&str]) -> Result<Fields<'t>, String> {
        let Ok(RawFields(fields)) = serde_json::from_str(self.raw.get()) else {
            return Err(self.wrong("has to be an object, {…}"));
        };
        let mut found: Vec<(String, Json<'t>)> = Vec::with_capacity(fields.len());
        for (name, raw) in fields {
            let value = Json {
                file: self.file,
                raw,
                path: self.child_path(&name),
            };
            if !known.contains(&name.as_str()) {
                let known = known.join(", ");
                return Err(value.wrong(&format!("is nothing that is known here: {known}")));
            }
            if found.iter().any(|(other, _)| *other == name) {
                return Err(value.wrong("is given twice"));
            }
            found.push((name, value));
        }
        Ok(Fields {
            of: self.clone(),
            found,
        })
    }

    /// Its items.
    pub(super) fn items(&self) -> Result<Vec<Json<'t>>, String> {
        let items: Result<Vec<&RawValue>, _> = serde_json::from_str(self.raw.get());
        let items = items.map_err(|_error| self.wrong("has to be a list, […]"))?;
        let items = items.into_iter().enumerate();
        let items = items.map(|(nth, raw)| Json {
            file: self.file,
            raw,
            path: format!("{}[{nth}]", self.path),
        });
        Ok(items.collect())
    }

    /// Its text.
    pub(super) fn text(&self) -> Result<String, String> {
        let text = serde_json::from_str(self.raw.get());
        text.map_err(|_error| self.wrong("has to be a text, \"…\""))
    }

    /// Its boolean.
    pub(super) fn flag(&self) -> Result<bool, String> {
        let flag = serde_json::from_str(self.raw.get());
        flag.map_err(|_error| self.wrong("has to be true or false"))
    }

    /// Whether it is null.
    fn is_null(&self) -> bool {
        self.raw.get() == "null"
    }

    /// An error message that names the line and the path of this value.
    pub(super) fn wrong(&self, what: &str) -> String {
        let path = match self.path.as_str() {
            "" => "the file".to_owned(),
            path => format!("`{}`", text::shown(path)),
        };
        format!("line {}: {path} {what}", self.line())
    }

    fn line(&self) -> usize {
        // `raw` is borrowed from `file`, so its address is inside.
        let start = self.raw.get().as_ptr().addr();
        let before = start.saturating_sub(self.file.as_ptr().addr());
        let before = self.file.as_bytes().get(..before).unwrap_or_default();
        memchr::memchr_iter(b'\n', before).count() + 1
    }

    fn child_path(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        }
    }
}

impl<'t> Fields<'t> {
    /// A required field.
    pub(super) fn required(&self, name: &str) -> Result<&Json<'t>, String> {
        let found = self.found.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value)
            .ok_or_else(|| self.of.wrong(&format!("has no `{name}`")))
    }

    /// An optional field. Null counts as absent.
    pub(super) fn optional(&self, name: &str) -> Option<&Json<'t>> {
        let found = self.found.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value).filter(|it| !it.is_null())
    }
}

impl<'de> Deserialize<'de> for RawFields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RawFieldsVisitor)
    }
}

struct RawFieldsVisitor;

impl<'de> Visitor<'de> for RawFieldsVisitor {
    type Value = RawFields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawFields<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(RawFields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_line_and_the_path() {
        let file = "{\n \"a\": [\n  {\"b\": 1},\n  {\"c\": true,\n   \"c\": 2}]\n}";
        let whole = Json::of(file).unwrap();
        assert_eq!(
            whole.items().unwrap_err(),
            "line 1: the file has to be a list, […]"
        );
        let refused = |known: &[&str]| whole.fields(known).map(|_| ()).unwrap_err();
        assert_eq!(
            refused(&["x", "y"]),
            "line 2: `a` is nothing that is known here: x, y"
        );
        let fields = whole.fields(&["a"]).unwrap();
        assert_eq!(
            fields.required("z").map(|_| ()).unwrap_err(),
            "line 1: the file has no `z`"
        );
        assert!(fields.optional("z").is_none());
        let items = fields.required("a").unwrap().items().unwrap();
        let first = items[0].fields(&["b"]).unwrap();
        let text = first.required("b").unwrap().text();
        assert_eq!(
            text.unwrap_err(),
            "line 3: `a[0].b` has to be a text, \"…\""
        );
        let twice = items[1].fields(&["c"]).map(|_| ()).unwrap_err();
        assert_eq!(twice, "line 5: `a[1].c` is given twice");
    }

    #[test]
    fn invalid_json_is_reported_with_its_line() {
        for (file, expected) in [
            ("", "line 1: the JSON ends too early"),
            ("{\n \"a\": [", "line 2: the JSON ends too early"),
            ("{\n \"a\": 1,\n}", "line 3: it is no JSON: trailing comma"),
            ("{\n \"a\" 1}", "line 2: it is no JSON: expected `:`"),
            ("{} {}", "line 1: it is no JSON: trailing characters"),
        ] {
            assert_eq!(Json::of(file).map(|_| ()).unwrap_err(), expected, "{file}");
        }
    }
}
