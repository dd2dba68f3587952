//! How the suites call each tool: the one table of sample arguments.
//!
//! A new tool gets one entry in the table, in its family's function. From it the suites check the tool's answers
//! against its schema, attack it across tenants, projects and paths, and run it on a hostile repository.
//! [`of_listed`] fails for a tool that the gateway lists and this table lacks.

mod table;

use serde_json::{Value, json};

use crate::{Client, Repo};
pub use table::table;

/// A word in each file of [`fixture`]. No sample call contains it, so an answer that contains it shows
/// content of the repository.
pub const CONTENT: &str = "sesame";

/// One tool and its sample calls.
#[derive(Clone, Debug)]
pub struct SampleCalls {
    /// The tool's name.
    pub tool: &'static str,
    /// Arguments of at least one call. Each call succeeds on [`fixture`] once it is indexed, without
    /// `project` where the key reads one project only.
    pub arguments: Vec<Value>,
    /// Whether the tool changes something: it is not listed as read-only.
    pub writes: bool,
    /// Whether `_meta` of an answer about one project names the commit that was read.
    pub names_commit: bool,
    /// The argument that names a path, if there is one.
    pub path: Option<PathArgument>,
}

/// An argument that names a file or folder of a project, and what the tool does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathArgument {
    /// Opens it in the work tree, where it may be a symbolic link.
    Opened(&'static str),
    /// Looks it up in commits only.
    InHistory(&'static str),
}

impl PathArgument {
    /// The argument's name.
    pub fn name(self) -> &'static str {
        match self {
            PathArgument::Opened(name) | PathArgument::InHistory(name) => name,
        }
    }
}

impl SampleCalls {
    fn of(tool: &'static str) -> SampleCalls {
        SampleCalls {
            tool,
            arguments: Vec::new(),
            writes: false,
            names_commit: false,
            path: None,
        }
    }

    fn call(mut self, arguments: Value) -> SampleCalls {
        self.arguments.push(arguments);
        self
    }

    fn writes(mut self) -> SampleCalls {
        self.writes = true;
        self
    }

    fn names_commit(mut self) -> SampleCalls {
        self.names_commit = true;
        self
    }

    fn path(mut self, argument: PathArgument) -> SampleCalls {
        self.path = Some(argument);
        self
    }

    /// The arguments of each call, with this project.
    pub fn in_project(&self, slug: &str) -> Vec<Value> {
        let with_project = |mut arguments: Value| {
            arguments["project"] = json!(slug);
            arguments
        };
        self.arguments.iter().cloned().map(with_project).collect()
    }

    /// The first call's arguments with this path, if the tool takes a path.
    pub fn at_path(&self, path: &str) -> Option<Value> {
        let mut arguments = self.arguments[0].clone();
        arguments[self.path?.name()] = json!(path);
        Some(arguments)
    }

    /// The first call's arguments with this path, if the tool opens a path in the work tree.
    pub fn at_opened_path(&self, path: &str) -> Option<Value> {
        let is_opened = matches!(self.path, Some(PathArgument::Opened(_)));
        is_opened.then(|| self.at_path(path)).flatten()
    }
}

/// A repository on which every sample call succeeds. Its two commits follow what `repo` holds already.
pub fn fixture(repo: Repo) -> Repo {
    let pattern = "# Lantern\n\nMUST NOT use `eval`. MUST use `sesame`.\n\n\
                   ```ast-grep\nid: bad\nrule: {}\n```\n";
    let repo = repo.file("treasure.txt", "lantern sesame one\n").commit();
    repo.file("treasure.txt", "lantern sesame one\nlantern sesame two\n")
        .file("docs/treasure.md", "lantern sesame\n".repeat(200))
        .file("docs/latin.txt", b"sesame \xe9")
        .file("src/broken.js", "import './imported'; let = ; // sesame\n")
        .file("src/imported.js", "// sesame\n")
        .file("docs/adr/0001-lantern.md", "# Lantern\n\nlantern sesame.\n")
        .file("docs/architecture/patterns/lantern.md", pattern)
        .commit()
}

/// The sample calls of each tool that the gateway lists to this client, in the order of the list. Panics
/// with what to write, and where, if the table and the list differ.
pub async fn of_listed(client: &Client) -> Vec<SampleCalls> {
    let list = client.rpc("tools/list", json!({})).await.json();
    let listed = list["result"]["tools"].as_array().expect("a list of tools");
    let mistakes = mistakes(listed);
    assert!(mistakes.is_empty(), "\n{}\n", mistakes.join("\n"));
    let table = table();
    let of = |tool: &Value| table.iter().find(|samples| tool["name"] == samples.tool);
    listed.iter().filter_map(of).cloned().collect()
}

/// Names of arguments that are paths, whichever tool has them.
const PATHS: [&str; 3] = ["path", "file_path", "directory"];

/// What the table lacks, or has in vain, for tools as the gateway lists them: a sentence each.
pub fn mistakes(listed: &[Value]) -> Vec<String> {
    let table = table();
    let mut mistakes = Vec::new();
    for tool in listed {
        let name = tool["name"].as_str().expect("a name");
        let Some(samples) = table.iter().find(|samples| samples.tool == name) else {
            mistakes.push(format!(
                "The gateway lists `{name}`, which has no sample calls. Write \
                 `SampleCalls::of(\"{name}\").call(json!({{ … }}))` into its family's function in \
                 tests/src/sample_calls/table.rs, with arguments that succeed on `fixture()`; add \
                 `.names_commit()`, `.writes()` and `.path(…)` where they are true."
            ));
            continue;
        };
        if samples.arguments.is_empty() {
            mistakes.push(format!(
                "`{name}` has no sample call. Add `.call(json!({{ … }}))` to its entry in \
                 tests/src/sample_calls/table.rs."
            ));
        }
        let stated = samples.path.map(PathArgument::name);
        let takes = |argument: &&str| !tool["inputSchema"]["properties"][*argument].is_null();
        for argument in PATHS.iter().chain(&stated).filter(|it| takes(it)) {
            if stated != Some(*argument) {
                mistakes.push(format!(
                    "`{name}` takes `{argument}`. Add `.path(PathArgument::Opened(\"{argument}\"))`, \
                     or `InHistory` if it reads commits only, to its entry in tests/src/sample_calls/table.rs."
                ));
            }
        }
        if stated.is_some_and(|argument| !takes(&argument)) {
            mistakes.push(format!(
                "`{name}` takes no {stated:?}. Correct `.path(…)` in tests/src/sample_calls/table.rs."
            ));
        }
    }
    let is_unlisted =
        |samples: &&SampleCalls| !listed.iter().any(|tool| tool["name"] == samples.tool);
    mistakes.extend(table.iter().filter(is_unlisted).map(|samples| {
        let tool = samples.tool;
        format!(
            "The gateway lists no `{tool}`. Delete its entry in tests/src/sample_calls/table.rs."
        )
    }));
    mistakes
}
