//! `git_diff` against `git diff`: files and counts, patches that apply, and the work tree.

use std::fs;

use rand::{Rng, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Value, json};

use super::{Comparison, Side, git::FileDifference, patches, shown, subjects::Subjects};

#[tokio::test]
async fn a_diff_counts_what_git_counts_and_its_patches_make_the_same_files() {
    let mut comparison = Comparison::begin().await;
    let (mut compared, mut applied) = (0, 0);
    for side in &comparison.sides {
        let matter = Subjects::of(&side.git);
        for _ in 0..comparison.questions {
            let (base, head) = pair(&mut comparison.random, side, &matter);
            let mut arguments = json!({ "project": side.project, "ref1": base, "ref2": head });
            let mut theirs = side.git.diff(&[&base, &head]);
            arguments["context_lines"] = json!([0, 1, 3, 3, 3, 20].choose(&mut comparison.random));
            if comparison.random.random_bool(0.3)
                && let Some(one) = theirs.choose(&mut comparison.random).cloned()
            {
                arguments["file_path"] = json!(shown(&one.changed.path));
                theirs.retain(|file| is_about(file, &one));
            }
            compared += theirs.len();
            match ask(side, &arguments, &theirs).await {
                Err(difference) => comparison.differences.push(difference),
                Ok(None) => comparison.renames_cut += 1,
                Ok(Some(data)) => match patches::apply(&side.git, &base, &data, &theirs) {
                    Err(difference) => comparison
                        .differences
                        .push(format!("git_diff {arguments}\n  {difference}")),
                    Ok(count) => applied += count,
                },
            }
        }
    }
    println!("{compared} files compared, {applied} patches applied");
    comparison.end();
}

#[tokio::test]
async fn a_diff_with_the_work_tree_is_the_diff_of_git() {
    let mut comparison = Comparison::begin().await;
    let mut compared = 0;
    for side in &comparison.sides {
        let matter = Subjects::of(&side.git);
        for round in 0..comparison.questions / 6 {
            disturb(&mut comparison.random, side);
            let mut arguments = json!({ "project": side.project });
            let mut base = "HEAD".to_owned();
            if round % 2 == 1 {
                (base, _) = pair(&mut comparison.random, side, &matter);
                arguments["ref1"] = json!(base);
            }
            let theirs = side.git.diff(&[&base]);
            compared += theirs.len();
            let verdict = ask(side, &arguments, &theirs).await;
            match verdict {
                Err(difference) => comparison.differences.push(difference),
                Ok(None) => comparison.renames_cut += 1,
                Ok(Some(_data)) => {}
            }
        }
    }
    println!("{compared} files compared");
    comparison.end();
}

/// Two revisions, usually near each other: few users want a diff of years.
fn pair(random: &mut StdRng, side: &Side, matter: &Subjects) -> (String, String) {
    let (revision, commit) = matter.revision(random, &side.git);
    if random.random_bool(0.2) {
        return (matter.revision(random, &side.git).0, revision);
    }
    let older = format!("{commit}~{}", random.random_range(1..6));
    match side.git.commit(&older) {
        Some(older) if random.random_bool(0.9) => (older, revision),
        Some(older) => (revision, older),
        None => (commit, revision),
    }
}

/// Whether a diff narrowed to the new or old name of `one` shows this file.
fn is_about(file: &FileDifference, one: &FileDifference) -> bool {
    let path = &one.changed.path;
    file.changed.path == *path || file.changed.old_path.as_ref() == Some(path)
}

/// Archway's data, or how it differs.
async fn ask(
    side: &Side,
    arguments: &Value,
    theirs: &[FileDifference],
) -> Result<Option<Value>, String> {
    let reply = side.client.call("git_diff", arguments.clone()).await;
    let asked = format!("git_diff {arguments}");
    if reply.is_error() {
        return Err(format!("{asked}\n  {}", reply.text()));
    }
    let data = reply.structured().clone();
    let note = data["note"].as_str().unwrap_or_default();
    if note.contains("Not all renames were looked for") {
        return Ok(None);
    }
    let mut ours: Vec<Value> = data["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(without_patch)
        .collect();
    let mut expected: Vec<Value> = theirs.iter().map(file).collect();
    if data["truncated"] == true {
        expected.retain(|file| ours.contains(file));
    }
    for list in [&mut ours, &mut expected] {
        list.sort_by_key(|file| file["path"].to_string());
    }
    let only = |some: &[Value], others: &[Value]| -> Vec<String> {
        some.iter()
            .filter(|file| !others.contains(file))
            .map(Value::to_string)
            .collect()
    };
    let (extra, missing) = (only(&ours, &expected), only(&expected, &ours));
    if !extra.is_empty() || !missing.is_empty() || ours.len() != expected.len() {
        return Err(format!(
            "{asked}\n  ours: {extra:#?}\n  git's: {missing:#?}"
        ));
    }
    let sum = |which: fn((u64, u64)) -> u64| -> u64 {
        theirs.iter().filter_map(|file| file.lines).map(which).sum()
    };
    let binary = theirs.iter().filter(|file| file.lines.is_none()).count();
    let totals = (
        &data["files_changed"],
        &data["insertions"],
        &data["deletions"],
        &data["binary_files"],
    );
    let counted = (
        &json!(theirs.len()),
        &json!(sum(|lines| lines.0)),
        &json!(sum(|lines| lines.1)),
        &json!(binary),
    );
    if totals != counted {
        return Err(format!("{asked}\n  totals {totals:?}, git's {counted:?}"));
    }
    Ok(Some(data))
}

fn without_patch(file: &Value) -> Value {
    let mut file = file.clone();
    let fields = file.as_object_mut().unwrap();
    fields.retain(|name, _| {
        [
            "path",
            "old_path",
            "status",
            "insertions",
            "deletions",
            "binary",
        ]
        .contains(&name.as_str())
    });
    file
}

/// A file of git's diff in Archway's format.
fn file(differs: &FileDifference) -> Value {
    let mut file = super::log::file(&differs.changed);
    let (added, deleted) = differs.lines.unwrap_or((0, 0));
    file["insertions"] = json!(added);
    file["deletions"] = json!(deleted);
    file["binary"] = json!(differs.lines.is_none());
    file
}

/// Edits, deletes, renames and adds untracked files in the work tree.
fn disturb(random: &mut StdRng, side: &Side) {
    let folder = side.git.folder();
    let files: Vec<_> = side
        .git
        .files("HEAD")
        .into_iter()
        .filter(|path| path.is_ascii())
        .collect();
    for _ in 0..random.random_range(1..6) {
        let path = String::from_utf8(files.choose(random).expect("files").clone()).unwrap();
        let file = folder.join(&path);
        let Ok(text) = fs::read(&file) else { continue };
        match random.random_range(0..6) {
            0 => fs::remove_file(&file).unwrap(),
            1 => {
                let to = format!("moved-{}", random.random_range(0..1000));
                if !folder.join(&to).exists() {
                    // Fails for a file that an earlier round took out of the index.
                    side.git.try_run(&["mv", &path, &to]);
                }
            }
            2 => fs::write(folder.join("untracked"), &text).unwrap(),
            3 => {
                side.git
                    .try_run(&["rm", "--quiet", "--cached", "--force", &path]);
            }
            _ => {
                let half = text.len() / 2;
                let changed = [&text[..half], b"changed\n", &text[half..]].concat();
                fs::write(&file, changed).unwrap();
            }
        }
    }
}
