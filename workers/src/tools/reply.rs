//! What a tool answers, and the MCP result it becomes.
//!
//! The text block is left to the gateway where it is the same JSON as `structuredContent`, which
//! halves what travels; a cursor travels in `_meta`, for the gateway to seal.

use archway_proto::{failure::Failure, fault::Fault, meta, meta::Files};
use archway_repo::{Head, text};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Snapshot;

/// A tool's answer: `structuredContent`, and what it stands on.
#[derive(Debug)]
pub struct Reply<T> {
    body: T,
    /// The slug of the one project that it was read from.
    project: Option<String>,
    /// It is about a project's memory, which no commit has.
    of_memory: bool,
    head: Option<Head>,
    moved: bool,
    warnings: Vec<String>,
    skipped: Vec<String>,
    incomplete: bool,
    refined: Option<Value>,
    cursor: Option<String>,
    markdown: Option<String>,
    verbatim: bool,
    whole_files: Vec<String>,
    files: Files,
}

impl<T: Serialize> Reply<T> {
    /// An answer that stands on no repository, or on several.
    pub fn new(body: T) -> Self {
        Reply {
            body,
            project: None,
            of_memory: false,
            head: None,
            moved: false,
            warnings: Vec::new(),
            skipped: Vec::new(),
            incomplete: false,
            refined: None,
            cursor: None,
            markdown: None,
            verbatim: false,
            whole_files: Vec::new(),
            files: Files::default(),
        }
    }

    /// An answer made of what was read in `snapshot`.
    pub fn from_snapshot<S>(snapshot: Snapshot<S>, body: impl FnOnce(S) -> T) -> Self {
        let (head, moved) = (snapshot.repo.head(), snapshot.moved);
        Reply {
            project: Some(snapshot.repo.name().to_owned()),
            head,
            moved,
            warnings: snapshot.repo.warnings().to_vec(),
            ..Reply::new(body(snapshot.value))
        }
    }

    /// Says that it was read from, or written to, the memory of this project.
    #[must_use]
    pub fn of_memory(mut self, project: &str) -> Self {
        self.of_memory = true;
        self.project(Some(project))
    }

    /// Says which project it was read from; `None`: from none, or from several.
    #[must_use]
    pub fn project(mut self, slug: Option<&str>) -> Self {
        self.project = slug.map(str::to_owned);
        self
    }

    /// Says that its texts are those of this commit, beside a work tree that stands on it or on a
    /// later one; `None` says nothing.
    #[must_use]
    pub fn indexed_at(self, commit: Option<String>) -> Self {
        let is_heads = |head: &Head| commit.as_ref().is_none_or(|commit| *commit == head.commit);
        if self.head.as_ref().is_some_and(is_heads) {
            return self;
        }
        self.as_of(commit)
    }

    /// Says that it was read from this commit, rather than from where HEAD stands; `None` says
    /// nothing.
    #[must_use]
    pub fn as_of(mut self, commit: Option<String>) -> Self {
        let head = commit.map(|commit| Head {
            commit,
            dirty: None,
        });
        self.head = head.or(self.head);
        self
    }

    /// Says that it was read from several projects, and so from no one commit.
    #[must_use]
    pub fn of_several(mut self) -> Self {
        self.head = None;
        self.project = None;
        self
    }

    /// Says that HEAD moved twice while the call ran, if it did.
    #[must_use]
    pub fn moved(mut self, moved: bool) -> Self {
        self.moved |= moved;
        self
    }

    /// Says what else could not be followed, beside what the repository says about itself.
    #[must_use]
    pub fn warn(mut self, warnings: Vec<String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// Says what is left out and why, a sentence each.
    #[must_use]
    pub fn skipped(mut self, skipped: Vec<String>) -> Self {
        self.skipped = skipped;
        self
    }

    /// Says that a chat model was asked to correct the answer, and what came of it.
    #[must_use]
    pub fn refined(mut self, refined: Option<Value>) -> Self {
        self.refined = refined;
        self
    }

    /// Says where the next page begins.
    #[must_use]
    pub fn cursor(mut self, cursor: Option<String>) -> Self {
        self.cursor = cursor;
        self
    }

    /// Gives the text block other words than the JSON: a contract's markdown.
    #[must_use]
    pub fn markdown(mut self, markdown: String) -> Self {
        self.markdown = Some(markdown);
        self
    }

    /// Leaves the data as it was written, for programs that compare it: what others wrote is escaped
    /// in the text block alone, which is the same JSON otherwise.
    #[must_use]
    pub fn verbatim(mut self) -> Self {
        self.verbatim = true;
        self
    }

    /// Says where, as JSON pointers, what a file holds stands from its first byte on: a byte order mark
    /// stays there, and nowhere else.
    #[must_use]
    pub fn whole_files(mut self, places: impl IntoIterator<Item = String>) -> Self {
        self.whole_files.extend(places);
        self
    }

    /// Says which files' text is in the answer, as paths of the project: for the audit trail.
    #[must_use]
    pub fn of_files<P: AsRef<str>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        for path in paths {
            self.files.add(path.as_ref());
        }
        self
    }

