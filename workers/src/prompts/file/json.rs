//! A file of JSON, taken apart by hand: what is wrong is told in the words of whoever wrote it, with
//! the line and the place, and never in a parser's.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, error::Category, value::RawValue};

use archway_repo::text;

/// A value somewhere in a file.
#[derive(Clone, Debug)]
pub(super) struct Json<'t> {
    /// The whole file.
    file: &'t str,
    raw: &'t RawValue,
    /// Where it stands, as `messages[0].content`; empty for the whole.
    place: String,
}

/// What an object has, by name.
pub(super) struct Fields<'t> {
    of: Json<'t>,
    found: Vec<(String, Json<'t>)>,
}

/// The members of an object as they stand, one name twice if it stands twice.
struct Members<'t>(Vec<(String, &'t RawValue)>);

impl<'t> Json<'t> {
    /// The value that a file holds.
    pub(super) fn of(file: &'t str) -> Result<Json<'t>, String> {
        let raw = serde_json::from_str(file).map_err(|passed_over| {
            // Of what it reads the parser says more than of what it passes over.
            let read = serde_json::from_str::<Value>(file).err();
            let error = read.unwrap_or(passed_over);
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
            place: String::new(),
        })
    }

    /// Its members, of which others than `known` are refused.
    pub(super) fn fields(&self, known: &[&str]) -> Result<Fields<'t>, String> {
        let Ok(Members(members)) = serde_json::from_str(self.raw.get()) else {
            return Err(self.wrong("has to be an object, {…}"));
        };
        let mut found: Vec<(String, Json<'t>)> = Vec::with_capacity(members.len());
        for (name, raw) in members {
            let value = Json {
                file: self.file,
                raw,
                place: self.beneath(&name),
            };
            if !known.contains(&name.as_str()) {
                let known = known.join(", ");
                return Err(value.wrong(&format!("is nothing that is known here: {known}")));
            }
            if found.iter().any(|(other, _)| *other == name) {
                return Err(value.wrong("stands twice"));
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
        let items = items.map_err(|_other| self.wrong("has to be a list, […]"))?;
        let items = items.into_iter().enumerate();
        let items = items.map(|(nth, raw)| Json {
            file: self.file,
            raw,
            place: format!("{}[{nth}]", self.place),
        });
        Ok(items.collect())
    }

    /// Its text.
    pub(super) fn text(&self) -> Result<String, String> {
        let text = serde_json::from_str(self.raw.get());
        text.map_err(|_other| self.wrong("has to be a text, \"…\""))
    }

    /// Its true or false.
    pub(super) fn flag(&self) -> Result<bool, String> {
        let flag = serde_json::from_str(self.raw.get());
        flag.map_err(|_other| self.wrong("has to be true or false"))
    }

    /// Whether nothing was given.
    fn is_null(&self) -> bool {
        self.raw.get() == "null"
    }

    /// The sentence that says what is wrong with it, and where.
    pub(super) fn wrong(&self, what: &str) -> String {
        let place = match self.place.as_str() {
            "" => "the file".to_owned(),
            place => format!("`{}`", text::shown(place)),
        };
        format!("line {}: {place} {what}", self.line())
    }

    fn line(&self) -> usize {
        // Borrowed of the file, so it stands in it.
        let start = self.raw.get().as_ptr().addr();
        let before = start.saturating_sub(self.file.as_ptr().addr());
        let before = self.file.as_bytes().get(..before).unwrap_or_default();
        memchr::memchr_iter(b'\n', before).count() + 1
    }

    fn beneath(&self, name: &str) -> String {
        match self.place.as_str() {
            "" => name.to_owned(),
            place => format!("{place}.{name}"),
        }
    }
}

impl<'t> Fields<'t> {
    /// A member that has to be there.
    pub(super) fn needed(&self, name: &str) -> Result<&Json<'t>, String> {
        let found = self.found.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value)
            .ok_or_else(|| self.of.wrong(&format!("has no `{name}`")))
    }

    /// A member that need not be there, or may be null.
    pub(super) fn optional(&self, name: &str) -> Option<&Json<'t>> {
        let found = self.found.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value).filter(|it| !it.is_null())
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AllMembers)
    }
}

struct AllMembers;

impl<'de> Visitor<'de> for AllMembers {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_place() {
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
            fields.needed("z").map(|_| ()).unwrap_err(),
            "line 1: the file has no `z`"
        );
        assert!(fields.optional("z").is_none());
        let items = fields.needed("a").unwrap().items().unwrap();
        let first = items[0].fields(&["b"]).unwrap();
        let text = first.needed("b").unwrap().text();
        assert_eq!(
            text.unwrap_err(),
            "line 3: `a[0].b` has to be a text, \"…\""
        );
        let twice = items[1].fields(&["c"]).map(|_| ()).unwrap_err();
        assert_eq!(twice, "line 5: `a[1].c` stands twice");
    }

    #[test]
    fn what_is_no_json_says_on_which_line() {
        for (file, said) in [
            ("", "line 1: the JSON ends too early"),
            ("{\n \"a\": [", "line 2: the JSON ends too early"),
            ("{\n \"a\": 1,\n}", "line 3: it is no JSON: trailing comma"),
            ("{\n \"a\" 1}", "line 2: it is no JSON: expected `:`"),
            ("{} {}", "line 1: it is no JSON: trailing characters"),
        ] {
            assert_eq!(Json::of(file).map(|_| ()).unwrap_err(), said, "{file}");
        }
    }
}
