//! The collector as it was named: everything read that has to be.

use opentelemetry_sdk::Resource;
use secrecy::{ExposeSecret, SecretString};
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap};
use tonic::transport::{ClientTlsConfig, Endpoint, Uri};

use std::time::Duration;

/// A connection, on any network that is well.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// How often a connection is tried that says nothing, and how long it has to answer.
const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(5));

/// A collector, and what it is told of this process.
pub struct Collector {
    pub(super) endpoint: Endpoint,
    pub(super) headers: MetadataMap,
    resource: Resource,
}

/// Why traces can't be exported as it was said. Never shows a header: it may be a key.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// No URL that a collector could have.
    #[error(
        "--otlp-endpoint (OTEL_EXPORTER_OTLP_ENDPOINT) can't be used: name a collector as \
         http://host:4317 or https://host:4317"
    )]
    Endpoint,
    /// Another protocol than gRPC.
    #[error(
        "--otlp-protocol (OTEL_EXPORTER_OTLP_PROTOCOL) can't be used: traces go by grpc; name the \
         collector's port for that, mostly 4317, and set grpc or nothing"
    )]
    Protocol,
    /// No list of headers.
    #[error(
        "--otlp-headers (OTEL_EXPORTER_OTLP_HEADERS) can't be used: write name=value,…, values \
         percent-encoded"
    )]
    Headers,
    /// No list of attributes.
    #[error(
        "--otlp-resource (OTEL_RESOURCE_ATTRIBUTES) can't be used: write name=value,…, values \
         percent-encoded"
    )]
    Resource,
    /// TLS can't be set up.
    #[error("setting up TLS to the collector of traces")]
    Tls(#[source] tonic::transport::Error),
}

impl Collector {
    pub(super) fn new(
        endpoint: &str,
        headers: Option<&SecretString>,
        resource: Resource,
    ) -> Result<Self, OtlpError> {
        let headers = metadata(headers.map_or("", |it| it.expose_secret()));
        let headers = headers.ok_or(OtlpError::Headers)?;
        let uri: Uri = endpoint.parse().map_err(|_no_uri| OtlpError::Endpoint)?;
        let has_path = !matches!(uri.path(), "" | "/") || uri.query().is_some();
        let has_user = uri.authority().is_some_and(|it| it.as_str().contains('@'));
        if has_path || has_user {
            return Err(OtlpError::Endpoint);
        }
        let secured = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(OtlpError::Endpoint),
        };
        if !headers.is_empty() && !secured {
            tracing::warn!(
                "what the collector of traces is told by --otlp-headers crosses the network in \
                 the clear: its URL is no https://"
            );
        }
        let mut endpoint = Endpoint::from(uri)
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEP_ALIVE.0)
            .keep_alive_timeout(KEEP_ALIVE.1);
        if secured {
            let trusted = ClientTlsConfig::new().with_native_roots();
            endpoint = endpoint.tls_config(trusted).map_err(OtlpError::Tls)?;
        }
        Ok(Collector {
            endpoint,
            headers,
            resource,
        })
    }

    /// What it is told of this process.
    pub(super) fn resource(&self) -> &Resource {
        &self.resource
    }
}

fn metadata(list: &str) -> Option<MetadataMap> {
    let mut headers = MetadataMap::new();
    for (name, value) in pairs(list)? {
        let name: AsciiMetadataKey = name.to_ascii_lowercase().parse().ok()?;
        let mut value: AsciiMetadataValue = value.parse().ok()?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Some(headers)
}

/// The pairs of a list as OpenTelemetry's variables have it (W3C Baggage without properties).
pub(super) fn pairs(list: &str) -> Option<Vec<(String, String)>> {
    let pairs = list.split(',').map(str::trim).filter(|it| !it.is_empty());
    let pairs = pairs.map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let name = name.trim();
        (!name.is_empty()).then_some(())?;
        Some((name.to_owned(), decoded(value.trim())?))
    });
    pairs.collect()
}

/// A text without its percent-encoding; `None` if that is broken.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(endpoint: &str, headers: &str) -> Result<Collector, OtlpError> {
        let headers = SecretString::from(headers.to_owned());
        Collector::new(endpoint, Some(&headers), Resource::builder_empty().build())
    }

    #[test]
    fn a_list_is_read_as_opentelemetry_has_it() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let read = pairs(" a=1 , b.c=x%20y%2C=z,,d=").unwrap();
        assert_eq!(read, [pair("a", "1"), pair("b.c", "x y,=z"), pair("d", "")]);
        assert_eq!(pairs("").unwrap(), []);
        for bad in ["a", "=1", "a=%", "a=%2", "a=%zz", "a=%ff"] {
            assert_eq!(pairs(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_collector_has_a_url_of_http_and_headers_that_are_no_secret_to_nobody() {
        assert!(open("http://collector:4317", "").is_ok());
        let with_key = open("http://collector:4317", "X-Key=hunter2").unwrap();
        assert_eq!(with_key.headers.get("x-key").unwrap(), "hunter2");
        assert!(!format!("{:?}", with_key.headers).contains("hunter2"));
        for bad in [
            "collector:4317",
            "grpc://collector:4317",
            "/v1/traces",
            "http://",
        ] {
            assert!(matches!(open(bad, ""), Err(OtlpError::Endpoint)), "{bad}");
        }
        for bad in ["hunter2", "a b=hunter2", "key=hunter%0a2"] {
            let error = open("http://collector:4317", bad).err().unwrap();
            assert!(matches!(error, OtlpError::Headers), "{bad}");
            assert!(!format!("{error} {error:?}").contains("hunter"), "{bad}");
        }
    }
}
