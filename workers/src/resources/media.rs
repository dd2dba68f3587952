//! Media types, by file extension.

/// The type of documents.
pub(super) const MARKDOWN: &str = "text/markdown";
/// The type of the workflow resource.
pub(super) const JSON: &str = "application/json";
const PLAIN: &str = "text/plain";
const BINARY: &str = "application/octet-stream";

const TEXTS: [(&str, &str); 14] = [
    ("md", MARKDOWN),
    ("markdown", MARKDOWN),
    ("json", JSON),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "application/toml"),
    ("xml", "application/xml"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("js", "text/javascript"),
    ("mjs", "text/javascript"),
    ("svg", "image/svg+xml"),
];

const BINARIES: [(&str, &str); 14] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("ico", "image/vnd.microsoft.icon"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("wasm", "application/wasm"),
    ("woff2", "font/woff2"),
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("mp4", "video/mp4"),
];

/// The type of a text file.
pub(super) fn of_text(path: &str) -> &'static str {
    find_type(&TEXTS, path).unwrap_or(PLAIN)
}

/// The type of a binary file.
pub(super) fn of_bytes(path: &str) -> &'static str {
    find_type(&BINARIES, path).unwrap_or(BINARY)
}

fn find_type(types: &[(&str, &'static str)], path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next()?;
    let (_stem, extension) = name.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    let found = types.iter().find(|(known, _)| *known == extension);
    found.map(|(_, media)| *media)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_the_type_but_bytes_are_never_text() {
        assert_eq!(of_text("docs/A.MD"), MARKDOWN);
        assert_eq!(of_text("a.rs"), PLAIN);
        assert_eq!(of_text("Makefile"), PLAIN);
        assert_eq!(of_bytes("a/logo.PNG"), "image/png");
        assert_eq!(of_bytes("a.md"), BINARY);
    }
}
