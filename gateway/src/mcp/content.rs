//! The media types of a request, and its body: read once, bounded in size and time.
//!
//! What a reader would miss: a large body is read only if its caller can pay for it, as far as that
//! is known beforehand, and gets a permit (`body_permits`). A small body is always read, because
//! its content decides the form of a refusal.

use std::time::Duration;

use axum::{body::Body, response::Response};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use uuid::Uuid;

use super::body_permits::{BodyPermit, BodyPermits};
use crate::{error::GatewayError, limits::LimitRefusal};

/// Maximum size of a body in bytes.
pub(crate) const LARGEST_BODY: usize = 1024 * 1024;
/// Maximum size in bytes of a body that is always read: few calls are larger.
const MAX_FREE_BODY: usize = 64 * 1024;
const BODY_TIMEOUT: Duration = Duration::from_secs(15);

/// The media types that a client accepts: at least one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepts {
    pub(super) json: bool,
    pub(super) events: bool,
}

impl Accepts {
    /// Reads `Accept`; without it a client accepts anything (RFC 9110, 12.5.1).
    fn of(headers: &HeaderMap) -> Result<Self, GatewayError> {
        let mut accepts = Accepts {
            json: false,
            events: false,
        };
        let mut named = false;
        let (mut no_json, mut no_events) = (false, false);
        for value in headers.get_all(header::ACCEPT) {
            named = true;
            for range in value.to_str().unwrap_or_default().split(',') {
                let mut parts = range.split(';').map(str::trim);
                let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
                if parts.any(refuses) {
                    // A type excluded by name is not admitted by a wildcard.
                    no_json |= media_type == "application/json";
                    no_events |= media_type == "text/event-stream";
                    continue;
                }
                accepts.json |=
                    matches!(&*media_type, "application/json" | "application/*" | "*/*");
                accepts.events |= matches!(&*media_type, "text/event-stream" | "text/*" | "*/*");
            }
        }
        accepts.json &= !no_json;
        accepts.events &= !no_events;
        match (named, accepts) {
            (false, _) => Ok(Accepts {
                json: true,
                events: true,
            }),
            (
                true,
                Accepts {
                    json: false,
                    events: false,
                },
            ) => Err(GatewayError::NotAcceptable),
            (true, accepts) => Ok(accepts),
        }
    }
}

/// `q=0`, in any spelling.
fn refuses(parameter: &str) -> bool {
    let weight = parameter
        .strip_prefix("q=")
        .or_else(|| parameter.strip_prefix("Q="));
    weight.is_some_and(|weight| weight.trim().parse() == Ok(0.0_f32))
}

/// Why a body was not read.
pub(super) enum BodyError {
    /// It cannot be a message.
    Invalid(GatewayError),
    /// It is large, and its caller could not pay for it.
    Unpaid(LimitRefusal),
}

impl From<GatewayError> for BodyError {
    fn from(error: GatewayError) -> Self {
        BodyError::Invalid(error)
    }
}

/// A whole body, with its permit if it is large.
pub(super) struct ReceivedBody<'a> {
    pub(super) bytes: Bytes,
    _permit: Option<BodyPermit<'a>>,
}

/// What admits a large body.
pub(super) struct BodyAdmission<'a, F> {
    pub(super) permits: &'a BodyPermits,
    /// The sender's tenant.
    pub(super) tenant: Uuid,
    /// Returns the limit that the caller exceeds, if any.
    pub(super) refusal: F,
}

impl<'a, F: Fn() -> Option<LimitRefusal>> BodyAdmission<'a, F> {
    /// Waits for a permit. Checks the limit again after a wait, since other bodies of the caller
    /// were read meanwhile.
    async fn admit(&self) -> Result<BodyPermit<'a>, BodyError> {
        let paid = || (self.refusal)().map_or(Ok(()), |refused| Err(BodyError::Unpaid(refused)));
        paid()?;
        let permit = self.permits.acquire(self.tenant).await;
        let permit = permit.ok_or(GatewayError::TooManyLargeBodies)?;
        if permit.waited {
            paid()?;
        }
        Ok(permit)
    }
}

