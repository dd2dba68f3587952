//! Reads the texts of results from the commit that was indexed, one project at a time.

use archway_history::HistoryError;
use archway_index::chunk::DeclarationPlace;
use archway_proto::failure::Failure;
use archway_repo::{Cancel, Kind, Repo, RepoError, RepoPath, Stopped};
use archway_store::Source;

use super::declaration::{Declaration, Extent, in_declaration};
use super::last_commit::{LastCommit, last_commits};
use super::ranked::Ranked;
use crate::projects::Project;
use crate::tools::{Snapshot, ToolContext};

/// Maximum size in bytes of a file whose text is read. Larger files are not indexed.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Maximum number of commits that are counted as missing in an index.
const MAX_BEHIND: usize = 1000;

/// The texts of one project.
pub(super) struct ProjectTexts {
    /// One text for each piece, in order.
    pub(super) texts: Vec<Content>,
    pub(super) behind: Option<u64>,
}

/// The content of a result. `None` if it can't be read any more.
pub(super) type Content = Option<Text>;

/// A text of a result.
pub(super) struct Text {
    pub(super) content: String,
    /// The file differs in the work tree.
    pub(super) stale: bool,
    pub(super) last_line: Option<u32>,
    pub(super) part_of: Option<Declaration>,
    pub(super) last_commit: Option<LastCommit>,
}

/// A part of a file.
pub(super) struct Piece {
    path: RepoPath,
    blob: gix::ObjectId,
    declaration: Option<DeclarationPlace>,
    extent: Extent,
}

/// Reads some pieces of one project, and counts the commits since `indexed`.
pub(super) async fn read_project(
    cx: &ToolContext,
    project: &Project,
    pieces: Vec<Piece>,
    indexed: Option<String>,
) -> Result<Snapshot<ProjectTexts>, Failure> {
    let histories = cx.histories();
    let read = move |repo: &Repo, cancel: &Cancel| {
        // Without readable content there would be no results, which would be a wrong answer.
        if let (Some(why), Some(_)) = (repo.git_refused(), &indexed) {
            return Err(HistoryError::UnusableRepository { why }.into());
        }
        let mut read = texts(repo, &pieces, indexed.as_deref(), cancel)?;
        let files = pieces.iter().map(|piece| (&piece.path, piece.blob));
        let files: Vec<_> = files.collect();
        let commits = last_commits(repo, &histories, &files, cancel);
        for (text, commit) in read.texts.iter_mut().zip(commits) {
            if let Some(text) = text {
                text.last_commit = commit;
            }
        }
        Ok(read)
    };
    cx.read(project, read).await
}

pub(super) fn note_content(found: &Ranked) -> Content {
    let note = found.note.as_ref()?;
    Some(Text {
        content: note.content.clone(),
        stale: false,
        last_line: None,
        part_of: None,
        last_commit: None,
    })
}

pub(super) fn piece(found: &Ranked) -> Option<Piece> {
    let location = &found.candidate.location;
    let (from, to) = location.bytes;
    Some(Piece {
        path: found
            .path
            .clone()
            .filter(|_| found.source == Source::File)?,
        blob: gix::ObjectId::from(found.candidate.blob),
        declaration: location.declaration,
        extent: Extent {
            bytes: from as usize..to as usize,
            lines: location.lines,
        },
    })
}

fn texts(
    repo: &Repo,
    pieces: &[Piece],
    indexed: Option<&str>,
    cancel: &Cancel,
) -> Result<ProjectTexts, RepoError> {
    let rules = repo.rules();
    let mut texts = Vec::with_capacity(pieces.len());
    for piece in pieces {
        cancel.check()?;
        // Paths that were closed after indexing are hidden.
        let is_open = rules.check(&piece.path, Kind::File).is_ok();
        let content = repo.blob(piece.blob, MAX_FILE_BYTES).filter(|_| is_open);
        let text = content.and_then(|content| {
            let extent = piece.extent.clone();
            let (extent, part_of) = match piece.declaration {
                Some(of) => in_declaration(&content, extent, of),
                None => (extent, None),
            };
            let text = content.get(extent.bytes)?;
            let text = String::from_utf8_lossy(text).into_owned();
            Some((text, extent.lines.1, part_of))
        });
        let text = text.map(|(content, last_line, part_of)| {
            Ok::<_, Stopped>(Text {
                content,
                last_line: Some(last_line),
                part_of,
                stale: repo.differs_from(&piece.path, piece.blob, cancel)?,
                last_commit: None,
            })
        });
        texts.push(text.transpose()?);
    }
    let behind = indexed.and_then(|indexed| repo.commits_since(indexed, MAX_BEHIND, cancel));
    Ok(ProjectTexts { texts, behind })
}
