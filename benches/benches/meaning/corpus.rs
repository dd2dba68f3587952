//! The functions of a repository, and queries for them.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use archway_index::chunk::{Chunk, Kind, chunks};
use archway_repo::{Cancel, RepoPath};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::sentence;

/// Larger files are data, or generated.
const LARGEST: u64 = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(30);

/// Identifies a function: path, owner, name.
pub(crate) type Name = (String, Option<String>, Option<String>);

/// A function, or a part of a long one, without its comment.
pub(crate) struct Function {
    pub(crate) path: String,
    pub(crate) name: Name,
    pub(crate) text: String,
}

impl Function {
    pub(crate) fn parent(&self) -> Option<&str> {
        self.name.1.as_deref()
    }

    pub(crate) fn symbol(&self) -> Option<&str> {
        self.name.2.as_deref()
    }
}

/// A query, and the function that it means.
pub(crate) struct MeaningQuery {
    pub(crate) sentence: String,
    pub(crate) name: Name,
}

/// Documents and queries.
#[derive(Default)]
pub(crate) struct Corpus {
    pub(crate) chunks: Vec<Function>,
    pub(crate) questions: Vec<MeaningQuery>,
    bytes: usize,
    cut: Duration,
}

impl Corpus {
    /// The functions below `root`, with at most this many queries, evenly distributed.
    pub(crate) fn read(root: &Path, most: usize) -> Self {
        let mut corpus = Self::default();
        for file in files(root) {
            corpus.take(root, &file);
        }
        corpus.keep(most);
        corpus
    }

    fn take(&mut self, root: &Path, file: &Path) {
        let relative = file.strip_prefix(root).ok().and_then(Path::to_str);
        let parsed = relative.and_then(|path| RepoPath::parse(path).ok());
        let (Some(relative), Some(path), Ok(text)) = (relative, parsed, fs::read_to_string(file))
        else {
            return;
        };
        let started = Instant::now();
        let cancel = Cancel::new(started + PATIENCE, CancellationToken::new());
        let chunks = chunks(&path, text.as_bytes(), &cancel).expect("no more than 30 s a file");
        self.cut += started.elapsed();
        self.bytes += text.len();
        for chunk in &chunks {
            if matches!(chunk.kind, Kind::Function | Kind::Method) {
                self.function(relative, &text, chunk);
            }
        }
    }

    fn function(&mut self, path: &str, text: &str, chunk: &Chunk) {
        let name = (path.to_owned(), chunk.parent.clone(), chunk.symbol.clone());
        let doc = chunk
            .doc
            .clone()
            .unwrap_or(chunk.bytes.start..chunk.bytes.start);
        let sentence = sentence::first(text.get(doc.clone()).unwrap_or_default());
        let before = text.get(chunk.bytes.start..doc.start).unwrap_or_default();
        let after = text.get(doc.end..chunk.bytes.end).unwrap_or_default();
        let code = format!("{before}{after}");
        // A declaration cannot be distinguished from others with its name.
        if let Some(sentence) = sentence
            && code.trim().lines().count() > 1
        {
            self.questions.push(MeaningQuery {
                sentence,
                name: name.clone(),
            });
        }
        self.chunks.push(Function {
            path: path.to_owned(),
            name,
            text: code,
        });
    }

    /// Keeps only queries that mean a single function.
    fn keep(&mut self, most: usize) {
        let mut meant: HashMap<&str, HashSet<&Name>> = HashMap::new();
        for question in &self.questions {
            let names = meant.entry(&question.sentence).or_default();
            names.insert(&question.name);
        }
        let clear: Vec<_> = self
            .questions
            .iter()
            .map(|question| meant[question.sentence.as_str()].len() == 1)
            .collect();
        let count = clear.iter().filter(|&&clear| clear).count();
        let step = count.div_ceil(most.max(1)).max(1);
        self.questions = std::mem::take(&mut self.questions)
            .into_iter()
            .zip(clear)
            .filter_map(|(question, clear)| clear.then_some(question))
            .step_by(step)
            .collect();
    }

    /// Prints what was read, and the speed of one thread.
    pub(crate) fn report(&self, counted: Duration, embedded: Duration) {
        let read = self.bytes as f64 / 1e6;
        let text: usize = self.chunks.iter().map(|chunk| chunk.text.len()).sum();
        let text = text as f64 / 1e6;
        println!(
            "\n{read:.1} MB, {} chunks of functions; cut {:.1} MB/s, words {:.1} MB/s, vectors {:.1} MB/s, {:.0} a second",
            self.chunks.len(),
            read / self.cut.as_secs_f64(),
            text / counted.as_secs_f64(),
            text / embedded.as_secs_f64(),
            self.chunks.len() as f64 / embedded.as_secs_f64(),
        );
    }
}

/// The files below a folder, in order, without hidden, installed and generated ones.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || ["node_modules", "target", "vendor"].contains(&&*name) {
            continue;
        }
        match fs::symlink_metadata(&path) {
            Ok(data) if data.is_dir() => files.extend(self::files(&path)),
            Ok(data) if data.is_file() && data.len() <= LARGEST => files.push(path),
            _ => {}
        }
    }
    files
}
