//! Whom a tool asks what no repository says.

use archway_index::meaning::Meaning;

use super::ToolContext;
use crate::chat::Chat;

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
