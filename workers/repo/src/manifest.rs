//! The manifest of a repository: `.archway.toml`.
//!
//! Anyone with write access to the repository can change the manifest, so it mostly restricts.
//! `deny` closes paths, also those the operator opened. `allow` extends the list of
//! `read_repo_file` to what `read_file` shows anyway. `linked_projects` names projects; a caller
//! gets those it may read. `[architecture]` names the folders of its documents.
//!
//! An error in the file, such as an unknown key or an invalid glob, is a warning and affects
//! nothing else. If the file is not TOML (a typo, a merge conflict), whatever is still recognisable
//! as `deny` closes paths, rather too many than too few, and all else is ignored. The same holds
//! for the first 64 KiB of a larger file. A link to something unreadable closes nothing, because
//! its content is unknown. If the file exists and cannot be read, the call fails.
//!
//! Warnings are part of answers. They name keys and positions, never the content of `deny`.

use archway_proto::nearest;
use toml::de::{DeTable, DeValue};

use super::glob::{Glob, GlobError};
use super::globs::Globs;
use super::mounts::is_slug;
use crate::text::shown;

pub use self::architecture::Folders;

mod architecture;

/// The file's path.
pub(super) const NAME: &str = ".archway.toml";

/// Maximum size of the file, in bytes.
pub(super) const MAX_BYTES: usize = 64 << 10;
/// Maximum number of globs in `deny` and in `allow`.
const MAX_GLOBS: usize = 100;
/// Maximum number of linked projects.
const MAX_LINKED: usize = 20;
/// Maximum number of `deny` keys read from a file that is not TOML.
const MAX_DENY_LINES: usize = 10;
/// Maximum number of warnings.
const MAX_WARNINGS: usize = 10;

/// All known keys.
const KEYS: [&str; 4] = ["allow", "architecture", "deny", "linked_projects"];

/// A parsed manifest. The default is empty.
#[derive(Debug, Default)]
pub struct Manifest {
    deny: Globs,
    allow: Vec<Glob>,
    linked_projects: Vec<String>,
    folders: Folders,
    warnings: Vec<String>,
}

impl Manifest {
    pub(super) fn parse(bytes: &[u8]) -> Manifest {
        let text = String::from_utf8_lossy(bytes);
        let (document, errors) = DeTable::parse_recoverable(&text);
        let document = document.get_ref();
        if let Some(what) = not_toml(bytes, &text, &errors) {
            return Manifest {
                deny: Globs::new(salvaged_denials(&text)),
                ..Manifest::from_warning(&what)
            };
        }
        let mut reader = Reader::default();
        let deny = reader.globs(document, "deny", Glob::parse_ignoring_case);
        let allow = reader.globs(document, "allow", Glob::parse);
        let linked_projects = reader.slugs(document, "linked_projects");
        let folders = reader.folders(document);
        reader.unknown_keys(document, "", &KEYS);
        Manifest {
            deny: Globs::new(deny),
            allow,
            linked_projects,
            folders,
            warnings: reader.into_warnings(),
        }
    }

    /// The manifest of a file that is too large. Paths that its first 64 KiB clearly deny stay
    /// closed, so that a long comment cannot open them.
    pub(super) fn from_prefix(bytes: &[u8]) -> Manifest {
        let what =
            "it is larger than 64 KiB; only the recognisable `deny` globs at its beginning apply";
        Manifest {
            deny: Globs::new(salvaged_denials(&String::from_utf8_lossy(bytes))),
            ..Manifest::from_warning(what)
        }
    }

    /// An empty manifest with one warning.
    pub(super) fn from_warning(what: &str) -> Manifest {
        Manifest {
            warnings: vec![format!("{NAME}: {what}")],
            ..Manifest::default()
        }
    }

    /// The globs that close paths.
    pub(super) fn deny(&self) -> &Globs {
        &self.deny
    }

