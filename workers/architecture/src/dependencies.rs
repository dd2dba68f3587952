//! Finds the files of a project that a source file imports.
//!
//! There are two steps. The imports in a text come from its syntax tree, and are cached by blob id,
//! because equal texts have equal imports. Each call then resolves the imports by the rules of the
//! language, among the listed files only. So no import opens a file, and none resolves to a file
//! that is blocked, ignored or outside of the project.
//!
//! Only import statements count. Names that a build tool maps (`paths` of tsconfig.json, `exports`
//! of package.json, include paths of a build) are not resolved.

// In processing order.
mod parsed;
mod context;
mod rust;
mod script;
mod python;
mod go;
mod java;
mod include;
#[cfg(test)]
mod testing;

use std::{collections::HashSet, sync::Arc};

use archway_proto::chain::Chain;
use gix::ObjectId;
use moka::sync::Cache;
use tokio::time::Duration;

use archway_repo::{
    Cancel, Key, Listing, Repo, RepoError, RepoFile, RepoPath, Stopped,
    syntax::{self, Language, SyntaxError},
};
use context::ImportContext;
use parsed::{Import, ImportCollector, MAX_IMPORTS, ParsedImports};

/// At most this many imported files are returned.
const MAX_FILES: usize = 500;

/// The size of the cache, in bytes.
const CACHE_BYTES: u64 = 16 << 20;
/// The lifetime of an entry. It is limited because a file that took too long to parse may succeed
/// later.
const CACHE_TIME: Duration = Duration::from_secs(10 * 60);

/// The files that a file imports.
#[derive(Debug, Default)]
pub struct Dependencies {
    /// Without duplicates, in the order of their first import; never the file itself.
    pub files: Vec<RepoPath>,
    /// The reason why there may be more files, for the caller to read; `None` if the list is
    /// complete.
    pub error: Option<String>,
}

/// The files among which imports are resolved: those of a work tree or of a commit.
pub trait Files {
    /// All files that may be imported.
    fn listing(&self, cancel: &Cancel) -> Result<Arc<Listing>, RepoError>;

    /// Opens a file if all access rules allow it.
    fn open(&self, path: &RepoPath) -> Result<RepoFile, RepoError>;
}

impl Files for Repo {
    fn listing(&self, cancel: &Cancel) -> Result<Arc<Listing>, RepoError> {
        Repo::listing(self, cancel)
    }

    fn open(&self, path: &RepoPath) -> Result<RepoFile, RepoError> {
        Repo::open(self, path)
    }
}

/// Imports of parsed files, by project and blob id. Cheap to clone.
#[derive(Clone)]
pub struct ImportCache(Cache<(Key, ObjectId, Language), Arc<ParsedImports>>);

impl ImportCache {
    /// Creates an empty cache.
    #[expect(clippy::new_without_default, reason = "it has a size")]
    pub fn new() -> ImportCache {
        let weigh = |_: &(Key, ObjectId, Language), parsed: &Arc<ParsedImports>| parsed.weight();
        let cache = Cache::builder()
            .max_capacity(CACHE_BYTES)
            .weigher(weigh)
            .time_to_live(CACHE_TIME)
            .build();
        ImportCache(cache)
    }

