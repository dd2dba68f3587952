//! The transport below the client: one attempt, an answer of bounded size, and no body of a
//! rejection.
//!
//! By default, `async_openai` retries as it sees fit, reads bodies of any size, and logs those it
//! does not understand. A service that echoes its input would thereby put source code into the log.
//! So a rejection ends here, with its status alone.

use std::task::{Context, Poll};

use async_openai::{error::OpenAIError, middleware::HttpRequestFactory};
use futures::future::BoxFuture;
use reqwest::{Client, Response};
use tower::Service;

use super::failure::{Failure, Unreadable};

/// Sends one HTTP request.
#[derive(Clone)]
pub(super) struct Transport {
    pub(super) http: Client,
    /// Largest answer, in bytes.
    pub(super) most: usize,
}

impl Service<HttpRequestFactory> for Transport {
    type Response = Response;
    type Error = OpenAIError;
    type Future = BoxFuture<'static, Result<Response, OpenAIError>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequestFactory) -> Self::Future {
        let transport = self.clone();
        Box::pin(async move {
            let answer = transport.answer(request.build().await?).await;
            answer.map_err(|failure| OpenAIError::Boxed(Box::new(failure)))
        })
    }
}

impl Transport {
    /// The whole answer, if its status is a success.
    async fn answer(&self, request: reqwest::Request) -> Result<Response, Failure<Unreadable>> {
        let mut response = self.http.execute(request).await.map_err(unreachable)?;
        if !response.status().is_success() {
            return Err(Failure::of(response.status(), response.headers()));
        }
        let mut body = Vec::new();
        while let Some(part) = response.chunk().await.map_err(unreachable)? {
            if body.len() + part.len() > self.most {
                return Err(Unreadable::TooLong { most: self.most }.into());
            }
            body.extend_from_slice(&part);
        }
        Ok(http::Response::new(body).into())
    }
}

/// Drops the URL, which may carry more than readers of the log should see.
fn unreachable(error: reqwest::Error) -> Failure<Unreadable> {
    Failure::Unreachable(Box::new(error.without_url()))
}
