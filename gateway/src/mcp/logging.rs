//! The minimum level of the log messages that a client receives.
//!
//! In 2026-07-28 each request sets it in `_meta`; by default a client receives none. In older
//! revisions the level belongs to the session, and `logging/setLevel` sets it.

use archway_proto::log::LogLevel;
use serde_json::{Map, Value};

use super::envelope::Envelope;
use crate::error::{GatewayError, quoted};

/// The key in `_meta` under which a request of 2026-07-28 sets the level.
pub(super) const META_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// The level that a request of 2026-07-28 sets in its `_meta`, if any.
///
/// # Errors
/// [`GatewayError::InvalidRequestParams`] for anything but the name of a level.
pub(super) fn level_of_request(message: &Envelope) -> Result<Option<LogLevel>, GatewayError> {
    let Some(asked) = message.meta().and_then(|meta| meta.get(META_LEVEL)) else {
        return Ok(None);
    };
    let level = parse(asked).map_err(|problem| format!("_meta[{META_LEVEL:?}] {problem}"));
    level.map(Some).map_err(GatewayError::InvalidRequestParams)
}

/// The level in the params of `logging/setLevel`.
///
/// # Errors
/// [`GatewayError::InvalidLogLevel`] for anything but the name of a level.
pub(super) fn requested_level(params: &Map<String, Value>) -> Result<LogLevel, GatewayError> {
    let level = params.get("level").unwrap_or(&Value::Null);
    parse(level).map_err(GatewayError::InvalidLogLevel)
}

fn parse(level: &Value) -> Result<LogLevel, String> {
    let name = level.as_str();
    name.and_then(LogLevel::parse).ok_or_else(|| {
        let given = name.map_or_else(String::new, |name| format!(", not {}", quoted(name)));
        let names = LogLevel::ALL.map(LogLevel::name).join(", ");
        format!("must be one of {names}{given}")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn set_level_accepts_only_names_of_levels() {
        let asked = |params: Value| requested_level(params.as_object().unwrap());
        for level in LogLevel::ALL {
            assert_eq!(asked(json!({ "level": level.name() })).unwrap(), level);
        }
        for params in [
            json!({}),
            json!({ "level": null }),
            json!({ "level": 3 }),
            json!({ "level": "loud" }),
            json!({ "level": "Info" }),
        ] {
            let refused = asked(params.clone()).unwrap_err();
            assert!(refused.to_string().contains("debug, info"), "{params}");
        }
    }
}
