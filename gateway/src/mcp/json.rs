//! A strict JSON reader: refuses what two parsers could read differently.
//!
//! `serde_json` parses strings and numbers; this adds the rules that it lacks. A repeated key in an
//! object is recorded (the message is readable, but its meaning is ambiguous), nesting is limited
//! to 128 levels, and a byte order mark is not JSON (RFC 8259, section 8.1).

use serde_json::{Map, Number, Value};

/// Maximum nesting of objects and arrays, the outermost included.
const DEEPEST: usize = 128;

/// Why bytes are not acceptable JSON.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum JsonError {
    #[error("not JSON at byte {0}")]
    Syntax(usize),
    #[error("nested deeper than {DEEPEST} levels")]
    TooDeep,
}

/// A value, and the first repeated key of any object in it.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) value: Value,
    pub(crate) repeated_key: Option<String>,
}

/// Parses `bytes` as exactly one JSON value.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, JsonError> {
    let mut reader = Reader {
        bytes,
        at: 0,
        depth: 0,
        repeated_key: None,
    };
    let value = reader.value()?;
    match reader.peek() {
        None => Ok(Document {
            value,
            repeated_key: reader.repeated_key,
        }),
        Some(_) => Err(reader.syntax()),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    repeated_key: Option<String>,
}

impl Reader<'_> {
    fn value(&mut self) -> Result<Value, JsonError> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Value::String),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.syntax()),
        }
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Value, JsonError>,
    ) -> Result<Value, JsonError> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(JsonError::TooDeep);
        }
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, JsonError> {
        let mut members = Map::new();
        if self.takes(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.syntax());
            }
            let key = self.string()?;
            if !self.takes(b':') {
                return Err(self.syntax());
            }
            let value = self.value()?;
            if self.repeated_key.is_none() && members.contains_key(&key) {
                self.repeated_key = Some(key.clone());
            }
            members.insert(key, value);
            if self.takes(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.takes(b',') {
                return Err(self.syntax());
            }
        }
    }

    fn array(&mut self) -> Result<Value, JsonError> {
        let mut items = Vec::new();
        if self.takes(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value()?);
            if self.takes(b']') {
                return Ok(Value::Array(items));
            }
            if !self.takes(b',') {
                return Err(self.syntax());
            }
        }
    }

    /// Finds the closing quote; `serde_json` validates the content (UTF-8, escapes, lone
    /// surrogates, control characters).
    fn string(&mut self) -> Result<String, JsonError> {
        let start = self.at;
        let mut end = start + 1;
        loop {
            match self.bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
                None => return Err(self.syntax()),
            }
        }
        self.at = end + 1;
        self.span(start)
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        let of_number = |byte: &&u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
        self.at += self.bytes.iter().skip(start).take_while(of_number).count();
        self.span::<Number>(start).map(Value::Number)
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        if !self
            .bytes
            .iter()
            .skip(self.at)
            .take(word.len())
            .eq(word.as_bytes())
        {
            return Err(self.syntax());
        }
        self.at += word.len();
        Ok(value)
    }

    fn span<T: serde::de::DeserializeOwned>(&self, start: usize) -> Result<T, JsonError> {
        let span = self.bytes.get(start..self.at).unwrap_or_default();
        serde_json::from_slice(span).map_err(|_unreadable| JsonError::Syntax(start))
    }

    /// Skips white space and returns the next byte without consuming it.
    fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn takes(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn syntax(&self) -> JsonError {
        JsonError::Syntax(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_json_is_read_as_serde_json_reads_it() {
        for text in [
            r#"{"a":[1,-2.5,1e3,true,false,null,"x\né\ud83d\ude00"],"b":{}}"#,
            " [ ] ",
            "0",
            "-0",
            "18446744073709551615",
            r#""\"\\\/""#,
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(read(text.as_bytes()).unwrap().value, expected, "{text}");
        }
    }

    #[test]
    fn invalid_json_is_refused() {
        let bad: [&[u8]; 27] = [
            b"",
            b" ",
            b"{",
            b"[1,]",
            b"{\"a\":1,}",
            b"{\"a\"}",
            b"{a:1}",
            b"[1 2]",
            b"1 2",
            b"nul",
            b"tru",
            b"01",
            b"1.",
            b"-",
            b"+1",
            b"1e400",
            b"-1e400",
            b"NaN",
            b"\"",
            b"\"\\",
            b"\"\n\"",
            b"\"\\ud800\"",
            b"\"\\udc00\"",
            b"\"\\x\"",
            b"\"\xff\"",
            b"\xef\xbb\xbf{}",
            b"'a'",
        ];
        for bytes in bad {
            let text = String::from_utf8_lossy(bytes);
            assert!(matches!(read(bytes), Err(JsonError::Syntax(_))), "{text}");
        }
    }

    #[test]
    fn nesting_ends_at_128_levels() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(nested(128).as_bytes()).is_ok());
        assert_eq!(
            read(nested(129).as_bytes()).unwrap_err(),
            JsonError::TooDeep
        );
        assert_eq!(
            read("[".repeat(1_000_000).as_bytes()).unwrap_err(),
            JsonError::TooDeep
        );
        let side_by_side = format!("[{}[]]", "[],".repeat(1000));
        assert!(read(side_by_side.as_bytes()).is_ok());
    }

    #[test]
    fn a_repeated_key_is_detected_at_any_depth_and_spelling() {
        let repeated = |text: &str| read(text.as_bytes()).unwrap().repeated_key;
        assert_eq!(
            repeated(r#"{"a":{"b":1,"c":[{"d":1,"\u0064":2}]}}"#).unwrap(),
            "d"
        );
        assert_eq!(
            repeated(r#"{"a":{"a":{"b":1}},"b":[{"a":1},{"a":1}]}"#),
            None
        );
    }
}
