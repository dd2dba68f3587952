//! `[architecture]`: the folders of a project's architecture documents.

use toml::de::{DeTable, DeValue};

use super::Reader;
use crate::path::RepoPath;
use crate::text::shown;

/// The table and its keys.
const TABLE: &str = "architecture";
const KEYS: [&str; 4] = ["adr", "guidelines", "patterns", "prompts"];
/// Maximum number of folders of a key.
const MAX_FOLDERS: usize = 20;

/// The folders that a repository names, in its order. `None` means the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    /// Decision records.
    pub adr: Option<Vec<RepoPath>>,
    /// Patterns.
    pub patterns: Option<Vec<RepoPath>>,
    /// Guidelines.
    pub guidelines: Option<Vec<RepoPath>>,
    /// Prompts.
    pub prompts: Option<Vec<RepoPath>>,
}

impl Reader {
    pub(super) fn folders(&mut self, document: &DeTable<'_>) -> Folders {
        let Some(value) = document.get(TABLE) else {
            return Folders::default();
        };
        let DeValue::Table(table) = value.get_ref() else {
            self.warn(format!("`{TABLE}` is no table of folders"));
            return Folders::default();
        };
        let folders = Folders {
            adr: self.folders_of(table, "adr"),
            patterns: self.folders_of(table, "patterns"),
            guidelines: self.folders_of(table, "guidelines"),
            prompts: self.folders_of(table, "prompts"),
        };
        self.unknown_keys(table, "architecture.", &KEYS);
        folders
    }

    /// The folders of a key. The defaults apply if no entry is usable; an empty list is meant as
    /// one.
    fn folders_of(&mut self, table: &DeTable<'_>, key: &str) -> Option<Vec<RepoPath>> {
        let name = format!("{TABLE}.{key}");
        let is_list = matches!(
            table.get(key)?.get_ref(),
            DeValue::Array(_) | DeValue::String(_)
        );
        let mut folders = Vec::new();
        let mut is_wrong = !is_list;
        for (number, entry) in self.entries_of(table, key, &name, MAX_FOLDERS) {
            match entry.map(RepoPath::parse) {
                Some(Ok(folder)) => folders.push(folder),
                Some(Err(_)) => {
                    let entry = shown(entry.unwrap_or_default());
                    self.warn(format!(
                        "entry {number} of `{name}` is no folder beneath the root: {entry:?}"
                    ));
                    is_wrong = true;
                }
                None => {
                    self.warn(format!("entry {number} of `{name}` is no string"));
                    is_wrong = true;
                }
            }
        }
        (!folders.is_empty() || !is_wrong).then_some(folders)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Manifest, NAME};
    use super::*;

    fn read(text: &str) -> (Folders, Vec<String>) {
        let manifest = Manifest::parse(text.as_bytes());
        let prefix = format!("{NAME}: ");
        let warnings = manifest.warnings().iter();
        let warnings = warnings.map(|warning| warning.strip_prefix(&prefix).unwrap().to_owned());
        (manifest.folders().clone(), warnings.collect())
    }

    fn shown(folders: Option<&Vec<RepoPath>>) -> Option<Vec<String>> {
        folders.map(|folders| folders.iter().map(RepoPath::display).collect())
    }

    #[test]
    fn each_kind_keeps_the_order_of_its_folders() {
        let (folders, warnings) =
            read("[architecture]\nadr = ['./b/', 'a']\npatterns = 'p'\nguidelines = []\n");
        assert_eq!(shown(folders.adr.as_ref()).unwrap(), ["b", "a"]);
        assert_eq!(shown(folders.patterns.as_ref()).unwrap(), ["p"]);
        assert_eq!(
            folders.guidelines,
            Some(Vec::new()),
            "an empty list is kept"
        );
        assert_eq!(folders.prompts, None);
        assert!(warnings.is_empty(), "{warnings:?}");
    }

    #[test]
    fn an_invalid_value_is_a_warning_and_the_rest_applies() {
        let (folders, warnings) = read(
            "[architecture]\nadr = ['../out', 'a', 7, '/etc', '']\npatterns = 7\n\
             guidelines = ['..']\nprompt = 'x'\n",
        );
        assert_eq!(shown(folders.adr.as_ref()).unwrap(), ["a"]);
        assert_eq!((folders.patterns, folders.guidelines), (None, None));
        let expected = [
            "entry 1 of `architecture.adr` is no folder beneath the root: \"../out\"",
            "entry 3 of `architecture.adr` is no string",
            "entry 4 of `architecture.adr` is no folder beneath the root: \"/etc\"",
            "entry 5 of `architecture.adr` is no folder beneath the root: \"\"",
            "`architecture.patterns` is no list of strings",
            "entry 1 of `architecture.guidelines` is no folder beneath the root: \"..\"",
            "there is no key `architecture.prompt`; is `architecture.prompts` meant?",
        ];
        assert_eq!(warnings, expected);
        let (folders, warnings) = read("architecture = 'docs'");
        assert_eq!(folders, Folders::default());
        assert_eq!(warnings, ["`architecture` is no table of folders"]);
    }

    #[test]
    fn folders_over_the_limit_are_dropped_with_a_warning() {
        let many: String = (0..30).map(|number| format!("'f{number}',")).collect();
        let (folders, warnings) = read(&format!("[architecture]\nadr = [{many}]"));
        assert_eq!(folders.adr.unwrap().len(), MAX_FOLDERS);
        assert_eq!(
            warnings,
            ["`architecture.adr` has more than 20 entries; the first hold"]
        );
    }
}
