//! The service behind a chat model. Sends one request in the richest form that the service accepts.

mod accepted_form;
mod client;

use std::time::Duration;

use archway_index::openai::{EndpointError, Failure, ServiceGate, blames_input};
use tokio::time::Instant;

use super::{ChatConfig, ChatError, ChatMetrics, ChatRequest};
use accepted_form::AcceptedForm;
use client::{ChatClient, RequestForm};

/// Logged when the circuit opens.
const MEANWHILE: &str = "the chat model fails: until it recovers, proposals are compared with \
                         decisions by rules alone";

/// The service that runs a chat model.
pub struct ChatService {
    model: String,
    client: ChatClient,
    gate: ServiceGate,
    timeout: Duration,
    accepted: AcceptedForm,
    metrics: ChatMetrics,
}

impl ChatService {
    /// Opens the configured service, if any, without a request to it. Call it before the process is
    /// confined, since it reads the key and the certificates of authorities.
    ///
    /// # Errors
    /// If a setting is missing or can't be used.
    pub fn open(config: &ChatConfig) -> Result<Option<Self>, EndpointError> {
        let Some(config) = config.service()? else {
            return Ok(None);
        };
        let metrics = ChatMetrics::default();
        Ok(Some(ChatService {
            model: config.endpoint.model.clone(),
            client: ChatClient::new(&config.endpoint, metrics.clone())?,
            gate: ServiceGate::new(config.timeout, metrics.requests(), MEANWHILE),
            timeout: config.timeout,
            accepted: AcceptedForm::default(),
            metrics,
        }))
    }

    pub(super) fn model(&self) -> &str {
        &self.model
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(crate) fn metrics(&self) -> &ChatMetrics {
        &self.metrics
    }

    /// Returns the model's answer. Once the service accepted a plainer form, richer ones are not
    /// tried for an hour.
    pub(super) async fn send(
        &self,
        request: &ChatRequest,
        deadline: Instant,
    ) -> Result<String, ChatError> {
        let first = self.accepted.first();
        let mut refused = None;
        for (index, form) in RequestForm::ALL.iter().enumerate().skip(first) {
            // Fails if the service asked for a pause, which is not waited out.
            self.gate.wait_for_pause(Instant::now()).await?;
            let sending = self.client.send(request, *form);
            let attempt = self.gate.attempt(sending, deadline, || self.client.span());
            match attempt.await? {
                Ok(answer) => {
                    self.accepted.accept(index);
                    return Ok(answer);
                }
                Err(Failure::Refused { status }) if blames_input(status) => {
                    refused = Some(status);
                }
                Err(failure) => return Err(ChatError::Failed(failure)),
            }
        }
        let status = refused.unwrap_or_default();
        Err(ChatError::Failed(Failure::Refused { status }))
    }
}

#[cfg(test)]
mod tests;
