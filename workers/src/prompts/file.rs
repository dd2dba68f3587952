//! A prompt's file, taken strictly: what is not understood is a reason to leave it out.

use serde::{Deserialize, Serialize};

use super::template::{self, Piece};
use crate::text;

/// Arguments, and messages, of one prompt.
const MOST: usize = 20;
/// Characters of a name.
const LONGEST_NAME: usize = 64;
/// Bytes of a title or description: lists show them all.
const LONGEST_WORDS: usize = 2 << 10;

/// A prompt, not expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: String,
    pub(super) arguments: Vec<Argument>,
    pub(super) messages: Vec<(Role, Vec<Piece>)>,
}

/// What a caller gives.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Argument {
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) required: bool,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Assistant,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    title: Option<String>,
    description: String,
    #[serde(default)]
    arguments: Vec<Argument>,
    messages: Vec<Message>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    role: Role,
    content: Content,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum Content {
    Text { text: String },
}

impl File {
    fn says_too_much(&self) -> bool {
        let about = self.arguments.iter().map(|it| &it.description);
        let mut words = about.chain(&self.title).chain([&self.description]);
        words.any(|words| words.len() > LONGEST_WORDS)
    }
}

impl Prompt {
    /// The prompt of a file's text, or what is wrong with it.
    pub(super) fn parse(text: &[u8]) -> Result<Prompt, String> {
        let file: File = serde_json::from_slice(text)
            .map_err(|error| format!("it is no prompt: {}", text::shown(&error.to_string())))?;
        if !is_name(&file.name) {
            return Err("its name is not made of letters, digits, `-`, `_` and `.`".to_owned());
        }
        if file.says_too_much() {
            return Err("a title or description has more than 2 KiB".to_owned());
        }
        if file.messages.is_empty() {
            return Err("it has no messages".to_owned());
        }
        if file.messages.len() > MOST || file.arguments.len() > MOST {
            return Err(format!("it has more than {MOST} messages or arguments"));
        }
        for (place, argument) in file.arguments.iter().enumerate() {
            let mut before = file.arguments.iter().take(place);
            if !template::is_argument(&argument.name) {
                let name = text::shown(&argument.name);
                return Err(format!("{name:?} is no name of an argument"));
            }
            if before.any(|other| other.name == argument.name) {
                return Err(format!("the argument {:?} stands twice", argument.name));
            }
        }
        let messages = file.messages.into_iter();
        Ok(Prompt {
            name: file.name,
            title: file.title,
            description: file.description,
            arguments: file.arguments,
            messages: messages
                .map(|Message { role, content }| {
                    let Content::Text { text } = content;
                    (role, template::parse(&text))
                })
                .collect(),
        })
    }
}

/// A slash would name a project.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    begins && name.len() <= LONGEST_NAME && name.chars().all(fits)
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
    fn a_file_of_the_contracts_form_is_a_prompt() {
        let prompt = parsed(&file()).unwrap();
        assert_eq!(
            (prompt.name.as_str(), prompt.arguments.len()),
            ("guided", 1)
        );
        let text = Piece::Text("a ".to_owned());
        let code = Piece::Argument("code".to_owned());
        assert_eq!(prompt.messages, [(Role::User, vec![text, code])]);
    }

    #[test]
    fn what_is_not_of_the_form_says_why() {
        let mut bad: Vec<(&str, Value)> = Vec::new();
        for (place, value, why) in [
            ("/name", json!("a/b"), "its name"),
            ("/name", json!(""), "its name"),
            ("/name", json!("a".repeat(65)), "its name"),
            ("/messages", json!([]), "no messages"),
            ("/messages/0/role", json!("system"), "it is no prompt"),
            (
                "/messages/0/content/type",
                json!("image"),
                "it is no prompt",
            ),
            ("/arguments/0/name", json!("a b"), "no name of an argument"),
            (
                "/arguments",
                json!([{ "name": "a" }, { "name": "a" }]),
                "stands twice",
            ),
            (
                "/arguments",
                json!([{ "name": "a", "kind": 1 }]),
                "it is no prompt",
            ),
        ] {
            let mut file = file();
            *file.pointer_mut(place).unwrap() = value;
            bad.push((why, file));
        }
        for (why, file) in bad {
            let refused = parsed(&file).unwrap_err();
            assert!(refused.contains(why), "{refused}: {file}");
        }
        assert!(Prompt::parse(b"{").unwrap_err().contains("no prompt"));
    }
}