    /// The files that `path` imports. A file in a language without a grammar imports nothing; a
    /// file that can't be parsed reports so in [`Dependencies::error`].
    ///
    /// # Errors
    /// If the file can't be read, or the call is cancelled.
    pub fn dependencies(
        &self,
        project: &Key,
        files: &dyn Files,
        path: &RepoPath,
        cancel: &Cancel,
    ) -> Result<Dependencies, RepoError> {
        let mut file = files.open(path)?;
        let from = file.resolved().clone();
        let Some(language) =
            Language::of(&from).filter(|language| ParsedImports::is_for(*language))
        else {
            return Ok(Dependencies::default());
        };
        let parsed = match read(&mut file)? {
            Some(text) => self.parsed(project, language, &text, cancel)?,
            None => Arc::new(ParsedImports::failed(&SyntaxError::TooLarge)),
        };
        let (mut files, truncated) = match files.listing(cancel) {
            Ok(listing) => {
                let context = ImportContext {
                    files,
                    listing: &listing,
                    from: &from,
                    cancel,
                };
                resolve(&parsed.imports, language, &context)?
            }
            Err(RepoError::Stopped(stopped)) => return Err(stopped.into()),
            // The file itself can still be returned.
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        files.retain(|file| file != path);
        Ok(Dependencies {
            files,
            error: parsed.warning.clone().or(truncated),
        })
    }

    /// The imports of a text, from the cache if possible.
    fn parsed(
        &self,
        project: &Key,
        language: Language,
        text: &[u8],
        cancel: &Cancel,
    ) -> Result<Arc<ParsedImports>, RepoError> {
        let (hash, kind) = (gix::hash::Kind::Sha1, gix::objs::Kind::Blob);
        let id = gix::objs::compute_hash(hash, kind, text).map_err(|source| RepoError::Git {
            what: "hashing a file",
            source: source.into(),
        })?;
        let key = (project.clone(), id, language);
        if let Some(cached) = self.0.get(&key) {
            return Ok(cached);
        }
        match ParsedImports::of(language, text, cancel) {
            Ok(parsed) => {
                let parsed = Arc::new(parsed);
                self.0.insert(key, Arc::clone(&parsed));
                Ok(parsed)
            }
            Err(SyntaxError::Stopped(stopped)) => Err(stopped.into()),
            Err(error) => {
                tracing::warn!(error = %Chain(&error), "file could not be parsed");
                Ok(Arc::new(ParsedImports::failed(&error)))
            }
        }
    }
}

/// Resolves `imports` to files without duplicates. The second value says whether some were omitted.
fn resolve(
    imports: &[Import],
    language: Language,
    context: &ImportContext<'_>,
) -> Result<(Vec<RepoPath>, Option<String>), Stopped> {
    let resolver = Resolver::of(imports, language, context)?;
    let (mut seen, mut files) = (HashSet::from([context.from.clone()]), Vec::new());
    for import in imports {
        context.cancel.check()?;
        for file in resolver.files(import, language, context) {
            if files.len() == MAX_FILES {
                let truncated = format!("only the first {MAX_FILES} dependencies are given");
                return Ok((files, Some(truncated)));
            }
            if seen.insert(file.clone()) {
                files.push(file);
            }
        }
    }
    Ok((files, None))
}

/// The project's crates, modules and source folders, as far as the imports of one file need them.
#[derive(Default)]
struct Resolver {
    own_crate: Option<rust::Crate>,
    crates: Vec<(String, rust::Crate)>,
    modules: Vec<go::Module>,
    source_roots: Vec<RepoPath>,
}

impl Resolver {
    fn of(
        imports: &[Import],
        language: Language,
        context: &ImportContext<'_>,
    ) -> Result<Resolver, Stopped> {
        let mut resolver = Resolver::default();
        match language {
            Language::Rust => {
                resolver.own_crate = Some(rust::Crate::enclosing(context));
                resolver.crates = rust::crates(context)?;
            }
            Language::Go => resolver.modules = go::modules(context)?,
            Language::Java => resolver.source_roots = java::source_roots(imports, context),
            _ => {}
        }
        Ok(resolver)
    }

    fn files(
        &self,
        import: &Import,
        language: Language,
        context: &ImportContext<'_>,
    ) -> Vec<RepoPath> {
        let file = match import {
            Import::Go(package) => return go::resolve(package, &self.modules, context),
            Import::Java(import) => return java::resolve(import, &self.source_roots, context),
            Import::Rust(import) => self
                .own_crate
                .as_ref()
                .and_then(|own| rust::resolve(import, own, &self.crates, context)),
            Import::Script(specifier) => script::resolve(specifier, language, context),
            Import::Python(import) => python::resolve(import, context),
            Import::Include(name) => include::resolve(name, context),
        };
        file.into_iter().collect()
    }
}

/// A file's content; `None` if it is too large to parse.
fn read(file: &mut RepoFile) -> Result<Option<Vec<u8>>, RepoError> {
    let read = file.read_at_most(syntax::MAX_BYTES as u64);
    read.map_err(|source| RepoError::Io {
        what: "reading a file to find its imports",
        source,
    })
}

#[cfg(test)]
mod tests {
    use archway_repo::{
        Rules,
        testing::{Sandbox, cancel, path},
    };
    use tokio::time::Instant as Clock;

