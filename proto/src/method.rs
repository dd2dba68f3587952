//! The MCP methods a worker answers: a closed list.

/// A method of the `Call` RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The worker's catalogue: `{}` → `{tools: [ToolEntry]}`.
    ToolsList,
    /// One tool: `{name, arguments}` → an MCP `CallToolResult`.
    ToolsCall,
}

impl Method {
    /// The name on the wire, as MCP spells it.
    pub fn name(self) -> &'static str {
        match self {
            Method::ToolsList => "tools/list",
            Method::ToolsCall => "tools/call",
        }
    }

    /// The method of a wire name, or `None` if a worker does not answer it.
    pub fn parse(name: &str) -> Option<Method> {
        [Method::ToolsList, Method::ToolsCall]
            .into_iter()
            .find(|method| method.name() == name)
    }
}
