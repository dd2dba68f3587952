//! The service behind a chat model: one question, in the best form that it takes.

mod forms;
mod wire;

use std::time::Duration;

use archway_index::openai::{EndpointError, Failure, ServiceGate, blames_input};
use tokio::time::Instant;

use super::{ChatConfig, ChatError, ChatMetrics, Question};
use forms::Forms;
use wire::{Form, Wire};

/// What the log says where it fails.
const MEANWHILE: &str = "the chat model fails: proposals are held against decisions by rules alone \
                         meanwhile";

/// A service that a chat model answers at.
pub struct ChatService {
    model: String,
    wire: Wire,
    gate: ServiceGate,
    timeout: Duration,
    forms: Forms,
    metrics: ChatMetrics,
}

impl ChatService {
    /// The one that is configured, if one is. It is not asked yet. Call it before the process is
    /// confined, since it reads the key and the certificates of authorities.
    ///
    /// # Errors
    /// If something is missing or can't be used.
    pub fn open(config: &ChatConfig) -> Result<Option<Self>, EndpointError> {
        let Some(config) = config.service()? else {
            return Ok(None);
        };
        let metrics = ChatMetrics::default();
        Ok(Some(ChatService {
            model: config.endpoint.model.clone(),
            wire: Wire::new(&config.endpoint, metrics.clone())?,
            gate: ServiceGate::new(config.timeout, metrics.requests(), MEANWHILE),
            timeout: config.timeout,
            forms: Forms::default(),
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

    /// What it says. A form that it refuses is not tried again for an hour once it took a plainer one.
    pub(super) async fn ask(
        &self,
        question: &Question,
        deadline: Instant,
    ) -> Result<String, ChatError> {
        let first = self.forms.first();
        let mut refused = None;
        for (place, form) in Form::ALL.iter().enumerate().skip(first) {
            // Nobody waits for the end of its pause.
            self.gate.wait_for_pause(Instant::now()).await?;
            let asking = self.wire.ask(question, *form);
            let attempt = self.gate.attempt(asking, deadline, || self.wire.span());
            match attempt.await? {
                Ok(answer) => {
                    self.forms.taken(place);
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
