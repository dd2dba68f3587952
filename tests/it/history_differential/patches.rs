//! The patches of `git_diff`, completed and given to `git apply`: it must accept them and turn the older
//! files into the newer ones to the byte.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    git::{FileDifference, Git},
    shown,
};

const NOTHING: &str = "000000";
const SUBMODULE: &str = "160000";

/// Applies all patches of an answer to the commit `base`. Returns their number, or the error.
pub(super) fn apply(
    git: &Git,
    base: &str,
    data: &Value,
    theirs: &[FileDifference],
) -> Result<usize, String> {
    let by_path: BTreeMap<String, &FileDifference> = theirs
        .iter()
        .map(|file| (shown(&file.changed.path), file))
        .collect();
    let mut whole = Vec::new();
    let mut patched = Vec::new();
    for file in data["files"].as_array().unwrap() {
        let differs = by_path[file["path"].as_str().unwrap()];
        let Some(patch) = file["patch"].as_str() else {
            must_have_none(data, differs).map_err(|why| format!("{}: {why}", file["path"]))?;
            continue;
        };
        // git turns a change of type into a deletion and an addition, which one patch cannot express.
        if file["exact"] == false
            || differs.changed.status == 'T'
            || differs.modes.iter().any(|mode| mode == SUBMODULE)
        {
            continue;
        }
        whole.extend(head(differs));
        whole.extend_from_slice(patch.as_bytes());
        if !patch.ends_with('\n') {
            whole.push(b'\n');
        }
        patched.push(differs);
    }
    if patched.is_empty() {
        return Ok(0);
    }
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    git.feed(&index, &["read-tree", base], b"")?;
    let mut arguments = vec!["apply", "--cached", "--whitespace=nowarn"];
    if data_without_context(&whole) {
        arguments.push("--unidiff-zero");
    }
    arguments.push("-");
    git.feed(&index, &arguments, &whole)
        .map_err(|said| format!("{said}\n{}", String::from_utf8_lossy(&whole)))?;
    let list = git.feed(&index, &["ls-files", "--stage", "-z"], b"")?;
    let made: BTreeMap<&[u8], &[u8]> = list
        .split(|&byte| byte == 0)
        .filter_map(|entry| {
            let tab = entry.iter().position(|&byte| byte == b'\t')?;
            Some((&entry[tab + 1..], &entry[..tab]))
        })
        .collect();
    for differs in &patched {
        let path = differs.changed.path.as_slice();
        let expected = (differs.changed.status != 'D')
            .then(|| format!("{} {} 0", differs.modes[1], differs.id));
        let found = made
            .get(path)
            .map(|entry| String::from_utf8_lossy(entry).into_owned());
        if found != expected {
            return Err(format!(
                "{} became {found:?}, not {expected:?}",
                shown(path)
            ));
        }
    }
    Ok(patched.len())
}

/// Why a file of an answer may come without a patch.
fn must_have_none(data: &Value, differs: &FileDifference) -> Result<(), String> {
    let reasons = [
        data["summary_only"] == true,
        data["truncated"] == true,
        // Renamed, changed in its mode, or empty.
        differs.lines == Some((0, 0)),
        differs.lines.is_none(),
        differs.changed.status == 'T',
        differs.modes.iter().any(|mode| mode == SUBMODULE),
    ];
    if reasons.contains(&true) {
        Ok(())
    } else {
        Err("no patch".to_owned())
    }
}

/// Whether no hunk has context, which git must be told.
fn data_without_context(patch: &[u8]) -> bool {
    !patch
        .split(|&byte| byte == b'\n')
        .any(|line| line.first() == Some(&b' '))
}

/// The header above the hunks of a patch by git.
fn head(differs: &FileDifference) -> Vec<u8> {
    let new = &differs.changed.path;
    let old = differs.changed.old_path.as_ref().unwrap_or(new);
    let [before, after] = &differs.modes;
    let (a, b) = (quoted(b"a/", old), quoted(b"b/", new));
    let mut head = format!("diff --git {a} {b}\n");
    match (before.as_str(), after.as_str()) {
        (NOTHING, _) => head += &format!("new file mode {after}\n--- /dev/null\n+++ {b}\n"),
        (_, NOTHING) => head += &format!("deleted file mode {before}\n--- {a}\n+++ /dev/null\n"),
        _ => {
            if before != after {
                head += &format!("old mode {before}\nnew mode {after}\n");
            }
            if differs.changed.old_path.is_some() {
                head += &format!(
                    "rename from {}\nrename to {}\n",
                    quoted(b"", old),
                    quoted(b"", new)
                );
            }
            head += &format!("--- {a}\n+++ {b}\n");
        }
    }
    head.into_bytes()
}

/// A name as git quotes it. git accepts any name in quotes.
fn quoted(side: &[u8], path: &[u8]) -> String {
    let bytes = side.iter().chain(path);
    let text: String = bytes
        .map(|&byte| match byte {
            b'"' | b'\\' | 0..b' ' | 0x7f.. => format!("\\{byte:03o}"),
            _ => char::from(byte).to_string(),
        })
        .collect();
    format!("\"{text}\"")
}