/// Reads the accepted media types and the whole body. A large body must be admitted before that
/// much of it is buffered.
pub(super) async fn read<'a>(
    headers: &HeaderMap,
    body: Body,
    admission: BodyAdmission<'a, impl Fn() -> Option<LimitRefusal>>,
) -> Result<(Accepts, ReceivedBody<'a>), BodyError> {
    let accepts = Accepts::of(headers)?;
    check_content(headers)?;
    match tokio::time::timeout(BODY_TIMEOUT, read_body(body, admission)).await {
        Ok(body) => Ok((accepts, body?)),
        Err(_elapsed) => Err(BodyError::Invalid(GatewayError::BodyTooSlow)),
    }
}

/// Refuses a body whose headers do not declare plain JSON.
fn check_content(headers: &HeaderMap) -> Result<(), GatewayError> {
    let plain = headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    let mut media_types = headers.get_all(header::CONTENT_TYPE).iter();
    let media_type = match (media_types.next(), media_types.next()) {
        (Some(one), None) => one.to_str().ok(),
        _ => None,
    };
    let essence = media_type
        .and_then(|value| value.split(';').next())
        .map(str::trim);
    let is_json = essence.is_some_and(|value| value.eq_ignore_ascii_case("application/json"));
    if plain && is_json {
        Ok(())
    } else {
        Err(GatewayError::UnsupportedMediaType)
    }
}

/// Reads the whole body, up to 1 MiB.
async fn read_body<'a>(
    body: Body,
    admission: BodyAdmission<'a, impl Fn() -> Option<LimitRefusal>>,
) -> Result<ReceivedBody<'a>, BodyError> {
    let declared = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut body = Limited::new(body, LARGEST_BODY);
    let mut bytes = BytesMut::new();
    let mut permit = None;
    loop {
        // Before the first byte if the length was declared.
        if permit.is_none() && declared.max(bytes.len()) > MAX_FREE_BODY {
            permit = Some(admission.admit().await?);
        }
        let data = match body.frame().await {
            None => {
                return Ok(ReceivedBody {
                    bytes: bytes.freeze(),
                    _permit: permit,
                });
            }
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            Some(Err(error)) if error.is::<LengthLimitError>() => {
                return Err(GatewayError::BodyTooLarge.into());
            }
            Some(Err(_broken)) => return Err(GatewayError::BodyBroken.into()),
        };
        bytes.extend_from_slice(&data);
    }
}

/// A response of one JSON message.
pub(super) fn json_response(message: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(message));
    let media_type = HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, media_type);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, values: &[&'static str]) -> HeaderMap {
        let values = values
            .iter()
            .map(|value| (name.clone(), HeaderValue::from_static(value)));
        values.collect()
    }

    #[test]
    fn a_client_is_refused_only_if_it_accepts_neither_form() {
        let accepts = |values: &[&'static str]| {
            Accepts::of(&headers(header::ACCEPT, values))
                .ok()
                .map(|it| (it.json, it.events))
        };
        assert_eq!(accepts(&[]), Some((true, true)));
        assert_eq!(accepts(&["*/*"]), Some((true, true)));
        assert_eq!(
            accepts(&["application/json, text/event-stream"]),
            Some((true, true))
        );
        assert_eq!(
            accepts(&["application/json", "Text/Event-Stream;q=0.5"]),
            Some((true, true))
        );
        assert_eq!(accepts(&["application/json"]), Some((true, false)));
        assert_eq!(accepts(&["text/event-stream"]), Some((false, true)));
        assert_eq!(
            accepts(&["application/json;q=0.0, text/*"]),
            Some((false, true))
        );
        assert_eq!(accepts(&["application/json;q=0, */*"]), Some((false, true)));
        assert_eq!(accepts(&["text/html"]), None);
        assert_eq!(accepts(&["*/*;q=0"]), None);
    }

    #[test]
    fn only_plain_json_is_read() {
        let json = headers(header::CONTENT_TYPE, &["Application/JSON; charset=utf-8"]);
        assert!(check_content(&json).is_ok());
        let mut zipped = json.clone();
        zipped.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        let mut plain = json.clone();
        plain.insert(
            header::CONTENT_ENCODING,
            HeaderValue::from_static("Identity"),
        );
        assert!(check_content(&plain).is_ok());
        plain.append(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        for bad in [
            zipped,
            plain,
            headers(header::CONTENT_TYPE, &["application/json", "text/plain"]),
            headers(header::CONTENT_TYPE, &["text/plain"]),
            HeaderMap::new(),
        ] {
            assert!(matches!(
                check_content(&bad),
                Err(GatewayError::UnsupportedMediaType)
            ));
        }
    }
}
