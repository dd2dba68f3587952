//! `archway healthcheck`: is the gateway or worker behind an admin port ready?
//!
//! For container health checks and scripts: it ends with 0 if so, else with 1, and says why.

use std::io::{self, Write};
use std::time::Duration;

use http::Uri;
use serde::Serialize;

use crate::http_get::{self, HttpGetError};

/// How long the process may take to say that it is ready.
const LIMIT: Duration = Duration::from_secs(2);

/// What `archway healthcheck` is told.
#[derive(Debug, clap::Args)]
pub struct HealthcheckArgs {
    /// The admin port that is asked, as `http://host:port`: a gateway's is 9090 by default, a
    /// worker's 9091.
    #[arg(
        long,
        env = "ARCHWAY_ADMIN_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:9090",
        value_parser = admin_url
    )]
    admin_url: Uri,
    /// Print the answer as one line of JSON: `{"ready", "reason"}`.
    #[arg(long)]
    json: bool,
}

/// Why the check failed.
#[derive(Debug, thiserror::Error)]
pub enum HealthcheckError {
    /// It answers, and is not ready.
    #[error("not ready: {0}")]
    NotReady(String),
    /// It does not answer.
    #[error("not ready")]
    Unreachable(#[from] HttpGetError),
    /// Nowhere to print.
    #[error("writing to standard output")]
    Output(#[source] io::Error),
}

#[derive(Serialize)]
struct Answer<'a> {
    ready: bool,
    reason: &'a str,
}

/// Runs the command.
pub async fn run(args: HealthcheckArgs) -> Result<(), HealthcheckError> {
    let asked = http_get::get(&args.admin_url, LIMIT).await;
    let reason = match &asked {
        Ok((_, body)) => body.trim().to_owned(),
        Err(error) => error.to_string(),
    };
    let ready = matches!(&asked, Ok((status, _)) if status.is_success());
    if args.json {
        let answer = Answer {
            ready,
            reason: &reason,
        };
        print(&serde_json::json!(answer).to_string())?;
    } else if ready {
        print(&reason)?;
    }
    asked?;
    if ready {
        Ok(())
    } else {
        Err(HealthcheckError::NotReady(reason))
    }
}

fn print(line: &str) -> Result<(), HealthcheckError> {
    writeln!(io::stdout().lock(), "{line}").map_err(HealthcheckError::Output)
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
    use super::*;

    #[test]
    fn whatever_path_is_given_it_is_readyz_that_is_asked() {
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
}
