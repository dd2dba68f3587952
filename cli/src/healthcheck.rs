//! `archway healthcheck`: checks whether the gateway, worker or sync behind an admin port is ready.
//!
//! For container health checks and scripts: it exits with 0 if so, else with 1 and the reason. One image
//! serves all roles, so several ports can be named, and the first one that accepts a connection is used.

use std::time::Duration;

use archway_proto::chain::Chain;
use http::{StatusCode, Uri};
use serde::Serialize;

use crate::http_get::{self, HttpGetError};
use crate::output::{self, OutputError};

/// How long the process may take to answer.
const LIMIT: Duration = Duration::from_secs(2);
/// How many characters of an answer are repeated.
const LONGEST: usize = 1_000;

/// Arguments of `archway healthcheck`.
#[derive(Debug, clap::Args)]
pub struct HealthcheckArgs {
    /// The admin port to check, as `http://host:port`: a gateway's is 9090 by default, a worker's
    /// 9091, sync's 9092. May be repeated, or several separated by commas: the first URL that accepts a
    /// connection is used.
    #[arg(
        long,
        env = "ARCHWAY_ADMIN_URL",
        value_name = "URL",
        value_delimiter = ',',
        default_value = "http://127.0.0.1:9090",
        value_parser = admin_url
    )]
    admin_url: Vec<Uri>,
    /// Print the answer as one line of JSON: `{"ready", "reason"}`.
    #[arg(long)]
    json: bool,
}

/// Why the check failed.
#[derive(Debug, thiserror::Error)]
pub enum HealthcheckError {
    /// The process answers that it is not ready.
    #[error("not ready: {0}")]
    NotReady(String),
    /// The process does not answer.
    #[error("not ready")]
    Unreachable(#[from] HttpGetError),
    /// Standard output cannot be written.
    #[error("writing to standard output")]
    Output(#[source] OutputError),
}

#[derive(Serialize)]
struct ReadinessReport<'a> {
    ready: bool,
    reason: &'a str,
}

/// Runs the command.
pub async fn run(args: HealthcheckArgs) -> Result<(), HealthcheckError> {
    let asked = ask(&args.admin_url).await;
    let reason = reason(&asked);
    let ready = matches!(&asked, Ok((status, _)) if status.is_success());
    if args.json {
        let answer = ReadinessReport {
            ready,
            reason: &reason,
        };
        let answer = serde_json::json!(answer).to_string();
        output::print(&answer, true).map_err(HealthcheckError::Output)?;
    } else if ready {
        output::print(&reason, false).map_err(HealthcheckError::Output)?;
    }
    asked?;
    if ready {
        Ok(())
    } else {
        Err(HealthcheckError::NotReady(reason))
    }
}

/// The reason on one line.
fn reason(asked: &Result<(StatusCode, String), HttpGetError>) -> String {
    match asked {
        // Bounded, because another program may be listening on the port.
        Ok((_, body)) => body.trim().chars().take(LONGEST).collect(),
        Err(error) => Chain(error).to_string(),
    }
}

/// The first answer, or the last error. A port that accepts the connection but does not answer is not
/// skipped: its process may be the one that hangs.
async fn ask(urls: &[Uri]) -> Result<(StatusCode, String), HttpGetError> {
    let mut asked = Err(HttpGetError::Address(Uri::default()));
    for url in urls {
        asked = http_get::get(url, LIMIT).await;
        if !matches!(asked, Err(HttpGetError::Connect { .. })) {
            break;
        }
    }
    asked
}

/// The address of `/readyz` at an admin port.
pub(crate) fn admin_url(text: &str) -> Result<Uri, String> {
    let url: Uri = text.parse().map_err(|_bad| NOT_A_URL.to_owned())?;
    let (Some("http"), Some(authority)) = (url.scheme_str(), url.authority()) else {
        return Err(NOT_A_URL.to_owned());
    };
    let url = Uri::builder()
        .scheme("http")
        .authority(authority.clone())
        .path_and_query("/readyz");
    url.build().map_err(|_bad| NOT_A_URL.to_owned())
}

const NOT_A_URL: &str = "write it as http://host:port";

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    #[test]
    fn any_path_is_replaced_by_readyz() {
        for given in [
            "http://[::1]:9",
            "http://[::1]:9/",
            "http://[::1]:9/healthz",
        ] {
            let url = admin_url(given).unwrap();
            assert_eq!(url.to_string(), "http://[::1]:9/readyz");
        }
        for bad in ["127.0.0.1:9090", "https://host:1", "/readyz", ""] {
            assert!(admin_url(bad).is_err(), "{bad}");
        }
    }

    /// Answers one connection with this status. Returns the address.
    async fn listening(status: &'static str) -> Uri {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            // Answers only after the request arrived.
            let asked = socket.read(&mut [0; 1024]).await;
            assert!(asked.unwrap() > 0);
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            socket.write_all(answer.as_bytes()).await.unwrap();
        });
        url.parse().unwrap()
    }

    #[tokio::test]
    async fn the_first_port_that_accepts_a_connection_is_used() {
        // Bound but not listening, so that no other process gets the port.
        let bound = TcpSocket::new_v4().unwrap();
        bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let silent = format!("http://{}", bound.local_addr().unwrap());
        let silent: Uri = silent.parse().unwrap();
        let status = async |urls: &[Uri]| ask(urls).await.map(|(status, _)| status.as_u16());
        let worker = listening("200 OK").await;
        assert_eq!(status(&[silent.clone(), worker]).await.unwrap(), 200);
        let (ill, well) = (listening("503 no").await, listening("200 OK").await);
        assert_eq!(status(&[ill, well]).await.unwrap(), 503);
        let refused = ask(&[silent.clone(), silent]).await;
        assert!(matches!(refused, Err(HttpGetError::Connect { .. })));
        // For programs as well, with the system's error.
        let reason = reason(&refused);
        assert!(reason.contains("onnection refused"), "{reason}");
    }
}
