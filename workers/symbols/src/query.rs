//! A name as it is asked for: exact, by a glob, or with its container.

use crate::{
    Definition,
    spelling::{is_word, parts},
};

/// A name that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameQuery {
    /// The containers that are written before the name, from the outside in.
    containers: Vec<String>,
    name: String,
    is_glob: bool,
}

/// How well a name matches, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// In all characters.
    Exact,
    /// In all characters but for their case.
    AnyCase,
    /// The name begins with the text of the glob.
    Prefix,
    /// In any other way.
    Inside,
}

impl NameQuery {
    /// Reads a name with or without containers: `admit`, `Circuit::admit`, `Circuit.admit`,
    /// `Circuit#admit`, `Circuit.#admit`, `(*Circuit).admit`, `Circuit<T>::admit(1)`, `*Circuit*`.
    /// `None` if there is no name in it.
    pub fn parse(text: &str) -> Option<NameQuery> {
        let mut containers = parts(text);
        let name = containers.pop()?;
        Some(NameQuery {
            containers,
            is_glob: is_glob(&name),
            name,
        })
    }

    /// The name itself, which may be a glob.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Another name in the same containers.
    pub fn with_name(&self, name: &str) -> NameQuery {
        NameQuery {
            containers: self.containers.clone(),
            is_glob: is_glob(name),
            name: name.to_owned(),
        }
    }

    /// The same name in any container. `None` if it has none.
    pub fn in_any_container(&self) -> Option<NameQuery> {
        (!self.containers.is_empty()).then(|| NameQuery {
            containers: Vec::new(),
            ..self.clone()
        })
    }

    /// Whether the name has `*` or `?`.
    pub fn is_glob(&self) -> bool {
        self.is_glob
    }

    /// A regular expression of lines: a file with a definition of such a name has one that matches.
    /// Members of a type are in files that name the type, so a glob without letters, as in
    /// `Circuit::*`, gives the lines with the type's name.
    pub fn line_pattern(&self) -> String {
        let is_any = self.is_glob && self.name.chars().all(|c| matches!(c, '*' | '?'));
        let container = self
            .containers
            .last()
            .filter(|it| is_type_name(it) && is_any);
        pattern(container.unwrap_or(&self.name))
    }

    /// Whether a definition in a file with this path is meant, and how well its name matches.
    pub fn matches(&self, definition: &Definition, path: &str) -> Option<Match> {
        let found = self.name_matches(&definition.name)?;
        self.has_containers(definition, path).then_some(found)
    }

    fn name_matches(&self, name: &str) -> Option<Match> {
        if !self.is_glob {
            return self.whole_name_matches(name);
        }
        let (name, glob) = (name.to_lowercase(), self.name.to_lowercase());
        let is_whole = glob_matches(glob.as_bytes(), name.as_bytes());
        let text = glob.trim_matches('*');
        is_whole.then(|| {
            if *name == *text {
                Match::Exact
            } else if name.starts_with(text) {
                Match::Prefix
            } else {
                Match::Inside
            }
        })
    }

    fn whole_name_matches(&self, name: &str) -> Option<Match> {
        // `operator ==` is written with and without the space.
        let signs = name.strip_prefix("operator ").map(str::trim);
        let signs = signs.filter(|signs| !signs.contains(is_word));
        let joined = signs.map(|signs| format!("operator{signs}"));
        let name = joined.as_deref().unwrap_or(name);
        if *name == *self.name {
            Some(Match::Exact)
        } else if name.to_lowercase() == self.name.to_lowercase() {
            Some(Match::AnyCase)
        } else {
            let public = name.strip_prefix('#');
            (public == Some(&*self.name)).then_some(Match::Inside)
        }
    }

    /// Whether the containers that are asked for are the last ones around it. Modules that are files are
    /// in no text: the file's path says them.
    fn has_containers(&self, definition: &Definition, path: &str) -> bool {
        if self.containers.is_empty() {
            return true;
        }
        let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
        let silent = ["mod", "lib", "index", "__init__", "src", "main"];
        let folders = stem.split('/').filter(|part| !silent.contains(part));
        let container = definition.container.as_deref().unwrap_or_default();
        let inner = container
            .split("::")
            .flat_map(|part| part.split(['.', '\\']));
        let inner = inner.filter(|part| !part.is_empty());
        // A file `circuit.rs` is no type `Circuit`.
        let around: Vec<(&str, bool)> = folders
            .map(|part| (part, true))
            .chain(inner.map(|part| (part, false)))
            .collect();
        let is_it = |asked: &str, (part, is_file): (&str, bool)| {
            let (lower, of_part) = (asked.to_lowercase(), part.to_lowercase());
            asked == part
                || (!is_file && lower == of_part)
                || (is_glob(asked) && glob_matches(lower.as_bytes(), of_part.as_bytes()))
        };
        let asked: Vec<&String> = self.containers.iter().filter(|it| *it != "crate").collect();
        let mut pairs = asked.iter().rev().zip(around.iter().rev());
        around.len() >= asked.len() && pairs.all(|(asked, part)| is_it(asked, *part))
    }
}

fn is_glob(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// Whether a name is written as a type's. One of a module may be the name of a file alone.
fn is_type_name(name: &str) -> bool {
    name.chars()
        .find(|c| is_word(*c))
        .is_some_and(char::is_uppercase)
}

/// A regular expression of a name, which may be a glob.
fn pattern(name: &str) -> String {
    let is_glob = is_glob(name);
    let mut pattern = String::new();
    if name.starts_with(is_word) {
        pattern.push_str(r"\b");
    }
    let (word, rest) = match name.strip_prefix("operator") {
        Some(signs) if !signs.starts_with(is_word) && !signs.is_empty() => (r"operator\s*", signs),
        _ => ("", name),
    };
    pattern.push_str(word);
    for c in rest.chars() {
        match c {
            '*' if is_glob => pattern.push_str(r"\w*"),
            // Names of Ruby end in `?`.
            '?' if is_glob => pattern.push_str(r"[\w?]"),
            // An escaped angle is the edge of a word.
            c if c.is_ascii_punctuation() && !matches!(c, '_' | '<' | '>') => {
                pattern.push('\\');
                pattern.push(c);
            }
            c => pattern.push(c),
        }
    }
    if name.ends_with(is_word) {
        pattern.push_str(r"\b");
    }
    pattern
}

/// Whether a text matches a glob with `*` and `?`, byte by byte.
fn glob_matches(glob: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // Where the last `*` is, and where its match ends so far.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match glob.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(byte) if *byte == b'?' || text.get(from) == Some(byte) => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((back, end)) = star else {
                    return false;
                };
                star = Some((back, end + 1));
                (at, from) = (back + 1, end + 1);
            }
        }
    }
    glob.get(at..)
        .unwrap_or_default()
        .iter()
        .all(|byte| *byte == b'*')
}