    use super::*;
    use testing::{dependencies, imports, project};

    #[test]
    fn files_are_unique_in_the_order_of_their_first_import() {
        let text = "import './b'; import './a'; export * from './b'; import './self';";
        let app = project(&[("self.ts", text)], &["a.ts", "b.ts"]);
        assert_eq!(imports(&app, "self.ts"), ["b.ts", "a.ts"]);
    }

    #[test]
    fn imports_skip_blocked_ignored_and_outside_files() {
        let text = "import './secrets.js'; import './built.js'; import './link.js';\
                    import './node_modules/x.js'; import '../up.js'; import './a.js';";
        let app = project(
            &[("src/main.js", text), (".gitignore", "built.js\n")],
            &[
                "src/secrets.js",
                "src/built.js",
                "src/node_modules/x.js",
                "src/a.js",
                "closed/b.js",
            ],
        );
        app.link("src/link.js", "../../../up.js")
            .file(".git/HEAD", "ref: refs/heads/main\n");
        std::fs::write(app.host("acme/up.js"), "").unwrap();
        assert_eq!(imports(&app, "src/main.js"), ["src/a.js"]);

        app.file("src/other.js", "import '../closed/b.js';");
        assert_eq!(imports(&app, "src/other.js"), ["closed/b.js"]);
        let closed = Rules::new(&[], &["closed/".to_owned()], None).unwrap();
        let repo = app.repo_with(closed);
        let result =
            ImportCache::new().dependencies(repo.key(), &repo, &path("src/other.js"), &cancel());
        assert!(result.unwrap().files.is_empty());
    }

    #[test]
    fn a_link_has_the_imports_of_its_target() {
        let app = project(&[("src/a.js", "import './b';")], &["src/b.js"]);
        app.link("link.js", "src/a.js");
        assert_eq!(imports(&app, "link.js"), ["src/b.js"]);
    }

    #[test]
    fn files_in_other_languages_import_nothing_without_error() {
        let app = project(
            &[
                ("a.rb", "require './b'"),
                ("broken.rb", "require './b'\ndef ("),
                ("README.md", "import './b'"),
            ],
            &["b.rb"],
        );
        for path in ["a.rb", "broken.rb", "README.md"] {
            assert!(imports(&app, path).is_empty(), "{path}");
            assert_eq!(dependencies(&app, path).error, None, "{path}");
        }
    }

    #[test]
    fn a_syntax_error_is_reported_along_with_imports() {
        let text = "import { a } from './a';\n\nfunction ( {\n";
        let app = project(&[("main.ts", text)], &["a.ts"]);
        let result = dependencies(&app, "main.ts");
        assert_eq!(result.files, [path("a.ts")]);
        let error = result.error.unwrap();
        assert!(error.starts_with("syntax error at line 3"), "{error}");
    }

    #[test]
    fn a_file_that_is_too_large_has_an_error() {
        let text = "// filler\n".repeat(110_000);
        let app = project(&[("big.js", &text)], &[]);
        let error = dependencies(&app, "big.js").error.unwrap();
        assert!(error.contains("1048576"), "{error}");
    }

    #[test]
    fn too_many_files_are_truncated_with_an_error() {
        let names: Vec<String> = (0..=MAX_FILES).map(|n| format!("m{n:03}")).collect();
        let text: String = names
            .iter()
            .map(|name| format!("import './{name}';\n"))
            .collect();
        let app = project(&[("main.js", &text)], &[]);
        for name in &names {
            app.file(&format!("{name}.js"), "");
        }
        let result = dependencies(&app, "main.js");
        assert_eq!(result.files.len(), MAX_FILES);
        assert!(result.error.unwrap().contains("first 500"));
    }

