//! What a file is for, by its path: results show code before tests and documents.

/// What a file is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Code that runs in production; also notes.
    #[default]
    Code,
    /// A test, a benchmark, or their data.
    Test,
    /// A document or an example.
    Document,
}

impl Role {
    /// The role of the file at `path`.
    pub fn of(path: &str) -> Role {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_in = |is: fn(&str) -> bool| folders.split('/').any(is);
        let name = name.to_ascii_lowercase();
        if is_in(|folder| is_test_folder(folder) || is_test_data(folder)) || is_test_name(&name) {
            Role::Test
        } else if is_in(|folder| matches!(folder, "docs" | "doc" | "examples" | "example"))
            || is_document_name(&name)
        {
            Role::Document
        } else {
            Role::Code
        }
    }
}

/// Whether a folder of this name holds tests.
pub fn is_test_folder(folder: &str) -> bool {
    matches!(
        folder,
        "test" | "tests" | "__tests__" | "spec" | "specs" | "testing" | "e2e"
    )
}

/// Whether a file of this name, in lower case, is a test.
pub fn is_test_name(lower: &str) -> bool {
    let stem = lower.rsplit_once('.').map_or(lower, |(stem, _)| stem);
    stem.starts_with("test_")
        || [".test", ".spec", "_test", "_spec", "-test", "-spec"]
            .iter()
            .any(|end| stem.ends_with(end))
        || stem == "conftest"
        || (lower.ends_with("test.java") || lower.ends_with("tests.cs"))
}

/// Whether a file of this name, in lower case, is a document.
pub fn is_document_name(lower: &str) -> bool {
    let stem = lower.split('.').next().unwrap_or(lower);
    let known = [
        "readme",
        "license",
        "licence",
        "changelog",
        "contributing",
        "authors",
        "notice",
    ];
    known.contains(&stem)
        || [".md", ".markdown", ".rst", ".adoc"]
            .iter()
            .any(|end| lower.ends_with(end))
}

fn is_test_data(folder: &str) -> bool {
    matches!(
        folder,
        "testdata" | "fixtures" | "__snapshots__" | "benches" | "benchmarks"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_of_a_file_follows_from_its_path() {
        let cases = [
            ("src/cache.rs", Role::Code),
            ("context_test.go", Role::Test),
            ("gson/src/test/java/com/FooTest.java", Role::Test),
            ("src/testdata/a.rs", Role::Test),
            ("docs/guide/setup.py", Role::Document),
            ("examples/hello.rs", Role::Document),
            ("CHANGES.rst", Role::Document),
            ("src/contest.py", Role::Code),
        ];
        for (path, role) in cases {
            assert_eq!(Role::of(path), role, "{path}");
        }
    }
}
