//! A tool's answer, and its conversion to an MCP result.
//!
//! The gateway adds the text block if it is the same JSON as `structuredContent`, which halves what
//! workers send. A cursor is sent in `_meta`, where the gateway seals it.

mod commit;

use archway_proto::{failure::Failure, fault::Fault, meta, meta::Files};
use archway_repo::{Head, text};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Snapshot;

/// A tool's answer: `structuredContent`, and where it was read from.
#[derive(Debug)]
pub struct Reply<T> {
    body: T,
    /// The slug of the single project that it was read from.
    project: Option<String>,
    /// It comes from a project's memory, which belongs to no commit.
    of_memory: bool,
    head: Option<Head>,
    /// When the mirror was last fetched, in seconds since 1970.
    synced_at: Option<i64>,
    moved: bool,
    warnings: Vec<String>,
    skipped: Vec<String>,
    incomplete: bool,
    projects: Option<Value>,
    refined: Option<Value>,
    cursor: Option<String>,
    markdown: Option<String>,
    verbatim: bool,
    whole_files: Vec<String>,
    files: Files,
}

impl<T: Serialize> Reply<T> {
    /// An answer from no repository, or from several.
    pub fn new(body: T) -> Self {
        Reply {
            body,
            project: None,
            of_memory: false,
            head: None,
            synced_at: None,
            moved: false,
            warnings: Vec::new(),
            skipped: Vec::new(),
            incomplete: false,
            projects: None,
            refined: None,
            cursor: None,
            markdown: None,
            verbatim: false,
            whole_files: Vec::new(),
            files: Files::default(),
        }
    }

    /// An answer computed from `snapshot`.
    pub fn from_snapshot<S>(snapshot: Snapshot<S>, body: impl FnOnce(S) -> T) -> Self {
        let (head, moved) = (snapshot.repo.head(), snapshot.moved);
        Reply {
            project: Some(snapshot.repo.name().to_owned()),
            head,
            synced_at: snapshot.synced_at,
            moved,
            warnings: snapshot.repo.warnings().to_vec(),
            ..Reply::new(body(snapshot.value))
        }
    }

    /// Declares that it was read from, or written to, the memory of this project.
    #[must_use]
    pub fn of_memory(mut self, project: &str) -> Self {
        self.of_memory = true;
        self.project(Some(project))
    }

    /// Sets the project that it was read from. `None` means none, or several.
    #[must_use]
    pub fn project(mut self, slug: Option<&str>) -> Self {
        self.project = slug.map(str::to_owned);
        self
    }

    /// Declares that its texts are those of this indexed commit, where the work tree is at that
    /// commit or a later one. `None` changes nothing.
    #[must_use]
    pub fn indexed_at(self, commit: Option<String>) -> Self {
        let is_heads = |head: &Head| commit.as_ref().is_none_or(|commit| *commit == head.commit);
        if self.head.as_ref().is_some_and(is_heads) {
            return self;
        }
        self.as_of(commit)
    }

    /// Declares that it was read from this commit instead of HEAD. `None` changes nothing.
    #[must_use]
    pub fn as_of(mut self, commit: Option<String>) -> Self {
        let head = commit.map(|commit| Head {
            commit,
            dirty: None,
        });
        self.head = head.or(self.head);
        self
    }

    /// Declares that it was read from several projects, and so from no single commit.
    #[must_use]
    pub fn of_several(mut self) -> Self {
        self.head = None;
        self.project = None;
        self
    }

    /// Declares that HEAD moved twice while the call ran, if it did.
    #[must_use]
    pub fn moved(mut self, moved: bool) -> Self {
        self.moved |= moved;
        self
    }

    /// Adds warnings to those of the repository's manifest.
    #[must_use]
    pub fn warn(mut self, warnings: Vec<String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// Lists what was left out and why, one sentence each.
    #[must_use]
    pub fn skipped(mut self, skipped: Vec<String>) -> Self {
        self.skipped = skipped;
        self
    }

    /// Adds the outcome of asking a chat model to correct the answer.
    #[must_use]
    pub fn refined(mut self, refined: Option<Value>) -> Self {
        self.refined = refined;
        self
    }

    /// Sets where the next page begins.
    #[must_use]
    pub fn cursor(mut self, cursor: Option<String>) -> Self {
        self.cursor = cursor;
        self
    }

    /// Replaces the JSON of the text block by a contract's markdown.
    #[must_use]
    pub fn markdown(mut self, markdown: String) -> Self {
        self.markdown = Some(markdown);
        self
    }

    /// Leaves `structuredContent` unescaped, for programs that compare it. Text that others wrote
    /// is then escaped only in the text block, which is otherwise the same JSON.
    #[must_use]
    pub fn verbatim(mut self) -> Self {
        self.verbatim = true;
        self
    }

    /// Lists the fields that hold a file from its first byte, as JSON pointers. A byte order mark
    /// is preserved there and escaped everywhere else.
    #[must_use]
    pub fn whole_files(mut self, pointers: impl IntoIterator<Item = String>) -> Self {
        self.whole_files.extend(pointers);
        self
    }

    /// Lists the files whose text is in the answer, as project paths, for the audit record.
    #[must_use]
    pub fn of_files<P: AsRef<str>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        for path in paths {
            self.files.add(path.as_ref());
        }
        self
    }

