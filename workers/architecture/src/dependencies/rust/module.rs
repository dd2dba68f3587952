//! Maps crates and modules to files, by the conventions of Cargo and rustc.

use archway_repo::{RepoPath, Stopped};

use crate::dependencies::context::{ImportContext, beneath, parent, relative, with_suffix};

/// The root folder and root file of a crate.
#[derive(Clone, Debug)]
pub(crate) struct Crate {
    folder: RepoPath,
    /// `None` if several crates share the folder, as tests do.
    file: Option<RepoPath>,
}

/// A module: its file, and the folder that holds its children's files.
#[derive(Clone, Debug)]
pub(super) struct Module {
    pub(super) file: Option<RepoPath>,
    pub(super) folder: RepoPath,
    /// The depth of inline modules in the file.
    inline: usize,
}

impl Crate {
    /// The crate that contains the importing file.
    pub(crate) fn enclosing(context: &ImportContext<'_>) -> Crate {
        let package = context
            .folders_above()
            .find(|folder| context.has(&folder.join(b"Cargo.toml")));
        let within = |folder: &RepoPath| {
            package
                .as_ref()
                .is_none_or(|package| folder.is_within(package))
        };
        for folder in context.folders_above().take_while(within) {
            let in_package = package.as_ref().and_then(|package| {
                folder
                    .as_bytes()
                    .strip_prefix(package.as_bytes())
                    .map(|rest| rest.strip_prefix(b"/").unwrap_or(rest).to_vec())
            });
            if let Some(found) = Crate::in_folder(&folder, in_package.as_deref(), context) {
                return found;
            }
        }
        Crate {
            folder: context.folder(),
            file: None,
        }
    }

    /// The crate with its root in `folder`, which is `name` within its package.
    fn in_folder(
        folder: &RepoPath,
        name: Option<&[u8]>,
        context: &ImportContext<'_>,
    ) -> Option<Crate> {
        let is_here = context.folder() == *folder;
        let multi_crate_folders: [&[u8]; 4] = [b"src/bin", b"tests", b"examples", b"benches"];
        let is_multi_crate_folder = name.is_some_and(|name| multi_crate_folders.contains(&name));
        let own: [&[u8]; 2] = [b"lib.rs", b"main.rs"];
        let is_root_file = is_here
            && (own.contains(&context.from.name())
                || is_multi_crate_folder
                || (name == Some(b"") && context.from.name() == b"build.rs"));
        let file = if is_root_file {
            Some(context.from.clone())
        } else {
            context.first(own.map(|name| folder.join(name)))
        };
        (file.is_some() || is_multi_crate_folder).then(|| Crate {
            folder: folder.clone(),
            file,
        })
    }

    pub(super) fn root(&self) -> Module {
        Module {
            file: self.file.clone(),
            folder: self.folder.clone(),
            inline: 0,
        }
    }

    /// The module that a file of this crate defines.
    pub(super) fn module_of(&self, file: &RepoPath) -> Module {
        let is_named_by_folder = self.file.as_ref() == Some(file) || file.name() == b"mod.rs";
        let stem = file.as_bytes().strip_suffix(b".rs");
        let folder = match stem.filter(|_| !is_named_by_folder) {
            Some(stem) => RepoPath::trusted(stem),
            None => parent(file),
        };
        Module {
            file: Some(file.clone()),
            folder,
            inline: 0,
        }
    }
}

impl Module {
    /// The inline module with these names.
    pub(super) fn inline(mut self, names: &[String]) -> Module {
        self.folder = beneath(&self.folder, names);
        self.inline += names.len();
        self
    }

    /// The child module with this name, if it has a file.
    pub(super) fn child(&self, name: &str, context: &ImportContext<'_>) -> Option<Module> {
        let folder = self.folder.join(name.as_bytes());
        let file = context.first([with_suffix(&folder, ".rs"), folder.join(b"mod.rs")])?;
        Some(Module {
            file: Some(file),
            folder,
            inline: 0,
        })
    }

    /// The parent module; `None` for the crate's root.
    pub(super) fn parent(self, own: &Crate, context: &ImportContext<'_>) -> Option<Module> {
        if self.folder == own.folder {
            return None;
        }
        let folder = self.folder.parent()?;
        if self.inline > 0 {
            let inline = self.inline - 1;
            return Some(Module {
                folder,
                inline,
                ..self
            });
        }
        if folder == own.folder {
            return Some(own.root());
        }
        let file = context.first([with_suffix(&folder, ".rs"), folder.join(b"mod.rs")]);
        Some(Module {
            file,
            folder,
            inline: 0,
        })
    }

    /// The deepest module with its own file on the path `names`.
    pub(super) fn deepest_descendant(
        self,
        names: &[String],
        context: &ImportContext<'_>,
    ) -> Module {
        let mut module = self;
        for name in names {
            match module.child(name, context) {
                Some(child) => module = child,
                None => break,
            }
        }
        module
    }
}

/// The project's library crates, by the names that paths use.
pub(crate) fn crates(context: &ImportContext<'_>) -> Result<Vec<(String, Crate)>, Stopped> {
    let manifests = context.manifests("Cargo.toml")?;
    let library = |(path, text): (&RepoPath, String)| {
        let manifest = CargoManifest::read(&text);
        let name = manifest.library.or(manifest.package)?.replace('-', "_");
        let file = manifest.root.as_deref().unwrap_or("src/lib.rs");
        let file = context.first(relative(&parent(path), file))?;
        let folder = parent(&file);
        let file = Some(file);
        Some((name, Crate { folder, file }))
    };
    Ok(manifests.into_iter().filter_map(library).collect())
}

/// The needed fields of a Cargo.toml, parsed line by line in their usual notation.
#[derive(Default)]
struct CargoManifest {
    package: Option<String>,
    library: Option<String>,
    root: Option<String>,
}

impl CargoManifest {
    fn read(text: &str) -> CargoManifest {
        let mut manifest = CargoManifest::default();
        let mut section = "";
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                section = line;
            }
            let Some((key, value)) = line.split_once('=') else {
                continue;
            };
            let value = value
                .trim()
                .strip_prefix('"')
                .and_then(|rest| rest.split('"').next());
            let field = match (section, key.trim()) {
                ("[package]", "name") => &mut manifest.package,
                ("[lib]", "name") => &mut manifest.library,
                ("[lib]", "path") => &mut manifest.root,
                _ => continue,
            };
            *field = value.map(str::to_owned);
        }
        manifest
    }
}
