//! The chunks of a work tree, and queries with their answers.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use archway_index::{
    chunk::{Chunk, Kind, chunks},
    chunk_text::{embedding_text, header},
    embed::table::Table,
    terms::Terms,
    vector_store::ChunkLocation,
};
use archway_repo::{Cancel, RepoPath};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    ranks::{Vectors, Words},
    sentence,
};

/// Larger files are data, or generated.
const LARGEST: u64 = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(30);

/// A query and its answer.
pub(crate) struct LabelledQuery {
    pub(crate) repo: String,
    pub(crate) kind: String,
    pub(crate) query: String,
    /// The right files.
    pub(crate) files: Vec<String>,
    /// The right symbol in them; `None` if the files are the answer.
    pub(crate) symbol: Option<String>,
}

/// A chunk.
pub(crate) struct Passage {
    /// The index of its file.
    pub(crate) file: usize,
    pub(crate) location: ChunkLocation,
    /// The first sentence of a function's comment.
    sentence: Option<String>,
}

/// The chunks of a work tree.
pub(crate) struct Corpus {
    pub(crate) paths: Vec<String>,
    /// The first chunk of each file.
    pub(crate) first: Vec<usize>,
    pub(crate) passages: Vec<Passage>,
    pub(crate) words: Words,
    pub(crate) vectors: Vectors,
}

impl Corpus {
    /// Cuts the files below `root`; without the comments of functions if it is `bare`.
    pub(crate) fn read(root: &Path, table: &Table, bare: bool) -> Self {
        let (mut paths, mut first, mut passages) = (Vec::new(), Vec::new(), Vec::new());
        let (mut terms, mut vectors) = (Vec::new(), Vec::new());
        for file in files(root) {
            let relative = file.strip_prefix(root).ok().and_then(Path::to_str);
            let parsed = relative.and_then(|path| RepoPath::parse(path).ok());
            let (Some(path), Some(parsed), Ok(text)) =
                (relative, parsed, fs::read_to_string(&file))
            else {
                continue;
            };
            first.push(passages.len());
            let cancel = Cancel::new(Instant::now() + PATIENCE, CancellationToken::new());
            for chunk in
                chunks(&parsed, text.as_bytes(), &cancel).expect("no more than 30 s a file")
            {
                let (passage, content) = passage(paths.len(), &text, chunk, bare);
                let (parent, symbol) = (
                    passage.location.parent.as_deref(),
                    passage.location.symbol.as_deref(),
                );
                terms.push(Terms::of(&header(path, parent, symbol), &content));
                vectors.push(table.encode(&embedding_text(parent, symbol, &content)));
                passages.push(passage);
            }
            paths.push(path.to_owned());
        }
        Self {
            paths,
            first,
            passages,
            words: Words::of(&terms),
            vectors: Vectors(vectors),
        }
    }

    /// At most so many sentences that mean a single function, evenly distributed.
    pub(crate) fn comments(&self, most: usize) -> Vec<LabelledQuery> {
        let mut meant: HashMap<&str, HashSet<(usize, &Option<String>)>> = HashMap::new();
        for passage in &self.passages {
            if let Some(sentence) = &passage.sentence {
                let means = meant.entry(sentence).or_default();
                means.insert((passage.file, &passage.location.symbol));
            }
        }
        let clear = self.passages.iter().filter_map(|passage| {
            let sentence = passage.sentence.as_deref()?;
            (meant[sentence].len() == 1).then(|| LabelledQuery {
                repo: String::new(),
                kind: "comment".to_owned(),
                query: sentence.to_owned(),
                files: vec![self.paths[passage.file].clone()],
                symbol: passage.location.symbol.clone(),
            })
        });
        let clear: Vec<_> = clear.collect();
        let step = clear.len().div_ceil(most).max(1);
        clear.into_iter().step_by(step).collect()
    }
}

fn passage(file: usize, text: &str, chunk: Chunk, bare: bool) -> (Passage, String) {
    let line = |at: usize| {
        text.get(..at)
            .map_or(0, |before| before.matches('\n').count())
    };
    let is_function = matches!(chunk.kind, Kind::Function | Kind::Method);
    let doc = chunk.doc.clone().filter(|_| is_function && bare);
    let removed = doc.clone().unwrap_or(chunk.bytes.start..chunk.bytes.start);
    let before = text
        .get(chunk.bytes.start..removed.start)
        .unwrap_or_default();
    let after = text.get(removed.end..chunk.bytes.end).unwrap_or_default();
    let content = format!("{before}{after}");
    let lines = (
        line(chunk.bytes.start) as u32 + 1,
        line(chunk.bytes.end.max(1) - 1) as u32 + 1,
    );
    let sentence = doc.and_then(|doc| sentence::first(text.get(doc)?));
    let passage = Passage {
        file,
        sentence: sentence.filter(|_| content.trim().lines().count() > 1),
        location: ChunkLocation {
            kind: chunk.kind,
            symbol: chunk.symbol,
            parent: chunk.parent,
            bytes: (chunk.bytes.start as u32, chunk.bytes.end as u32),
            lines,
            declaration: chunk.declaration,
        },
    };
    (passage, content)
}

/// A blob that stands for a file.
pub(crate) fn blob(file: usize) -> [u8; 20] {
    let mut blob = [0; 20];
    for (to, from) in blob.iter_mut().zip((file as u32).to_be_bytes()) {
        *to = from;
    }
    blob
}

/// The file that a blob stands for.
pub(crate) fn file(blob: &[u8; 20]) -> usize {
    blob.iter()
        .take(4)
        .fold(0, |file, byte| file << 8 | usize::from(*byte))
}

/// The queries of a file of JSON lines.
pub(crate) fn set(path: &Path) -> Vec<LabelledQuery> {
    let text = fs::read_to_string(path).expect("a set");
    let query = |line: &str| {
        let value: Value = serde_json::from_str(line).expect("a line of JSON");
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let files = value["files"].as_array().expect("files").iter();
        LabelledQuery {
            repo: text("repo").expect("repo"),
            kind: text("kind").expect("kind"),
            query: text("query").expect("query"),
            files: files
                .filter_map(|file| Some(file.as_str()?.to_owned()))
                .collect(),
            symbol: text("symbol"),
        }
    };
    text.lines().map(query).collect()
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
        if name.starts_with('.') || ["node_modules", "target", "vendor", "dist"].contains(&&*name) {
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
