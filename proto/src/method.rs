//! The MCP methods that a worker answers: a closed list.

/// A method of the `Call` RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The worker's catalogue: `{}` → `{tools: [ToolEntry]}`.
    ToolsList,
    /// One tool: `{name, arguments}` → an MCP `CallToolResult`.
    ToolsCall,
    /// Readable resources: `{cursor?}` → `{resources}`.
    ResourcesList,
    /// URI templates of resources: `{}` → `{resourceTemplates}`.
    ResourceTemplatesList,
    /// One resource: `{uri}` → `{contents}`.
    ResourcesRead,
    /// The prompts: `{cursor?}` → `{prompts}`.
    PromptsList,
    /// One prompt: `{name, arguments?}` → `{description, messages}`.
    PromptsGet,
    /// Completions of an argument: `{ref, argument, context?}` → `{completion}`.
    Complete,
}

impl Method {
    /// All methods.
    pub const ALL: [Method; 8] = [
        Method::ToolsList,
        Method::ToolsCall,
        Method::ResourcesList,
        Method::ResourceTemplatesList,
        Method::ResourcesRead,
        Method::PromptsList,
        Method::PromptsGet,
        Method::Complete,
    ];

    /// The name on the wire, as MCP spells it.
    pub fn name(self) -> &'static str {
        match self {
            Method::ToolsList => "tools/list",
            Method::ToolsCall => "tools/call",
            Method::ResourcesList => "resources/list",
            Method::ResourceTemplatesList => "resources/templates/list",
            Method::ResourcesRead => "resources/read",
            Method::PromptsList => "prompts/list",
            Method::PromptsGet => "prompts/get",
            Method::Complete => "completion/complete",
        }
    }

    /// The method with a wire name, or `None` if workers don't answer it.
    pub fn parse(name: &str) -> Option<Method> {
        Method::ALL.into_iter().find(|method| method.name() == name)
    }
}