    #[test]
    fn equal_content_is_parsed_once_and_resolved_each_time() {
        let app = project(&[("main.js", "import './a';")], &["a.js", "b.js"]);
        let cache = ImportCache::new();
        let parse = || {
            let repo = app.repo();
            let result = cache.dependencies(repo.key(), &repo, &path("main.js"), &cancel());
            cache.0.run_pending_tasks();
            (result.unwrap().files, cache.0.entry_count())
        };
        assert_eq!(parse(), (vec![path("a.js")], 1));
        assert_eq!(parse(), (vec![path("a.js")], 1));
        app.file("main.js", "import './b';");
        assert_eq!(parse(), (vec![path("b.js")], 2));
        std::fs::remove_file(app.root().join("b.js")).unwrap();
        assert_eq!(parse(), (vec![], 2), "imports are resolved again");
    }

    /// Texts that would exhaust the stack, memory or time of a naive reader.
    fn hostile(language: &str) -> Vec<String> {
        let deep = |open: &str, close: &str, n: usize| open.repeat(n) + &close.repeat(n);
        let common = [
            deep("(", ")", 40_000),
            "{[".repeat(15_000),
            "\u{0}\u{1}\u{ff}\"/*".repeat(5_000),
        ];
        let own = match language {
            "rs" => vec![
                format!("use {};", deep("a::{", "}", 30_000)),
                format!("use {}", "a::{b,".repeat(30_000)),
                "mod a { use super::super::b::{c,d};".repeat(5_000),
                format!("use {};", "a,".repeat(40_000)),
            ],
            "py" => vec![
                format!(
                    "from {}b import {}",
                    "a.".repeat(40_000),
                    "c,".repeat(40_000)
                ),
                "from a.b.c.d.e.f.g.h import (i, j, k)\n".repeat(5_000),
                (0..600).map(|n| " ".repeat(n) + "if a:\n").collect(),
                format!("from {} import a\n", ".".repeat(200_000)),
            ],
            "js" => vec![
                format!("import '{}'", "./".repeat(100_000)),
                deep("import(", ")", 20_000),
                deep("`${", "}`", 30_000),
                (0..9_000).map(|n| format!("require('./{n}')\n")).collect(),
            ],
            "tsx" => vec![deep("<a>", "</a>", 20_000), "<a<b<c".repeat(5_000)],
            "java" => vec![
                format!("import {}b;", "a.".repeat(80_000)),
                (0..6_000)
                    .map(|n| format!("import a.b.c.C{n}.*;\n"))
                    .collect(),
            ],
            "cpp" => vec!["#if A\n".repeat(10_000), "R\"a(".repeat(10_000)],
            _ => vec!["import (".repeat(10_000), "#include \"a\"\n".repeat(9_000)],
        };
        common.into_iter().chain(own).collect()
    }

    #[test]
    fn hostile_texts_stay_within_stack_and_time_limits() {
        // Smaller than the stack of a blocking thread.
        let work = || {
            for language in ["rs", "js", "ts", "tsx", "py", "go", "java", "c", "cpp"] {
                let app = Sandbox::new();
                let name = format!("main.{language}");
                for (number, text) in hostile(language).iter().enumerate() {
                    app.file(&name, text);
                    let began = Clock::now();
                    dependencies(&app, &name);
                    let took = began.elapsed().as_secs();
                    assert!(took < 15, "{language} {number} took {took} s");
                }
            }
        };
        let thread = std::thread::Builder::new().stack_size(512 << 10);
        thread.spawn(work).unwrap().join().unwrap();
    }

    #[test]
    fn a_cancelled_parse_ends_early() {
        let text = "a = {".repeat(40_000);
        let app = project(&[("main.js", &text)], &[]);
        let repo = app.repo();
        // A complete parse checks more than a thousand times.
        let call = cancel().cancel_at_check(100);
        let ended = ImportCache::new().dependencies(repo.key(), &repo, &path("main.js"), &call);
        assert!(matches!(ended, Err(RepoError::Stopped(Stopped::Cancelled))));
        let checks = call.checks();
        assert!(
            checks < 120,
            "{checks}: the parse continued after the cancellation"
        );
    }
}