    /// Says that the deadline came first.
    #[must_use]
    pub fn incomplete(mut self, incomplete: bool) -> Self {
        self.incomplete = incomplete;
        self
    }

    /// The MCP result. Text that others wrote is escaped here, once, for every tool.
    pub(super) fn into_result(self, untrusted: bool) -> Result<Value, Failure> {
        let mut body = serde_json::to_value(&self.body).map_err(|error| {
            tracing::error!(%error, "a tool's output is no JSON");
            Failure::new(
                Fault::InternalError,
                "the answer could not be written",
                "try again",
            )
        })?;
        let as_written = self.verbatim.then(|| body.clone());
        let escaped = if untrusted { self.escape(&mut body) } else { 0 };
        let facts = self.facts(untrusted, escaped);
        let shown = as_written.as_ref().filter(|_| escaped > 0);
        let shown = shown.map(|_other| body.to_string());
        let data = as_written.unwrap_or(body);
        let mut result = json!({ "structuredContent": data, "_meta": facts });
        if let Some(shown) = shown {
            result["content"] = json!([{ "type": "text", "text": shown }]);
        }
        if let Some(markdown) = &self.markdown {
            let (text, _counted_in_the_body) = match untrusted {
                true => text::escape(markdown),
                false => (markdown.as_str().into(), 0),
            };
            result["content"] = json!([{ "type": "text", "text": text }]);
        }
        Ok(result)
    }

    /// Escapes all of `body`; how many characters those were.
    fn escape(&self, body: &mut Value) -> u64 {
        let mut contents = Vec::new();
        let mut escaped = 0;
        for place in &self.whole_files {
            let Some(Value::String(content)) = body.pointer_mut(place).map(Value::take) else {
                continue;
            };
            let (shown, count) = text::escape_file(&content);
            contents.push((place, shown.into_owned()));
            escaped += count;
        }
        escaped += text::escape_json(body);
        for (place, content) in contents {
            if let Some(value) = body.pointer_mut(place) {
                *value = content.into();
            }
        }
        escaped
    }

    /// What the result says of itself, for `_meta`.
    fn facts(&self, untrusted: bool, escaped: u64) -> Map<String, Value> {
        let mut facts = Map::new();
        let mut say = |name: &str, said: bool, value: Value| {
            if said {
                facts.insert(name.to_owned(), value);
            }
        };
        let head = self.head.as_ref().map_or(Value::Null, commit);
        say(meta::COMMIT, !self.of_memory, head);
        say(meta::PROJECT, self.project.is_some(), json!(self.project));
        say(meta::UNTRUSTED, untrusted, true.into());
        say(meta::ESCAPED, escaped > 0, escaped.into());
        say(meta::MOVED, self.moved, true.into());
        say(
            meta::WARNINGS,
            !self.warnings.is_empty(),
            json!(self.warnings),
        );
        let skipped: Vec<_> = self.skipped.iter().map(|it| text::escape(it).0).collect();
        say(meta::SKIPPED, !skipped.is_empty(), json!(skipped));
        say(meta::REFINED, self.refined.is_some(), json!(self.refined));
        say(meta::INCOMPLETE, self.incomplete, "deadline".into());
        say(meta::CURSOR, self.cursor.is_some(), json!(self.cursor));
        say(meta::FILES, !self.files.is_empty(), json!(self.files));
        facts
    }
}

impl<T: Serialize> Reply<T> {
    /// The result of a method that is no call of a tool: the body's members themselves. All of it
    /// is taken for text that others wrote.
    pub(crate) fn into_answer(self) -> Result<Value, Failure> {
        let mut result = self.into_result(true)?;
        let mut answer = match result.get_mut("structuredContent").map(Value::take) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        };
        let facts = result.get_mut("_meta").map(Value::take);
        answer.insert("_meta".to_owned(), facts.unwrap_or_default());
        Ok(Value::Object(answer))
    }
}

/// `{id, dirty?}`: `dirty` is absent until the first status is known.
pub(super) fn commit(head: &Head) -> Value {
    match head.dirty {
        Some(dirty) => json!({ "id": head.commit, "dirty": dirty }),
        None => json!({ "id": head.commit }),
    }
}
