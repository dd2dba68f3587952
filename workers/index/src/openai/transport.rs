//! What carries the client's requests: one attempt each, an answer of bounded size, and nothing of
//! a refusal's body.
//!
//! What a reader would get wrong: left to itself the client asks again as it sees fit, reads
//! bodies of any size, and writes those that it does not understand to the log: a service that
//! echoes what it was sent would put source code there. So a refusal ends here, by its status alone.

use std::task::{Context, Poll};

use async_openai::{error::OpenAIError, middleware::HttpRequestFactory};
use futures::future::BoxFuture;
use reqwest::{Client, Response};
use tower::Service;

use super::failure::{Failure, Unreadable};

/// One attempt by HTTP.
#[derive(Clone)]
pub(super) struct Transport {
    pub(super) http: Client,
    /// What an answer may take, in bytes.
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
    /// The answer of a service that did what it was asked, read to its end.
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

/// Without its address, which may say more than whoever reads the log should know.
fn unreachable(error: reqwest::Error) -> Failure<Unreadable> {
    Failure::Unreachable(Box::new(error.without_url()))
}
