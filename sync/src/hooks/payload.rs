//! What the beginning of a payload says, though it may be cut anywhere.
//!
//! Reads the tokens of JSON one after the other, without recursion and without a tree: depth is a
//! number. It never asks whether the text is valid. A field that is cut, malformed, or stands there
//! twice with two values says nothing.

use archway_proto::misleading;
use url::form_urlencoded;

use super::HookHost;

/// The longest text that is read, as it stands in JSON, in bytes.
const MAX_TEXT: usize = 512;
/// The most digits of an id: those of 2^64.
const MAX_DIGITS: usize = 20;
/// What a payload begins with that was sent as a form.
const FORM: &[u8] = b"payload=";

/// The fields of a payload that are used.
#[derive(Debug, Default)]
pub(super) struct Payload {
    action: Said,
    event_name: Said,
    repository: Said,
    full_name: Said,
    private: Said,
    internal: Said,
    visibility: Said,
}

/// What a payload says in one field.
#[derive(Debug, Default)]
enum Said {
    #[default]
    Nothing,
    Once(String),
    Unclear,
}

impl Payload {
    /// Reads the beginning of a payload: JSON, or a form with JSON in its first field.
    pub(super) fn read(host: HookHost, prefix: &[u8]) -> Payload {
        if !prefix.starts_with(FORM) {
            return Payload::read_json(host, prefix);
        }
        let mut fields = form_urlencoded::parse(prefix);
        let json = fields.next().map(|(_, value)| value).unwrap_or_default();
        Payload::read_json(host, json.as_bytes())
    }

    fn read_json(host: HookHost, json: &[u8]) -> Payload {
        let mut payload = Payload::default();
        let (mut depth, mut outer, mut key) = (0_usize, None, None);
        for token in (Tokens { rest: json }) {
            match token {
                Token::Open => {
                    depth += 1;
                    if depth == 2 {
                        outer = key.take();
                    }
                    key = None;
                }
                Token::Close => {
                    depth = depth.saturating_sub(1);
                    key = None;
                }
                Token::Key(name) => key = if depth <= 2 { text(name) } else { None },
                Token::Value(value) => {
                    let key = key.take();
                    let path = match depth {
                        1 => key.map(|key| (None, key)),
                        2 => key
                            .filter(|_| outer.is_some())
                            .map(|key| (outer.as_deref(), key)),
                        _ => None,
                    };
                    if let Some((outer, key)) = path {
                        payload.set(host, outer, &key, value);
                    }
                }
            }
        }
        payload
    }

    fn set(&mut self, host: HookHost, outer: Option<&str>, key: &str, value: &[u8]) {
        use HookHost::{GitHub, GitLab, Gitea};
        match (host, outer, key) {
            (_, None, "action") => self.action.say(text(value)),
            (_, None, "event_name") => self.event_name.say(text(value)),
            (GitHub | Gitea, Some("repository"), "id")
            | (GitLab, Some("project"), "id")
            | (GitLab, None, "project_id") => self.repository.say(number(value)),
            (GitHub | Gitea, Some("repository"), "full_name")
            | (GitLab, Some("project"), "path_with_namespace")
            | (GitLab, None, "path_with_namespace") => {
                self.full_name
                    .say(text(value).filter(|name| is_full_name(name)));
            }
            (GitHub | Gitea, Some("repository"), "private") => self.private.say(bare(value)),
            (Gitea, Some("repository"), "internal") => self.internal.say(bare(value)),
            (GitHub, Some("repository"), "visibility") | (GitLab, None, "project_visibility") => {
                self.visibility.say(text(value));
            }
            (GitLab, Some("project"), "visibility_level") => self.private.say(bare(value)),
            _ => {}
        }
    }

    /// What happened to the object, as GitHub and Gitea say it.
    pub(super) fn action(&self) -> Option<&str> {
        self.action.once()
    }

    /// The event of GitLab's system hooks.
    pub(super) fn event_name(&self) -> Option<&str> {
        self.event_name.once()
    }

    /// Whether the repository is private now, as the host says or as it does not clearly deny.
    pub(super) fn is_private(&self, host: HookHost) -> bool {
        let says = |said: &Said, what: &str| said.once() == Some(what);
        let is_unclear = matches!(self.private, Said::Unclear);
        match host {
            // An internal repository is private there, too.
            HookHost::GitHub => {
                let is_internal = says(&self.visibility, "internal");
                let is_private = is_unclear || says(&self.private, "true");
                says(&self.action, "privatized") || (is_private && !is_internal)
            }
            // One of a private organisation calls itself internal: only its members may read it.
            HookHost::Gitea => {
                is_unclear || says(&self.private, "true") || says(&self.internal, "true")
            }
            HookHost::GitLab => {
                // Earlier versions write `visibilitylevel|private`.
                let visibility = self.visibility.once().unwrap_or_default();
                is_unclear || says(&self.private, "0") || visibility.ends_with("private")
            }
        }
    }

    /// The host's id of the repository.
    pub(super) fn repository(&self) -> Option<&str> {
        self.repository.once()
    }

