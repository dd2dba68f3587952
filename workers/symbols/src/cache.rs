//! Symbols of texts that were parsed lately, by project and blob.

use std::sync::Arc;

use archway_repo::{
    Cancel, Key,
    syntax::{Language, SyntaxError},
};
use gix::ObjectId;
use moka::sync::Cache;
use tokio::time::Duration;

use crate::{Definition, Symbols, Use, extract, headers};

/// The size of the cache, in bytes: some thousand files.
const CACHE_BYTES: u64 = 64 << 20;
/// The lifetime of an entry that is not used.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// What an entry costs besides its content, in bytes.
const OVERHEAD: usize = 200;

/// A parsed text.
#[derive(Debug)]
pub struct Parsed {
    /// Its language: C++ for a text of C++ whose path says C.
    pub language: Language,
    /// What it defines and uses.
    pub symbols: Symbols,
}

/// Symbols by project, blob and language. Cheap to clone.
#[derive(Clone)]
pub struct SymbolCache(Cache<(Key, ObjectId, Language), Arc<Parsed>>);

impl SymbolCache {
    /// Creates an empty cache.
    #[expect(clippy::new_without_default, reason = "it has a size")]
    pub fn new() -> SymbolCache {
        let weigh = |_: &(Key, ObjectId, Language), parsed: &Arc<Parsed>| parsed.weight();
        let cache = Cache::builder()
            .max_capacity(CACHE_BYTES)
            .weigher(weigh)
            .time_to_idle(IDLE)
            .build();
        SymbolCache(cache)
    }

    /// The symbols of a blob, if its text was parsed lately.
    pub fn known(&self, project: &Key, language: Language, blob: ObjectId) -> Option<Arc<Parsed>> {
        self.0.get(&(project.clone(), blob, language))
    }

    /// The symbols of a text, parsed unless they are known.
    ///
    /// # Errors
    /// As [`Symbols::of`].
    pub fn parsed(
        &self,
        project: &Key,
        language: Language,
        text: &[u8],
        cancel: &Cancel,
    ) -> Result<Arc<Parsed>, SyntaxError> {
        let (hash, kind) = (gix::hash::Kind::Sha1, gix::objs::Kind::Blob);
        let Ok(id) = gix::objs::compute_hash(hash, kind, text) else {
            // A collision that was made on purpose is parsed each time.
            return Ok(Arc::new(Parsed::of(language, text, cancel)?));
        };
        let key = (project.clone(), id, language);
        if let Some(parsed) = self.0.get(&key) {
            return Ok(parsed);
        }
        let parsed = Arc::new(Parsed::of(language, text, cancel)?);
        self.0.insert(key, Arc::clone(&parsed));
        Ok(parsed)
    }
}

impl Parsed {
    /// Parses a text whose path says this language.
    ///
    /// # Errors
    /// If it is too large or cannot be parsed, or `cancel` stops the work.
    pub fn of(language: Language, text: &[u8], cancel: &Cancel) -> Result<Parsed, SyntaxError> {
        let text = String::from_utf8_lossy(text);
        let language = headers::language(language, &text);
        let symbols = extract::symbols(language, &text, cancel)?;
        Ok(Parsed { language, symbols })
    }

    /// Its size in memory, in bytes.
    fn weight(&self) -> u32 {
        let text = |definition: &Definition| {
            let doc = definition.doc.as_ref().map_or(0, |doc| doc.len());
            let container = definition.container.as_ref().map_or(0, |it| it.len());
            definition.name.len() + definition.signature.len() + doc + container
        };
        let symbols = &self.symbols;
        let definitions: usize = symbols.definitions.iter().map(text).sum();
        let fixed = symbols.definitions.len() * size_of::<Definition>()
            + symbols.uses.len() * size_of::<Use>()
            + symbols.last_lines.len() * size_of::<u32>()
            + symbols
                .names
                .iter()
                .map(|name| name.len() + 16)
                .sum::<usize>();
        u32::try_from(OVERHEAD + definitions + fixed).unwrap_or(u32::MAX)
    }
}
