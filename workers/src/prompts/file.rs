//! The file of a prompt, parsed strictly: anything unknown is a reason to skip the prompt.

mod json;

use serde::Serialize;

use super::template::{self, Piece};
use json::Json;

/// Maximum number of arguments, and of messages, of one prompt.
const MAX_ITEMS: usize = 20;
/// Maximum length of a name in characters.
const MAX_NAME_CHARS: usize = 64;
/// Maximum length of a title or description in bytes, because lists contain all of them.
const MAX_TEXT_BYTES: usize = 2 << 10;

/// A prompt before expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: String,
    pub(super) arguments: Vec<Argument>,
    pub(super) messages: Vec<(Role, Vec<Piece>)>,
}

/// An argument that callers may give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) required: bool,
}

/// The role of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Assistant,
}

impl Argument {
    fn read(json: &Json<'_>) -> Result<Argument, String> {
        let fields = json.fields(&["name", "description", "required"])?;
        let argument = Argument {
            name: fields.required("name")?.text()?,
            description: text_field(fields.optional("description"))?.unwrap_or_default(),
            required: fields.optional("required").map_or(Ok(false), Json::flag)?,
        };
        if !template::is_argument(&argument.name) {
            let what = "is no name of an argument: letters, digits, `-` and `_`";
            return Err(fields.required("name")?.wrong(what));
        }
        Ok(argument)
    }
}

impl Role {
    fn read(json: &Json<'_>) -> Result<Role, String> {
        match json.text()?.as_str() {
            "user" => Ok(Role::User),
            "assistant" => Ok(Role::Assistant),
            _ => Err(json.wrong("has to be \"user\" or \"assistant\"")),
        }
    }
}

impl Prompt {
    /// Parses a file. The error is a sentence for its author.
    pub(super) fn parse(text: &[u8]) -> Result<Prompt, String> {
        let text = std::str::from_utf8(text).map_err(|_error| "it is not UTF-8".to_owned())?;
        // Some editors write a byte order mark.
        let text = text.trim_start_matches('\u{feff}');
        let read = Json::of(text).and_then(|json| Prompt::read(&json));
        read.map_err(|why| format!("it is no prompt: {why}"))
    }

    fn read(json: &Json<'_>) -> Result<Prompt, String> {
        let known = ["name", "title", "description", "arguments", "messages"];
        let fields = json.fields(&known)?;
        let name = fields.required("name")?;
        if !is_name(&name.text()?) {
            return Err(name.wrong("is not made of letters, digits, `-`, `_` and `.`"));
        }
        Ok(Prompt {
            name: name.text()?,
            title: text_field(fields.optional("title"))?,
            description: text_field(Some(fields.required("description")?))?.unwrap_or_default(),
            arguments: arguments(fields.optional("arguments"))?,
            messages: messages(fields.required("messages")?)?,
        })
    }
}

/// Reads a title or description.
fn text_field(json: Option<&Json<'_>>) -> Result<Option<String>, String> {
    let Some(json) = json else { return Ok(None) };
    let text = json.text()?;
    match text.len() <= MAX_TEXT_BYTES {
        true => Ok(Some(text)),
        false => Err(json.wrong("has more than 2 KiB")),
    }
}

fn arguments(json: Option<&Json<'_>>) -> Result<Vec<Argument>, String> {
    let Some(json) = json else {
        return Ok(Vec::new());
    };
    let mut arguments: Vec<Argument> = Vec::new();
    for item in at_most(json)? {
        let argument = Argument::read(&item)?;
        if arguments.iter().any(|other| other.name == argument.name) {
            return Err(item.wrong("has the name of another argument"));
        }
        arguments.push(argument);
    }
    Ok(arguments)
}

fn messages(json: &Json<'_>) -> Result<Vec<(Role, Vec<Piece>)>, String> {
    let items = at_most(json)?;
    if items.is_empty() {
        return Err(json.wrong("is empty: it has to have a message"));
    }
    items.iter().map(message).collect()
}

fn message(json: &Json<'_>) -> Result<(Role, Vec<Piece>), String> {
    let fields = json.fields(&["role", "content"])?;
    let role = Role::read(fields.required("role")?)?;
    let content = fields.required("content")?.fields(&["type", "text"])?;
    let kind = content.required("type")?;
    if kind.text()? != "text" {
        return Err(kind.wrong("has to be \"text\""));
    }
    Ok((role, template::parse(&content.required("text")?.text()?)))
}

