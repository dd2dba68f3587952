//! The JSON-RPC message around every method: id, method, params.
//!
//! Parsed before the method is considered, so malformed messages get the same error for every
//! method and revision. If the id could not be read, the answer has none.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    json::{self, JsonError},
    method::Method,
};
use crate::error::{GatewayError, quoted};

const LONGEST_ID: usize = 256;

/// The id of a request, as the answer repeats it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum RequestId {
    Number(i64),
    Text(String),
}

/// A request, or a notification if `id` is `None`.
#[derive(Debug)]
pub(crate) struct Envelope {
    pub(crate) id: Option<RequestId>,
    /// `None` for an unknown method.
    pub(super) method: Option<Method>,
    pub(super) method_name: String,
    pub(crate) params: Map<String, Value>,
}

impl Envelope {
    /// The request's `_meta`.
    pub(crate) fn meta(&self) -> Option<&Map<String, Value>> {
        self.params.get("_meta").and_then(Value::as_object)
    }
}

/// A message that is answered with an error, under its id if that could be read.
#[derive(Debug)]
pub(crate) struct InvalidMessage {
    pub(crate) error: GatewayError,
    pub(crate) id: Option<RequestId>,
}

impl From<GatewayError> for InvalidMessage {
    fn from(error: GatewayError) -> Self {
        InvalidMessage { error, id: None }
    }
}

impl From<JsonError> for InvalidMessage {
    fn from(error: JsonError) -> Self {
        GatewayError::NotJson(error.to_string()).into()
    }
}

/// Parses a body as one JSON-RPC request or notification.
pub(crate) fn parse(body: &[u8]) -> Result<Envelope, InvalidMessage> {
    let document = json::read(body)?;
    if let Some(key) = document.repeated_key {
        let error = format!("the key {} occurs twice in one object", quoted(&key));
        return Err(GatewayError::InvalidRequest(error).into());
    }
    let mut message = match document.value {
        Value::Object(message) => message,
        Value::Array(_) => return Err(invalid("batches are not supported").into()),
        _ => return Err(invalid("a message is a JSON object").into()),
    };
    let id = message.remove("id").map(request_id).transpose()?;
    match rest(message, id.is_some()) {
        Ok((method_name, params)) => Ok(Envelope {
            id,
            method: Method::parse(&method_name),
            method_name,
            params,
        }),
        Err(error) => Err(InvalidMessage { error, id }),
    }
}

fn rest(
    mut message: Map<String, Value>,
    has_id: bool,
) -> Result<(String, Map<String, Value>), GatewayError> {
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid("jsonrpc must be \"2.0\""));
    }
    let method = match message.remove("method") {
        Some(Value::String(method)) => method,
        Some(_) => return Err(invalid("method must be a string")),
        None => {
            return Err(invalid(
                "method is missing; this server expects no responses",
            ));
        }
    };
    if message.contains_key("result") || message.contains_key("error") {
        return Err(invalid("a request has neither result nor error"));
    }
    if !has_id && !method.starts_with("notifications/") {
        return Err(invalid("a request needs an id"));
    }
    let params = match message.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            return Err(GatewayError::InvalidRequestParams(
                "params must be an object".to_owned(),
            ));
        }
    };
    check_meta(&params)?;
    Ok((method, params))
}

fn check_meta(params: &Map<String, Value>) -> Result<(), GatewayError> {
    let problem = match params.get("_meta") {
        None => return Ok(()),
        Some(Value::Object(meta)) => match meta.get("progressToken") {
            None => return Ok(()),
            // Each event of the answer repeats it.
            Some(Value::String(token)) if token.len() <= LONGEST_ID => return Ok(()),
            Some(Value::Number(token)) if !token.is_f64() => return Ok(()),
            Some(_) => "_meta.progressToken must be a string of at most 256 bytes or an integer",
        },
        Some(_) => "_meta must be an object",
    };
    Err(GatewayError::InvalidRequestParams(problem.to_owned()))
}

fn request_id(value: Value) -> Result<RequestId, GatewayError> {
    match value {
        Value::String(text) if text.len() <= LONGEST_ID => Ok(RequestId::Text(text)),
        value => value
            .as_i64()
            .map(RequestId::Number)
            .ok_or_else(|| invalid("an id is an integer of 64 bits or a string of 256 bytes")),
    }
}