    /// The globs that extend the list of `read_repo_file`.
    pub(super) fn allow(&self) -> &[Glob] {
        &self.allow
    }

    /// The slugs of the linked projects. They may not exist.
    pub fn linked_projects(&self) -> &[String] {
        &self.linked_projects
    }

    /// The folders of its architecture documents and prompts.
    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    /// The problems of the file, one sentence each, safe to show.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// Why the file is not valid TOML, if it is not.
fn not_toml(bytes: &[u8], text: &str, errors: &[toml::de::Error]) -> Option<String> {
    if std::str::from_utf8(bytes).is_err() {
        return Some(
            "it is not text in UTF-8; only its recognisable `deny` globs apply".to_owned(),
        );
    }
    let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    let error = errors.iter().min_by_key(|error| start(error))?;
    let start = start(error);
    let before = text.as_bytes().get(..start).unwrap_or_default();
    let line = 1 + memchr::memchr_iter(b'\n', before).count();
    let what = shown(error.message());
    Some(format!(
        "it is not TOML at line {line} ({what}); only its recognisable `deny` globs apply"
    ))
}

/// The `deny` globs of a text that is not TOML. Only single lines can be trusted: an error above
/// may have swallowed the key, and a conflict may contain it twice.
fn salvaged_denials(text: &str) -> Vec<Glob> {
    let mut globs = Vec::new();
    let lines = text.split_inclusive('\n').scan(0, |end, line| {
        let start = *end;
        *end += line.len();
        Some((start, line.trim_start().trim_start_matches(['"', '\''])))
    });
    let deny_lines = lines.filter(|(_, line)| line.starts_with("deny"));
    for rest in deny_lines
        .take(MAX_DENY_LINES)
        .filter_map(|(start, _)| text.get(start..))
    {
        let (document, _known) = DeTable::parse_recoverable(rest);
        let read = Reader::default().globs(document.get_ref(), "deny", Glob::parse_ignoring_case);
        globs.extend(read);
    }
    globs.truncate(MAX_GLOBS);
    globs
}

/// Reads values and collects warnings.
#[derive(Default)]
struct Reader {
    warnings: Vec<String>,
    omitted: usize,
}

impl Reader {
    fn globs(
        &mut self,
        document: &DeTable<'_>,
        key: &str,
        parse: fn(&str) -> Result<Glob, GlobError>,
    ) -> Vec<Glob> {
        let mut globs = Vec::new();
        for (number, entry) in self.entries(document, key, MAX_GLOBS) {
            match entry.map(parse) {
                Some(Ok(glob)) => globs.push(glob),
                Some(Err(error)) => self.warn(format!(
                    "entry {number} of `{key}` is no glob ({})",
                    error.message
                )),
                None => self.warn(format!("entry {number} of `{key}` is no string")),
            }
        }
        globs
    }

    fn slugs(&mut self, document: &DeTable<'_>, key: &str) -> Vec<String> {
        let mut slugs = Vec::new();
        for (number, entry) in self.entries(document, key, MAX_LINKED) {
            match entry.filter(|slug| is_slug(slug)) {
                Some(slug) => slugs.push(slug.to_owned()),
                None => self.warn(format!("entry {number} of `{key}` is no project's slug")),
            }
        }
        slugs
    }

    /// The first `limit` entries of a list of strings, numbered from 1. An entry that is not a
    /// string is `None`. A single string counts as a list of one, which is what its author meant.
    fn entries<'a>(
        &mut self,
        document: &'a DeTable<'_>,
        key: &str,
        limit: usize,
    ) -> Vec<(usize, Option<&'a str>)> {
        self.entries_of(document, key, key, limit)
    }

