//! What Universal Ctags finds in a folder, without what is no definition of the language.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use archway_repo::{RepoPath, syntax::Language};
use serde_json::Value;

use super::{Place, listed, name};

/// Kinds of ctags that are no definitions here: imports, packages, headers, labels, parts of statements.
const OTHER_KINDS: [&str; 13] = [
    "package",
    "packageName",
    "import",
    "talias",
    "anonMember",
    "local",
    "parameter",
    "unknown",
    "implementation",
    "header",
    "label",
    "library",
    "property",
];

/// Adds the tags of a folder, by language.
pub(crate) fn add(folder: &Path, theirs: &mut BTreeMap<String, BTreeSet<Place>>) {
    let files = listed(folder).join("\n");
    let list = tempfile::NamedTempFile::new().expect("a file");
    fs::write(list.path(), files).expect("a list");
    let tags = Command::new("ctags")
        .current_dir(folder)
        .args([
            "--output-format=json",
            "--fields=+neKl",
            "--map-C++=-.h",
            "--map-C=+.h",
            "-f",
            "-",
            "-L",
        ])
        .arg(list.path())
        .output()
        .expect("ctags runs");
    for line in String::from_utf8_lossy(&tags.stdout).lines() {
        if let Ok(tag) = serde_json::from_str::<Value>(line)
            && let Some((language, place)) = definition(folder, &tag)
        {
            theirs
                .entry(format!("{language:?}"))
                .or_default()
                .insert(place);
        }
    }
}

/// The definition that a tag names; `None` if it is none of its language.
fn definition(folder: &Path, tag: &Value) -> Option<(Language, Place)> {
    let text = |field: &str| tag[field].as_str().unwrap_or_default().to_owned();
    let (name, kind, line) = (text("name"), text("kind"), text("pattern"));
    let language = Language::of(&RepoPath::parse(&text("path")).ok()?)?;
    // Blocks of a test framework are calls, whatever their first argument is.
    let is_of_framework = text("language") == "RSpec";
    let is_nameless = name.starts_with("__anon") || name.starts_with("anon") || name == "_";
    let is_other = match language {
        Language::CSharp => is_part_of_c_sharp(&kind, &name, &line),
        // A lifetime is no `static` item.
        Language::Rust => kind == "variable" && line.contains(&format!("'static {name}")),
        Language::Php => kind == "alias",
        _ => false,
    };
    let is_kind = language == Language::CSharp || !OTHER_KINDS.contains(&&*kind);
    if !is_kind || is_other || is_of_framework || is_nameless {
        return None;
    }
    let name = match language {
        // A member that implements an interface is called by the name behind it.
        Language::CSharp if kind != "namespace" => {
            name.rsplit('.').next().unwrap_or(&name).to_owned()
        }
        Language::Ruby => of_ruby(&kind, name, &line),
        _ => spelled(&name),
    };
    let number = tag["line"].as_u64().and_then(|it| u32::try_from(it).ok());
    let path = format!("{}/{}", self::name(folder), text("path"));
    Some((language, (path, number.unwrap_or(0), name)))
}

/// Whether a name of C# is a parameter that ctags takes for a definition: it stands before `)`, or begins a
/// constraint.
fn is_part_of_c_sharp(kind: &str, name: &str, line: &str) -> bool {
    let is_parameter = kind == "field" && line.contains(&format!(" {name})"));
    is_parameter || line.contains(&format!(" where {name} :"))
}

/// The name that a line of Ruby has. ctags tells writers of accessors from readers, which one word names,
/// and cuts the last sign of an alias.
fn of_ruby(kind: &str, name: String, line: &str) -> String {
    match kind {
        "accessor" => name.trim_end_matches('=').to_owned(),
        "alias" => {
            let rest = line
                .split_once(&format!("alias {name}"))
                .map_or("", |(_, rest)| rest);
            let sign = rest
                .chars()
                .next()
                .filter(|it| matches!(it, '?' | '!' | '='));
            name.chars().chain(sign).collect()
        }
        _ => name,
    }
}

/// A name as both sides write it: those of operators without spaces.
pub(crate) fn spelled(name: &str) -> String {
    match name.starts_with("operator") {
        true => name.replace(' ', ""),
        false => name.to_owned(),
    }
}
