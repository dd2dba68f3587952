//! The program that sent a request, as it calls itself: for usage and the audit trail, never for a decision.
//!
//! What a reader would get wrong: anybody may claim any name, so nothing is granted or refused by it.

use http::{HeaderMap, header::USER_AGENT};
use serde_json::Value;

/// The most characters of an agent; further ones are cut.
const LONGEST: usize = 64;

/// A program's name and version: at most 64 characters of `[A-Za-z0-9 ._/+-]`, none if it said nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agent {
    text: [u8; LONGEST],
    length: u8,
}

impl Agent {
    /// A program that said nothing.
    pub(crate) const UNKNOWN: Agent = Agent {
        text: [0; LONGEST],
        length: 0,
    };

    /// What is left of a text without other characters, and without spaces around it. Cleaning it again
    /// changes nothing.
    pub(crate) fn cleaned(text: &str) -> Self {
        let kept = |byte: &u8| byte.is_ascii_alphanumeric() || b" ._/+-".contains(byte);
        let mut agent = Agent::UNKNOWN;
        let kept = text.bytes().filter(kept).skip_while(|byte| *byte == b' ');
        for ((index, byte), place) in (1..).zip(kept).zip(&mut agent.text) {
            *place = byte;
            if byte != b' ' {
                agent.length = index;
            }
        }
        let end = usize::from(agent.length);
        agent.text.iter_mut().skip(end).for_each(|rest| *rest = 0);
        agent
    }

    /// `name/version` of MCP's `clientInfo`, or its name alone.
    pub(crate) fn of_client_info(info: Option<&Value>) -> Self {
        let text = |name| info.and_then(|info| info.get(name)).and_then(Value::as_str);
        match (text("name").unwrap_or_default(), text("version")) {
            ("", _) => Agent::UNKNOWN,
            (name, None | Some("")) => Agent::cleaned(name),
            (name, Some(version)) => Agent::cleaned(&format!("{name}/{version}")),
        }
    }

    /// The header `User-Agent`.
    pub(crate) fn of_headers(headers: &HeaderMap) -> Self {
        let value = headers.get(USER_AGENT);
        let text = value.and_then(|value| value.to_str().ok());
        Agent::cleaned(text.unwrap_or_default())
    }

    /// This one; `other` if this one is unknown.
    pub(crate) fn or(self, other: Agent) -> Self {
        match self.length {
            0 => other,
            _ => self,
        }
    }

    /// The text; empty if unknown.
    pub(crate) fn as_str(&self) -> &str {
        let (text, _) = self.text.split_at(usize::from(self.length));
        // Only ASCII is kept.
        std::str::from_utf8(text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_agent_is_short_and_has_harmless_characters_only() {
        for (text, kept) in [
            ("claude-code/2.1.0", "claude-code/2.1.0"),
            (" Mozilla/5.0 (X11; Linux) ", "Mozilla/5.0 X11 Linux"),
            ("p\u{202e}q\n\"r'é,s", "pqrs"),
            ("", ""),
            ("日本", ""),
        ] {
            assert_eq!(Agent::cleaned(text).as_str(), kept, "{text}");
        }
        let long = "a".repeat(100);
        assert_eq!(Agent::cleaned(&long).as_str().len(), LONGEST);
        for ends_in_space in ["( x (", &format!("{} b", "a".repeat(LONGEST - 1))] {
            let once = Agent::cleaned(ends_in_space);
            assert_eq!(Agent::cleaned(once.as_str()).as_str(), once.as_str());
            assert_eq!(once.as_str().trim(), once.as_str());
        }
    }

    #[test]
    fn client_info_is_name_and_version_and_comes_before_a_header() {
        let of = |info: Value| Agent::of_client_info(Some(&info)).as_str().to_owned();
        assert_eq!(
            of(json!({ "name": "cursor", "version": "1.7" })),
            "cursor/1.7"
        );
        assert_eq!(of(json!({ "name": "cursor" })), "cursor");
        for nothing in [json!({ "version": "1" }), json!({ "name": 7 }), json!("x")] {
            assert_eq!(of(nothing.clone()), "", "{nothing}");
        }
        let (named, header) = (Agent::cleaned("cursor"), Agent::cleaned("curl/8"));
        assert_eq!(named.or(header), named);
        assert_eq!(Agent::of_client_info(None).or(header), header);
    }
}
