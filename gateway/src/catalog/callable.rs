//! Which tools a caller may call, and why not another.

use std::sync::Arc;

use archway_proto::{catalog::ToolEntry, refused_by::RefusedBy};

use super::{Tool, ToolSet};
use crate::{caller::Principal, error::GatewayError};

/// Why a caller may not call a tool.
pub(crate) struct RefusedTool {
    /// The tool's name, if there is one: for operators.
    pub(crate) tool: Option<Arc<str>>,
    /// What refused it: for operators.
    pub(crate) refused_by: RefusedBy,
    /// What the caller reads.
    pub(crate) error: GatewayError,
}

impl ToolSet {
    /// The tool of this name if the caller may call it, without a reason otherwise.
    pub(crate) fn callable(&self, who: &Principal, name: &str) -> Option<&Arc<Tool>> {
        let tool = self.tools.get(*self.by_name.get(name)?)?;
        is_callable(who, tool).then_some(tool)
    }

    /// The tool of this name if the caller may call it. The caller reads the same of a tool outside its families as of
    /// one that does not exist.
    pub(crate) fn find(&self, who: &Principal, name: &str) -> Result<Arc<Tool>, RefusedTool> {
        let tool = self.by_name.get(name);
        let Some(tool) = tool.and_then(|index| self.tools.get(*index)) else {
            return Err(RefusedTool {
                tool: None,
                refused_by: RefusedBy::new("unknown tool"),
                error: self.unknown(who, name),
            });
        };
        let ToolEntry { family, scope, .. } = &tool.entry;
        let (refused_by, error) = match who.covers_family(family) {
            false => (who.family_hidden_by(family), self.unknown(who, name)),
            true if who.holds(*scope) => return Ok(tool.clone()),
            true => {
                let lacked = format!("no scope {}", scope.name());
                (RefusedBy::new(&lacked), who.lacks(*scope))
            }
        };
        Err(RefusedTool {
            tool: Some(tool.label.clone()),
            refused_by,
            error,
        })
    }

    /// Suggests only tools that the caller may call, so that guessing reveals no names.
    fn unknown(&self, who: &Principal, name: &str) -> GatewayError {
        let known = || self.visible(who).map(|tool| tool.entry.name.as_str());
        let hint = match archway_proto::nearest::to(name, known()) {
            Some(nearest) => format!("did you mean {nearest}?"),
            None if self.gives_nothing(who) => {
                "no tool is given to you: ask the operator for access".to_owned()
            }
            None => "call tools/list for the available tools".to_owned(),
        };
        GatewayError::UnknownTool {
            name: name.to_owned(),
            hint,
        }
    }

    /// Whether the caller may call no tool at all.
    pub(crate) fn gives_nothing(&self, who: &Principal) -> bool {
        self.visible(who).next().is_none()
    }

    /// The tools that the caller may call, in the workers' order.
    pub(crate) fn visible<'a>(&'a self, who: &'a Principal) -> impl Iterator<Item = &'a Arc<Tool>> {
        self.tools.iter().filter(|tool| is_callable(who, tool))
    }
}

fn is_callable(who: &Principal, tool: &Tool) -> bool {
    who.covers_family(&tool.entry.family) && who.holds(tool.entry.scope)
}
