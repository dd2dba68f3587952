//! Media types, by the ending of a file's name.

/// Documents are markdown.
pub(super) const MARKDOWN: &str = "text/markdown";
/// What programs read.
pub(super) const JSON: &str = "application/json";
const PLAIN: &str = "text/plain";
const UNKNOWN: &str = "application/octet-stream";

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

const OTHERS: [(&str, &str); 14] = [
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

/// Of a file that is text.
pub(super) fn of_text(path: &str) -> &'static str {
    among(&TEXTS, path).unwrap_or(PLAIN)
}

/// Of a file that is not.
pub(super) fn of_bytes(path: &str) -> &'static str {
    among(&OTHERS, path).unwrap_or(UNKNOWN)
}

fn among(types: &[(&str, &'static str)], path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next()?;
    let (_stem, ending) = name.rsplit_once('.')?;
    let ending = ending.to_ascii_lowercase();
    let found = types.iter().find(|(known, _)| *known == ending);
    found.map(|(_, media)| *media)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_known_by_the_ending_and_never_claims_text_for_bytes() {
        assert_eq!(of_text("docs/A.MD"), MARKDOWN);
        assert_eq!(of_text("a.rs"), PLAIN);
        assert_eq!(of_text("Makefile"), PLAIN);
        assert_eq!(of_bytes("a/logo.PNG"), "image/png");
        assert_eq!(of_bytes("a.md"), UNKNOWN);
    }
}
