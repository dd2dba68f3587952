//! Finds the prompts of a project: the files of its prompt folders, in the snapshot of the call.

use std::collections::HashSet;

use archway_repo::{Cancel, Repo, RepoError, RepoPath};

use super::builtin;
use super::file::Prompt;

/// The folders of prompts, unless the repository configures others.
const FOLDERS: [&str; 2] = [".archway/prompts", "mcp/prompts"];
/// Maximum number of prompt files of a project.
const MAX_FILES: usize = 50;
/// Maximum size of one file in bytes.
const MAX_BYTES: u64 = 64 << 10;
/// Maximum number of skipped files that are listed.
const MAX_NAMED: usize = 20;

/// The prompts of a project.
#[derive(Debug, Default)]
pub(super) struct ProjectPrompts {
    /// Each prompt with the path of its file.
    pub(super) prompts: Vec<(String, Prompt)>,
    /// Skipped prompts and the reasons, one sentence each.
    pub(super) skipped: Vec<String>,
}

/// Finds the prompts of a project, by folder and path.
///
/// # Errors
/// If the repository can't be read, or the call was stopped.
pub(super) fn find(repo: &Repo, cancel: &Cancel) -> Result<ProjectPrompts, RepoError> {
    let mut found = ProjectPrompts::default();
    let mut names = HashSet::new();
    let at_head = match repo.commit() {
        Some(commit) => repo.as_of(commit)?,
        None => repo.clone(),
    };
    for (number, path) in files(repo, cancel)?.into_iter().enumerate() {
        cancel.check()?;
        let shown = path.display();
        let prompt = match number {
            ..MAX_FILES => read(&at_head, &path),
            _ => Err(format!("a project has at most {MAX_FILES} prompts")),
        };
        let prompt = prompt.and_then(|prompt| match names.insert(prompt.name.clone()) {
            true => Ok(prompt),
            false => Err(format!("another prompt is called {:?}", prompt.name)),
        });
        match prompt {
            Ok(prompt) => found.prompts.push((shown, prompt)),
            Err(why) => found.skip(&shown, &why),
        }
    }
    Ok(found)
}

impl ProjectPrompts {
    fn skip(&mut self, path: &str, why: &str) {
        if self.skipped.len() < MAX_NAMED {
            self.skipped.push(format!("{path} is skipped: {why}"));
        } else if self.skipped.len() == MAX_NAMED {
            self.skipped.push("more files are skipped".to_owned());
        }
    }
}

/// The files that may be prompts: in HEAD's commit, or in the work tree without git.
fn files(repo: &Repo, cancel: &Cancel) -> Result<Vec<RepoPath>, RepoError> {
    let manifest = repo.manifest();
    let folders = manifest.folders().prompts.clone();
    let folders = folders.unwrap_or_else(|| {
        let defaults = FOLDERS.iter();
        defaults
            .map(|folder| RepoPath::trusted(folder.as_bytes()))
            .collect()
    });
    let all = repo.files_within(&folders, cancel)?;
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for folder in &folders {
        let depth = folder.components().count() + 1;
        let is_prompt_file = |path: &&RepoPath| {
            path.is_within(folder)
                && path.components().count() == depth
                && path.name().to_ascii_lowercase().ends_with(b".json")
        };
        let inside = all.iter().map(|(path, _)| path).filter(is_prompt_file);
        found.extend(inside.filter(|path| seen.insert(*path)).cloned());
    }
    Ok(found)
}

fn read(repo: &Repo, path: &RepoPath) -> Result<Prompt, String> {
    let unreadable = || "it can't be read".to_owned();
    let mut file = repo.open(path).map_err(|_error| unreadable())?;
    let read = file.read_at_most(MAX_BYTES);
    let read = read.map_err(|_error| unreadable())?;
    let bytes = read.ok_or_else(|| format!("it has more than {} KiB", MAX_BYTES >> 10))?;
    let prompt = Prompt::parse(&bytes)?;
    match builtin::is_reserved(&prompt.name) {
        true => Err(format!("the name {:?} is a built-in prompt's", prompt.name)),
        false => Ok(prompt),
    }
}