    /// [`Reader::entries`] of a key that warnings call `name`.
    fn entries_of<'a>(
        &mut self,
        table: &'a DeTable<'_>,
        key: &str,
        name: &str,
        limit: usize,
    ) -> Vec<(usize, Option<&'a str>)> {
        let Some(value) = table.get(key) else {
            return Vec::new();
        };
        match value.get_ref() {
            DeValue::String(only) => vec![(1, Some(only.as_ref()))],
            DeValue::Array(entries) => {
                if entries.len() > limit {
                    self.warn(format!(
                        "`{name}` has more than {limit} entries; the first hold"
                    ));
                }
                let strings = entries.iter().map(|entry| entry.get_ref().as_str());
                (1..).zip(strings).take(limit).collect()
            }
            _ => {
                self.warn(format!("`{name}` is no list of strings"));
                Vec::new()
            }
        }
    }

    /// Warns of unknown keys in a table whose name begins with `prefix`.
    fn unknown_keys(&mut self, table: &DeTable<'_>, prefix: &str, known: &[&'static str]) {
        for key in table.keys().map(|key| key.get_ref().as_ref()) {
            if known.contains(&key) {
                continue;
            }
            let near = nearest::to(key, known.iter().copied());
            let near = near.map_or(String::new(), |near| {
                format!("; is `{prefix}{near}` meant?")
            });
            self.warn(format!("there is no key `{prefix}{}`{near}", shown(key)));
        }
    }

    fn warn(&mut self, what: String) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(format!("{NAME}: {what}"));
        } else {
            self.omitted += 1;
        }
    }

    fn into_warnings(mut self) -> Vec<String> {
        if self.omitted > 0 {
            self.warnings
                .push(format!("{NAME}: and {} more are wrong", self.omitted));
        }
        self.warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<'a>(globs: impl IntoIterator<Item = &'a Glob>) -> Vec<&'a str> {
        globs.into_iter().map(Glob::as_str).collect()
    }

    /// The `deny` globs of a file, and its warnings.
    fn denied(text: &str) -> (Vec<String>, Vec<String>) {
        let manifest = Manifest::parse(text.as_bytes());
        let deny = texts(manifest.deny().iter()).into_iter().map(str::to_owned);
        (deny.collect(), manifest.warnings)
    }

    #[test]
    fn the_keys_are_read() {
        let manifest = Manifest::parse(
            b"deny = ['*.sql', \"private/\"]\nallow = 'notes/**'\nlinked_projects = ['web', 'api-2']\n\
              [architecture]\nadr = ['docs/decided']\n",
        );
        assert_eq!(texts(manifest.deny().iter()), ["*.sql", "private/"]);
        assert_eq!(texts(manifest.allow()), ["notes/**"]);
        assert_eq!(manifest.linked_projects(), ["web", "api-2"]);
        assert_eq!(manifest.warnings(), [""; 0]);
    }

    #[test]
    fn an_invalid_entry_or_key_is_a_warning_and_the_rest_applies() {
        let manifest = Manifest::parse(
            b"deny = ['a', 7, '[b', 'c', '!d']\nallow = 7\nlinked_projects = ['Web', 'ok', 1]\n\
              denny = 1\nquite_else = 2\n",
        );
        assert_eq!(texts(manifest.deny().iter()), ["a", "c"]);
        assert_eq!(manifest.linked_projects(), ["ok"]);
        let expected = [
            "entry 2 of `deny` is no string",
            "entry 3 of `deny` is no glob (unclosed character class; missing ']')",
            "entry 5 of `deny` is no glob (a glob can't be negated; write \\! for the character)",
            "`allow` is no list of strings",
            "entry 1 of `linked_projects` is no project's slug",
            "entry 3 of `linked_projects` is no project's slug",
            "there is no key `denny`; is `deny` meant?",
            "there is no key `quite_else`",
        ];
        let expected = expected.map(|warning| format!("{NAME}: {warning}"));
        assert_eq!(manifest.warnings(), expected);
    }

    #[test]
    fn invalid_toml_keeps_its_recognisable_denials_and_nothing_else() {
        for (text, deny, line) in [
            ("deny = ['a']\nallow = ['**'\n[x\n", vec!["a"], 3),
            (
                "allow = ['**']\n= 3\ndeny = ['a', 'b']\n",
                vec!["a", "b"],
                2,
            ),
            ("deny = ['a', 'b'\n", vec!["a", "b"], 1),
            ("deny = ['a', b, 'c']\n", vec!["a", "b", "c"], 1),
            ("deny = ['a']\ndeny = ['b']\n", vec!["a", "b"], 2),
            ("[table\n  \"deny\" = ['a']\n", vec!["a"], 1),
            (
                "<<<<<<< ours\ndeny = ['a']\n=======\ndeny = ['b']\n>>>>>>> theirs\n",
                vec!["a", "b"],
                1,
            ),
            ("\0\0\0", vec![], 1),
        ] {
            let manifest = Manifest::parse(text.as_bytes());
            let mut denied = texts(manifest.deny().iter());
            denied.dedup();
            assert_eq!(denied, deny, "{text:?}");
            assert!(manifest.allow().is_empty(), "{text:?}");
            let said = manifest.warnings().join("\n");
            assert!(
                said.contains(&format!("not TOML at line {line} (")),
                "{text:?}: {said}"
            );
            assert_eq!(manifest.warnings().len(), 1, "{said}");
        }
        let conflict = "deny = [\n'a',\n<<<<<<< ours\n'b',\n=======\n'c',\n>>>>>>> theirs\n]\n";
        let conflict = Manifest::parse(conflict.as_bytes());
        assert!(
            ["a", "b", "c"]
                .iter()
                .all(|glob| texts(conflict.deny().iter()).contains(glob))
        );
        let latin = Manifest::parse(b"deny = ['a']\n# gr\xfc\xdfe\nallow = ['b']\n");
        assert_eq!(texts(latin.deny().iter()), ["a"]);
        assert!(latin.allow().is_empty() && latin.warnings()[0].contains("UTF-8"));
    }

    #[test]
    fn lists_and_warnings_are_bounded() {
        let many = |count: usize| (0..count).map(|n| format!("'x{n}',")).collect::<String>();
        let (deny, warnings) = denied(&format!("deny = [{}]", many(101)));
        assert_eq!((deny.len(), deny.last().unwrap().as_str()), (100, "x99"));
        assert_eq!(
            warnings,
            [format!(
                "{NAME}: `deny` has more than 100 entries; the first hold"
            )]
        );
        let keys: String = (0..50).map(|n| format!("k{n} = 1\n")).collect();
        let (_, warnings) = denied(&keys);
        assert_eq!(warnings.len(), MAX_WARNINGS + 1);
        assert_eq!(
            warnings[MAX_WARNINGS],
            format!("{NAME}: and 40 more are wrong")
        );
        let long = format!("\"{}\\u202e\" = 1", "k".repeat(1000));
        let (_, warnings) = denied(&long);
        assert!(
            warnings[0].len() < 300 && !warnings[0].contains('\u{202e}'),
            "{warnings:?}"
        );
    }

    #[test]
    fn deep_nesting_is_rejected_without_recursion() {
        for bad in [
            format!("x = {}", "[".repeat(MAX_BYTES - 4)),
            format!("{}x = 1", "a.".repeat(MAX_BYTES / 2 - 4)),
            "[a]\n".repeat(MAX_BYTES / 4),
        ] {
            let (deny, warnings) = denied(&bad);
            assert!(deny.is_empty() && warnings.len() == 1, "{warnings:?}");
        }
    }

    #[test]
    fn warnings_never_contain_denied_names() {
        let (_, warnings) = denied("deny = ['[project-x', {a = 'project-x'}, 'project-x']");
        assert!(
            warnings.len() == 2 && !warnings.join("").contains("project-x"),
            "{warnings:?}"
        );
        let (_, warnings) = denied("deny = ['project-x\n");
        assert!(!warnings.join("").contains("project-x"), "{warnings:?}");
    }
}