    /// Declares that the deadline cut the answer short.
    #[must_use]
    pub fn incomplete(mut self, incomplete: bool) -> Self {
        self.incomplete = incomplete;
        self
    }

    /// Sets `{searched, remaining, skipped}` of an answer from every project.
    #[must_use]
    pub fn projects(mut self, projects: Option<Value>) -> Self {
        self.projects = projects;
        self
    }

    /// Converts to the MCP result. This escapes text that others wrote, once, for every tool.
    pub(super) fn into_result(self, untrusted: bool) -> Result<Value, Failure> {
        let mut body = serde_json::to_value(&self.body).map_err(|error| {
            tracing::error!(%error, "a tool's output is not valid JSON");
            Failure::new(
                Fault::InternalError,
                "the answer could not be encoded",
                "try again",
            )
        })?;
        let as_written = self.verbatim.then(|| body.clone());
        let escaped = if untrusted { self.escape(&mut body) } else { 0 };
        let meta_fields = self.meta_fields(untrusted, escaped);
        let escaped_text = as_written.as_ref().filter(|_| escaped > 0);
        let escaped_text = escaped_text.map(|_body| body.to_string());
        let data = as_written.unwrap_or(body);
        let mut result = json!({ "structuredContent": data, "_meta": meta_fields });
        if let Some(escaped_text) = escaped_text {
            result["content"] = json!([{ "type": "text", "text": escaped_text }]);
        }
        if let Some(markdown) = &self.markdown {
            let (text, _count) = match untrusted {
                true => text::escape(markdown),
                false => (markdown.as_str().into(), 0),
            };
            result["content"] = json!([{ "type": "text", "text": text }]);
        }
        Ok(result)
    }

    /// Escapes all of `body`. Returns the number of escaped characters.
    fn escape(&self, body: &mut Value) -> u64 {
        let mut contents = Vec::new();
        let mut escaped = 0;
        for pointer in &self.whole_files {
            let Some(Value::String(content)) = body.pointer_mut(pointer).map(Value::take) else {
                continue;
            };
            let (escaped_text, count) = text::escape_file(&content);
            contents.push((pointer, escaped_text.into_owned()));
            escaped += count;
        }
        escaped += text::escape_json(body);
        for (pointer, content) in contents {
            if let Some(value) = body.pointer_mut(pointer) {
                *value = content.into();
            }
        }
        escaped
    }

    /// The entries of `_meta`.
    fn meta_fields(&self, untrusted: bool, escaped: u64) -> Map<String, Value> {
        let mut meta_fields = Map::new();
        let mut add = |name: &str, is_present: bool, value: Value| {
            if is_present {
                meta_fields.insert(name.to_owned(), value);
            }
        };
        let head = self.head.as_ref();
        let head = head.map_or(Value::Null, |head| commit::commit(head, self.synced_at));
        add(meta::COMMIT, !self.of_memory, head);
        add(meta::PROJECT, self.project.is_some(), json!(self.project));
        add(meta::UNTRUSTED, untrusted, true.into());
        add(meta::ESCAPED, escaped > 0, escaped.into());
        add(meta::MOVED, self.moved, true.into());
        add(
            meta::WARNINGS,
            !self.warnings.is_empty(),
            json!(self.warnings),
        );
        let skipped: Vec<_> = self.skipped.iter().map(|it| text::escape(it).0).collect();
        add(meta::SKIPPED, !skipped.is_empty(), json!(skipped));
        add(
            meta::PROJECTS,
            self.projects.is_some(),
            json!(self.projects),
        );
        add(meta::REFINED, self.refined.is_some(), json!(self.refined));
        add(meta::INCOMPLETE, self.incomplete, "deadline".into());
        add(meta::CURSOR, self.cursor.is_some(), json!(self.cursor));
        add(meta::FILES, !self.files.is_empty(), json!(self.files));
        meta_fields
    }
}

impl<T: Serialize> Reply<T> {
    /// Converts to the result of a method other than a tool call: the members of the body itself.
    /// All of it is treated as text that others wrote.
    pub(crate) fn into_answer(self) -> Result<Value, Failure> {
        let mut result = self.into_result(true)?;
        let mut answer = match result.get_mut("structuredContent").map(Value::take) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        };
        let meta_fields = result.get_mut("_meta").map(Value::take);
        answer.insert("_meta".to_owned(), meta_fields.unwrap_or_default());
        Ok(Value::Object(answer))
    }
}