    /// The repository's name with its owner or group.
    pub(super) fn full_name(&self) -> Option<&str> {
        self.full_name.once()
    }
}

impl Said {
    fn say(&mut self, value: Option<String>) {
        *self = match (std::mem::take(self), value) {
            (Said::Nothing, Some(value)) => Said::Once(value),
            (Said::Once(said), Some(value)) if said == value => Said::Once(said),
            _ => Said::Unclear,
        };
    }

    fn once(&self) -> Option<&str> {
        match self {
            Said::Once(text) => Some(text),
            Said::Nothing | Said::Unclear => None,
        }
    }
}

/// The text of a string token; `None` if it is long, malformed or not UTF-8.
fn text(token: &[u8]) -> Option<String> {
    let is_short = token.len() <= MAX_TEXT && token.starts_with(b"\"");
    is_short
        .then(|| serde_json::from_slice(token).ok())
        .flatten()
}

/// A short value without quotes, such as `true`.
fn bare(token: &[u8]) -> Option<String> {
    let is_word = token.len() <= MAX_DIGITS && token.iter().all(u8::is_ascii_alphanumeric);
    is_word
        .then(|| String::from_utf8(token.to_vec()).ok())
        .flatten()
}

fn number(token: &[u8]) -> Option<String> {
    let is_id = token.len() <= MAX_DIGITS && token.iter().all(u8::is_ascii_digit);
    is_id
        .then(|| String::from_utf8(token.to_vec()).ok())
        .flatten()
}

/// Whether a name is at least two parts of a path that stays where it is, without anything misleading.
fn is_full_name(name: &str) -> bool {
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.starts_with('-');
    let is_bad = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    name.contains('/')
        && name.split('/').all(is_part)
        && !name.contains(is_bad)
        && !misleading::misleads(name)
}

/// A token of JSON, as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
enum Token<'a> {
    /// `{` or `[`.
    Open,
    /// `}` or `]`.
    Close,
    /// A string with a colon after it, in its quotes.
    Key(&'a [u8]),
    /// Another string in its quotes, or a bare value.
    Value(&'a [u8]),
}

/// The complete tokens of a text. One that the text's end may have cut is left out.
struct Tokens<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip(|byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b':'));
        match self.rest.first()? {
            b'{' | b'[' => {
                self.take(1);
                Some(Token::Open)
            }
            b'}' | b']' => {
                self.take(1);
                Some(Token::Close)
            }
            b'"' => {
                let string = self.take(string_length(self.rest)?);
                self.skip(|byte| byte.is_ascii_whitespace());
                match self.rest.first()? {
                    b':' => Some(Token::Key(string)),
                    _ => Some(Token::Value(string)),
                }
            }
            _ => {
                let ends = |byte: &u8| {
                    byte.is_ascii_whitespace()
                        || matches!(byte, b',' | b':' | b'{' | b'}' | b'[' | b']' | b'"')
                };
                let length = self.rest.iter().position(ends)?;
                Some(Token::Value(self.take(length)))
            }
        }
    }
}

impl<'a> Tokens<'a> {
    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) {
        let length = self.rest.iter().position(|byte| !is_skipped(*byte));
        self.take(length.unwrap_or(self.rest.len()));
    }

    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }
}