fn invalid(problem: &str) -> GatewayError {
    GatewayError::InvalidRequest(problem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_and_a_notification_are_read() {
        let body = br#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}}"#;
        let request = parse(body).unwrap();
        assert_eq!(request.id, Some(RequestId::Text("a".into())));
        assert_eq!(
            (request.method, &request.params["name"]),
            (Some(Method::TOOLS_CALL), &"x".into())
        );

        let body = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(parse(body).unwrap().id, None);
        for id in ["0", "-9223372036854775808", "9223372036854775807", "\"\""] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            let read = parse(body.as_bytes()).unwrap().id.unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), id);
        }
    }

    #[test]
    fn a_progress_token_is_bounded_like_an_id() {
        let body = |length: usize| {
            let params = serde_json::json!({ "_meta": { "progressToken": "x".repeat(length) } });
            let message = serde_json::json!({
                "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params,
            });
            message.to_string()
        };
        assert!(parse(body(LONGEST_ID).as_bytes()).is_ok());
        assert!(parse(body(LONGEST_ID + 1).as_bytes()).is_err());
    }

    /// Every rule of the envelope: the code, and whether the answer carries the id 7.
    const RULES: [(&str, i32, bool); 27] = [
        ("", -32700, false),
        ("\u{feff}{}", -32700, false),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\ud800"}}"#,
            -32700,
            false,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1e999}}"#,
            -32700,
            false,
        ),
        ("[]", -32600, false),
        (
            r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#,
            -32600,
            false,
        ),
        ("1", -32600, false),
        (
            r#"{"jsonrpc":"2.0","id":7,"id":7,"method":"ping"}"#,
            -32600,
            false,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":{"b":1,"b":2}}}"#,
            -32600,
            false,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            -32600,
            false,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            -32600,
            false,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#,
            -32600,
            false,
        ),
        (
            r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#,
            -32600,
            false,
        ),
        (
            r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
            -32600,
            false,
        ),
        (
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            -32600,
            false,
        ),
        (r#"{"jsonrpc":"2.0","method":"ping"}"#, -32600, false),
        (r#"{"id":7,"method":"ping"}"#, -32600, true),
        (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600, true),
        (r#"{"jsonrpc":2.0,"id":7,"method":"ping"}"#, -32600, true),
        (r#"{"jsonrpc":"2.0","id":7}"#, -32600, true),
        (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, -32600, true),
        (r#"{"jsonrpc":"2.0","id":7,"method":3}"#, -32600, true),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#,
            -32602,
            true,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":null}"#,
            -32602,
            true,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}"#,
            -32602,
            true,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":1}}"#,
            -32602,
            true,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"progressToken":{}}}}"#,
            -32602,
            true,
        ),
    ];

    #[test]
    fn every_other_message_is_refused_with_its_code() {
        for (body, code, has_id) in RULES {
            refused(body, code, has_id);
        }
    }

    #[test]
    fn an_id_of_257_bytes_or_129_levels_are_refused() {
        let message = |id: &str, params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","params":{params}}}"#)
        };
        let id = |length: usize| format!("\"{}\"", "x".repeat(length));
        assert!(parse(message(&id(256), "{}").as_bytes()).is_ok());
        refused(&message(&id(257), "{}"), -32600, false);
        // The message itself is the first level.
        let nested = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        assert!(parse(message("7", &nested(127)).as_bytes()).is_ok());
        refused(&message("7", &nested(128)), -32700, false);
    }

    fn refused(body: &str, code: i32, has_id: bool) {
        let refused = parse(body.as_bytes()).unwrap_err();
        let expected = match code {
            -32700 => matches!(refused.error, GatewayError::NotJson(_)),
            -32600 => matches!(refused.error, GatewayError::InvalidRequest(_)),
            _ => matches!(refused.error, GatewayError::InvalidRequestParams(_)),
        };
        assert!(expected, "{body}: {:?}", refused.error);
        assert_eq!(refused.id, has_id.then_some(RequestId::Number(7)), "{body}");
        assert_eq!(
            refused.error.respond(refused.id.as_ref()).status(),
            400,
            "{body}"
        );
    }
}