/// The items of a list that is not too long.
fn at_most<'t>(json: &Json<'t>) -> Result<Vec<Json<'t>>, String> {
    let items = json.items()?;
    match items.len() <= MAX_ITEMS {
        true => Ok(items),
        false => Err(json.wrong(&format!("has more than {MAX_ITEMS} items"))),
    }
}

/// A slash would separate a project from the name.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    begins && name.len() <= MAX_NAME_CHARS && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn file() -> Value {
        json!({
            "name": "guided", "description": "d",
            "arguments": [{ "name": "code", "description": "c", "required": true }],
            "messages": [{ "role": "user", "content": { "type": "text", "text": "a {{code}}" } }],
        })
    }

    fn parsed(file: &Value) -> Result<Prompt, String> {
        Prompt::parse(file.to_string().as_bytes())
    }

    #[test]
    fn a_file_with_the_documented_fields_is_a_prompt() {
        let prompt = parsed(&file()).unwrap();
        assert_eq!(
            (prompt.name.as_str(), prompt.arguments.len()),
            ("guided", 1)
        );
        let text = Piece::Text("a ".to_owned());
        let code = Piece::Argument("code".to_owned());
        assert_eq!(prompt.messages, [(Role::User, vec![text, code])]);
    }

    /// Each is a JSON pointer into a valid file, a value to put there, and a part of the error.
    fn refused_with(bad: &[(&str, Value, &str)]) {
        for (pointer, value, why) in bad {
            let mut file = file();
            *file.pointer_mut(pointer).unwrap() = value.clone();
            let refused = parsed(&file).unwrap_err();
            assert!(
                refused.starts_with("it is no prompt: line 1: "),
                "{refused}"
            );
            assert!(refused.contains(why), "{refused}: {file}");
        }
    }

    #[test]
    fn invalid_names_and_arguments_are_reported() {
        refused_with(&[
            ("/name", json!("a/b"), "`name` is not made of"),
            ("/name", json!(""), "`name` is not made of"),
            ("/name", json!("a".repeat(65)), "`name` is not made of"),
            ("/name", json!(7), "`name` has to be a text"),
            (
                "/description",
                json!("x".repeat(2049)),
                "has more than 2 KiB",
            ),
            ("/arguments", json!({}), "`arguments` has to be a list"),
            ("/arguments", json!(vec![0; 21]), "has more than 20 items"),
            (
                "/arguments/0/name",
                json!("a b"),
                "is no name of an argument",
            ),
            ("/arguments/0/required", json!("yes"), "has to be true"),
            (
                "/arguments",
                json!([{ "name": "a" }, { "name": "a" }]),
                "another argument",
            ),
            (
                "/arguments",
                json!([{ "name": "a", "kind": 1 }]),
                "`arguments[0].kind` is nothing",
            ),
        ]);
    }

    #[test]
    fn invalid_messages_are_reported() {
        refused_with(&[
            ("/messages", json!([]), "`messages` is empty"),
            ("/messages", json!([1]), "`messages[0]` has to be an object"),
            ("/messages/0", json!({}), "`messages[0]` has no `role`"),
            ("/messages/0/role", json!("system"), "has to be \"user\""),
            (
                "/messages/0/content",
                json!("a"),
                "`messages[0].content` has to be an object",
            ),
            (
                "/messages/0/content",
                json!({ "type": "text" }),
                "`messages[0].content` has no `text`",
            ),
            (
                "/messages/0/content/type",
                json!("image"),
                "`messages[0].content.type` has to be",
            ),
        ]);
    }

    #[test]
    fn errors_name_the_line_and_a_byte_order_mark_is_allowed() {
        let lines =
            "{\n\"name\": \"a\",\n\"description\": \"d\",\n\"messages\": [\n{\"role\": 1}]}";
        let refused = Prompt::parse(lines.as_bytes()).unwrap_err();
        let expected = "it is no prompt: line 5: `messages[0].role` has to be a text, \"…\"";
        assert_eq!(refused, expected);
        assert!(
            Prompt::parse(b"{")
                .unwrap_err()
                .contains("line 1: the JSON ends")
        );
        assert!(Prompt::parse(b"\xff").unwrap_err().contains("not UTF-8"));
        let marked = format!("\u{feff}{}", file());
        assert!(Prompt::parse(marked.as_bytes()).is_ok());
    }
}