/// The length of the string that a text begins with, quotes included; `None` if it has no end.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    let inside = text.iter().skip(1);
    let end = inside.enumerate().find(|(_, byte)| {
        let ends = **byte == b'"' && !is_escaped;
        is_escaped = **byte == b'\\' && !is_escaped;
        ends
    });
    end.map(|(at, _)| at + 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PUSH: &str = r#"{"ref": "refs/heads/ma\"in", "commits": [{"id": 9, "repository": {"id": 8}}, ["id", 7]],
        "repository": {"owner": {"id": 6, "full_name": "x/y"}, "id": 42, "full_name": "acme/site"}, "id": 5, "x": 1}"#;

    fn named(host: HookHost, json: &str) -> (Option<String>, Option<String>) {
        let payload = Payload::read(host, json.as_bytes());
        let owned = |text: Option<&str>| text.map(str::to_owned);
        (owned(payload.repository()), owned(payload.full_name()))
    }

    fn both(id: &str, name: &str) -> (Option<String>, Option<String>) {
        (Some(id.to_owned()), Some(name.to_owned()))
    }

    #[test]
    fn a_push_names_its_repository() {
        assert_eq!(named(HookHost::GitHub, PUSH), both("42", "acme/site"));
        assert_eq!(named(HookHost::GitLab, PUSH), (None, None));
        let gitlab = r#"{"event_name": "push", "project_id": 7, "project": {"id": 7,
            "path_with_namespace": "team/app/web"}, "repository": {"id": 1}}"#;
        assert_eq!(named(HookHost::GitLab, gitlab), both("7", "team/app/web"));
        let form: String = form_urlencoded::Serializer::new(String::new())
            .append_pair("payload", PUSH)
            .finish();
        assert_eq!(named(HookHost::GitHub, &form), both("42", "acme/site"));
    }

    #[test]
    fn a_payload_cut_anywhere_names_its_repository_or_none() {
        for end in 0..PUSH.len() {
            let (id, name) = named(HookHost::GitHub, PUSH.get(..end).unwrap());
            assert!(id.is_none_or(|id| id == "42"), "cut at {end}");
            assert!(name.is_none_or(|name| name == "acme/site"), "cut at {end}");
        }
    }

    #[test]
    fn a_field_with_two_values_says_nothing_and_with_one_value_twice_says_it() {
        for (json, id) in [
            (r#"{"repository": {"id": 1, "id": 2}, "x": 1}"#, None),
            (
                r#"{"repository": {"id": 1}, "repository": {"id": 2}}"#,
                None,
            ),
            (r#"{"repository": {"id": 1, "\u0069d": 2, "id": 1}}"#, None),
            (
                r#"{"repository": {"id": 1}, "repository": {"id": 1}}"#,
                Some("1"),
            ),
            (r#"{"repository": {"id": 1.5}}"#, None),
            (r#"{"repository": {"id": -1}}"#, None),
            (r#"{"repository": {"id": "1"}}"#, None),
            (r#"{"repository": {"id": null}}"#, None),
            (r#"{"repository": {"id": 123456789012345678901}}"#, None),
            (r#"{"repository": "id", "id": 3}"#, None),
            (r#"[{"repository": {"id": 1}}]"#, None),
        ] {
            assert_eq!(named(HookHost::GitHub, json).0.as_deref(), id, "{json}");
        }
    }

    /// A host, an unfinished payload, and whether it says that the repository is private.
    #[rustfmt::skip]
    const PRIVATE: [(HookHost, &str, bool); 17] = [
        (HookHost::GitHub, r#"{"repository": {"private": true}, "x": 1}"#, true),
        (HookHost::GitHub, r#"{"repository": {"private": true, "visibility": "private"}, "x": 1}"#, true),
        (HookHost::GitHub, r#"{"repository": {"private": true, "visibility": "internal"}, "x": 1}"#, false),
        (HookHost::GitHub, r#"{"repository": {"private": false, "visibility": "public"}, "x": 1}"#, false),
        (HookHost::GitHub, r#"{"repository": {"private": false, "private": true}, "x": 1}"#, true),
        (HookHost::GitHub, r#"{"action": "privatized", "repository": {"id": 1}, "x": 1}"#, true),
        (HookHost::GitHub, r#"{"action": "publicized", "repository": {"private": false}, "x": 1}"#, false),
        (HookHost::GitHub, r#"{"private": true, "sender": {"private": true}, "x": 1}"#, false),
        (HookHost::Gitea, r#"{"repository": {"private": true}, "x": 1}"#, true),
        (HookHost::Gitea, r#"{"repository": {"private": false, "internal": true}, "x": 1}"#, true),
        (HookHost::Gitea, r#"{"repository": {"private": false, "internal": false}, "x": 1}"#, false),
        (HookHost::GitLab, r#"{"project": {"visibility_level": 0}, "x": 1}"#, true),
        (HookHost::GitLab, r#"{"project": {"visibility_level": 10}, "x": 1}"#, false),
        (HookHost::GitLab, r#"{"project_visibility": "private", "x": 1}"#, true),
        (HookHost::GitLab, r#"{"project_visibility": "visibilitylevel|private", "x": 1}"#, true),
        (HookHost::GitLab, r#"{"project_visibility": "internal", "x": 1}"#, false),
        (HookHost::GitLab, r#"{"repository": {"private": true}, "x": 1}"#, false),
    ];

    #[test]
    fn a_repository_is_private_if_its_host_says_so_or_contradicts_itself() {
        for (host, json, is_private) in PRIVATE {
            let payload = Payload::read(host, json.as_bytes());
            assert_eq!(payload.is_private(host), is_private, "{host:?} {json}");
        }
    }

    #[test]
    fn names_that_leave_their_place_or_mislead_are_not_read() {
        for bad in [
            "site",
            "/etc/passwd",
            "../../etc",
            "acme/..",
            "acme/./site",
            "acme//site",
            "acme/site/",
            "-oProxyCommand=x/site",
            "acme/--upload-pack=x",
            r"acme\\site/x",
            r"acme/\u0000",
            r"acme/a\nb",
            r"acme/\u001b[2J",
            r"acme/\u202eetis",
            "acme/a b",
            r"acme/\ud800",
            &"a/".repeat(300),
        ] {
            let json = format!(r#"{{"repository": {{"id": 1, "full_name": "{bad}"}}, "x": 1}}"#);
            let named = named(HookHost::GitHub, &json);
            assert_eq!(named, (Some("1".to_owned()), None), "{bad}");
        }
        let mut json = br#"{"repository": {"full_name": "acme/"#.to_vec();
        json.extend(b"\xff\xfe\"}}");
        let payload = Payload::read(HookHost::GitHub, &json);
        assert_eq!(payload.full_name(), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            Payload::read(HookHost::GitLab, &bytes);
        }

        #[test]
        fn text_of_json_signs_is_read_to_its_end(text in r#"[\[\]{}:,"\\a1 ]{0,200}"#) {
            Payload::read(HookHost::GitHub, text.as_bytes());
        }
    }
}
