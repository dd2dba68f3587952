//! The collector as the options and variables name it: validated, with everything read from the file
//! system.

use std::{collections::HashMap, env, time::Duration};

use opentelemetry_otlp::{
    ExporterBuildError, Protocol, SpanExporter, WithExportConfig, WithHttpConfig, WithTonicConfig,
};
use opentelemetry_sdk::Resource;
use tonic::{
    metadata::{AsciiMetadataKey, AsciiMetadataValue, MetadataMap},
    transport::{ClientTlsConfig, Endpoint, Uri},
};

/// How long a connection may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// An idle connection is probed after 20 s, and has 5 s to answer.
const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(5));
/// How long a batch may take, retries included, unless `OTEL_EXPORTER_OTLP_TIMEOUT` says otherwise:
/// the specification's default.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// A collector, how to reach it, and the resource that spans belong to.
pub struct Collector {
    transport: Transport,
    headers: Vec<(String, String)>,
    deadline: Duration,
    resource: Resource,
}

enum Transport {
    Grpc(Box<Endpoint>),
    Http {
        client: reqwest::Client,
        url: String,
    },
}

/// Why traces can't be exported as configured. Never shows a header, which may be a key.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// The endpoint is not the URL of a collector.
    #[error(
        "--otlp-endpoint (OTEL_EXPORTER_OTLP_ENDPOINT) can't be \
         used: name a collector as http://host:4317 or https://host:4317 for gRPC, as \
         http://host:4318 or https://host:4318 for http/protobuf"
    )]
    Endpoint,
    /// The protocol is neither gRPC nor HTTP with protobuf.
    #[error(
        "--otlp-protocol (OTEL_EXPORTER_OTLP_PROTOCOL) can't be \
         used: set grpc or http/protobuf"
    )]
    Protocol,
    /// The headers are not a list.
    #[error(
        "--otlp-headers (OTEL_EXPORTER_OTLP_HEADERS) can't be used: write name=value,…, values \
         percent-encoded"
    )]
    Headers,
    /// The attributes are not a list.
    #[error(
        "--otlp-resource (OTEL_RESOURCE_ATTRIBUTES) can't be used: write name=value,…, values \
         percent-encoded"
    )]
    Resource,
    /// TLS over gRPC can't be set up.
    #[error("setting up TLS to the trace collector")]
    Tls(#[source] tonic::transport::Error),
    /// The HTTP client can't be made.
    #[error("setting up the HTTP client of the trace collector")]
    Http(#[source] reqwest::Error),
    /// OpenTelemetry's exporter refuses a setting.
    #[error("setting up the exporter of traces")]
    Exporter(#[source] ExporterBuildError),
}

/// A variable that the exporter or the SDK reads, and no option of Archway.
#[expect(
    clippy::disallowed_methods,
    reason = "OpenTelemetry's own variables, which its crates read in the same way"
)]
pub(super) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// A variable of OpenTelemetry for traces alone, such as `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`. By the
/// specification it wins over the general one, and an empty variable counts as unset.
pub(super) fn traces_variable(name: &str) -> Option<String> {
    variable(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"))
}

impl Collector {
    /// `endpoint` is the base URL of all signals; `headers` a list `name=value,…`.
    pub(super) fn new(
        endpoint: &str,
        protocol: &str,
        headers: &str,
        resource: Resource,
    ) -> Result<Self, OtlpError> {
        let headers = pairs(headers).ok_or(OtlpError::Headers)?;
        metadata(&headers)?;
        let own_protocol = traces_variable("PROTOCOL");
        let own_endpoint = traces_variable("ENDPOINT");
        let protocol = own_protocol.as_deref().unwrap_or(protocol);
        let uri = parse(own_endpoint.as_deref().unwrap_or(endpoint))?;
        let is_secured = uri.scheme_str() == Some("https");
        if !headers.is_empty() && !is_secured {
            tracing::warn!(
                "--otlp-headers cross the network in the clear: the trace collector's URL is not \
                 https://"
            );
        }
        let deadline = export_timeout();
        let transport = match protocol {
            "" | "grpc" => Transport::Grpc(Box::new(grpc_endpoint(uri, deadline)?)),
            "http/protobuf" => Transport::Http {
                client: http_client(deadline)?,
                // The variable for traces has the whole URL, the general one the base of all signals.
                url: match own_endpoint {
                    Some(url) => url,
                    None => format!("{}/v1/traces", endpoint.trim_end_matches('/')),
                },
            },
            _ => return Err(OtlpError::Protocol),
        };
        Ok(Collector {
            transport,
            headers,
            deadline,
            resource,
        })
    }

    /// What spans say of this process.
    pub(super) fn resource(&self) -> &Resource {
        &self.resource
    }

    /// How long a batch may take, retries included.
    pub(super) fn deadline(&self) -> Duration {
        self.deadline
    }

    /// OpenTelemetry's exporter, which also reads `OTEL_EXPORTER_OTLP_COMPRESSION` and the headers'
    /// variables. Wants a runtime; connects when there is something to send.
    pub(super) fn exporter(self) -> Result<SpanExporter, OtlpError> {
        let builder = SpanExporter::builder();
        let exporter = match self.transport {
            Transport::Grpc(endpoint) => builder
                .with_tonic()
                .with_channel(endpoint.connect_lazy())
                .with_timeout(self.deadline)
                .with_metadata(metadata(&self.headers)?)
                .build(),
            Transport::Http { client, url } => builder
                .with_http()
                .with_protocol(Protocol::HttpBinary)
                .with_http_client(client)
                .with_endpoint(url)
                .with_timeout(self.deadline)
                .with_headers(HashMap::from_iter(self.headers))
                .build(),
        };
        exporter.map_err(OtlpError::Exporter)
    }
}

/// A URL of a collector: `http` or `https`, without user, password or query.
fn parse(endpoint: &str) -> Result<Uri, OtlpError> {
    let uri: Uri = endpoint.parse().map_err(|_error| OtlpError::Endpoint)?;
    let has_user = uri.authority().is_some_and(|it| it.as_str().contains('@'));
    let has_scheme = matches!(uri.scheme_str(), Some("http" | "https"));
    match has_scheme && !has_user && uri.query().is_none() {
        true => Ok(uri),
        false => Err(OtlpError::Endpoint),
    }
}

/// Reads the certificates that this machine trusts.
fn grpc_endpoint(uri: Uri, deadline: Duration) -> Result<Endpoint, OtlpError> {
    if !matches!(uri.path(), "" | "/") {
        return Err(OtlpError::Endpoint);
    }
    let is_secured = uri.scheme_str() == Some("https");
    let endpoint = Endpoint::from(uri)
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(deadline)
        .http2_keep_alive_interval(KEEP_ALIVE.0)
        .keep_alive_timeout(KEEP_ALIVE.1);
    match is_secured {
        true => endpoint
            .tls_config(ClientTlsConfig::new().with_native_roots())
            .map_err(OtlpError::Tls),
        false => Ok(endpoint),
    }
}

/// Reads the certificates that this machine trusts. A redirect would carry headers elsewhere.
fn http_client(deadline: Duration) -> Result<reqwest::Client, OtlpError> {
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(deadline)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(OtlpError::Http)
}

fn export_timeout() -> Duration {
    let value = traces_variable("TIMEOUT").or_else(|| variable("OTEL_EXPORTER_OTLP_TIMEOUT"));
    let milliseconds = value.and_then(|value| value.parse().ok());
    milliseconds.map_or(EXPORT_TIMEOUT, Duration::from_millis)
}

fn metadata(headers: &[(String, String)]) -> Result<MetadataMap, OtlpError> {
    let mut metadata = MetadataMap::new();
    for (name, value) in headers {
        let name = name.to_ascii_lowercase().parse::<AsciiMetadataKey>();
        let value = value.parse::<AsciiMetadataValue>();
        let (Ok(name), Ok(mut value)) = (name, value) else {
            return Err(OtlpError::Headers);
        };
        value.set_sensitive(true);
        metadata.append(name, value);
    }
    Ok(metadata)
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

    fn open(endpoint: &str, protocol: &str, headers: &str) -> Result<Collector, OtlpError> {
        let resource = Resource::builder_empty().build();
        Collector::new(endpoint, protocol, headers, resource)
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
    fn endpoints_and_headers_are_validated_and_headers_stay_secret() {
        for (good, protocol) in [
            ("http://collector:4317", "grpc"),
            ("https://collector:4317/", ""),
            ("http://collector:4318", "http/protobuf"),
            ("http://collector:4318/otlp/", "http/protobuf"),
        ] {
            assert!(open(good, protocol, "X-Key=hunter2").is_ok(), "{good}");
        }
        let headers = metadata(&pairs("X-Key=hunter2").unwrap()).unwrap();
        assert_eq!(headers.get("x-key").unwrap(), "hunter2");
        assert!(!format!("{headers:?}").contains("hunter2"));
        for bad in [
            "collector:4317",
            "grpc://collector:4317",
            "/v1/traces",
            "http://",
            "http://me:hunter2@collector:4317",
            "http://collector:4317/v1/traces",
        ] {
            let error = open(bad, "grpc", "").err().unwrap();
            assert!(matches!(error, OtlpError::Endpoint), "{bad}");
            assert!(!format!("{error} {error:?}").contains("hunter"), "{bad}");
        }
        for bad in ["hunter2", "a b=hunter2", "key=hunter%0a2"] {
            let error = open("http://collector:4317", "grpc", bad).err().unwrap();
            assert!(matches!(error, OtlpError::Headers), "{bad}");
            assert!(!format!("{error} {error:?}").contains("hunter"), "{bad}");
        }
    }

    #[test]
    fn the_general_endpoint_gets_the_path_of_traces_over_http() {
        let collector = open("http://collector:4318/otlp/", "http/protobuf", "").unwrap();
        let Transport::Http { url, .. } = collector.transport else {
            panic!("not HTTP");
        };
        assert_eq!(url, "http://collector:4318/otlp/v1/traces");
    }
}
