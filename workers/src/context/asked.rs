//! Whom a tool asks what no repository says.

use super::ToolContext;
use crate::chat::Chat;
use archway_index::meaning::Meaning;

impl ToolContext {
    /// What is asked of the index.
    pub(crate) fn meaning(&self) -> &Meaning {
        &self.doors.meaning
    }

    /// The chat model, where one is set up.
    pub(crate) fn chat(&self) -> Option<&Chat> {
        self.doors.chat.as_ref()
    }
}
