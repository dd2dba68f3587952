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
        if is_in(|folder| is_test_folder(folder) || is_test_data(folder)) || is_test_name(name) {
            Role::Test
        } else if is_in(|folder| is_one_of(folder, &["docs", "doc", "examples", "example"]))
            || is_document_name(&name.to_ascii_lowercase())
        {
            Role::Document
        } else {
            Role::Code
        }
    }
}

/// Whether a folder of this name holds tests: `tests`, `Tests`, `Gate.Tests`, `androidTest`. A
/// package `gate-test` may be code for tests of others.
pub fn is_test_folder(folder: &str) -> bool {
    const WHOLE: [&str; 7] = [
        "test",
        "tests",
        "__tests__",
        "spec",
        "specs",
        "testing",
        "e2e",
    ];
    let last = words(folder).next_back().unwrap_or_default();
    is_one_of(folder, &WHOLE) || last == "Test" || last.eq_ignore_ascii_case("tests")
}

/// Whether a file of this name is a test, by the words of its name: `test_gate.py`, `GateTest.java`,
/// `gate.spec.ts`, but not `Latest.java`.
pub fn is_test_name(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let mut words = words(stem);
    let (first, last) = (words.next().unwrap_or_default(), words.next_back());
    let is_case = last.is_some_and(|last| is_one_of(last, &["Case", "Cases"]));
    let before_case = words.next_back().filter(|_| is_case);
    match last {
        None => is_one_of(first, &["tests", "conftest"]),
        Some(last) => {
            let is_spec = is_one_of(last, &["spec"]) && !stem.ends_with("Spec");
            first.eq_ignore_ascii_case("test")
                || is_spec
                || is_one_of(last, &["test", "tests", "unittest"])
                || before_case == Some("Test")
        }
    }
}

/// The words of a name: `HTTPGateTest`, `http_gate_test` and `http-gate.test` have three each.
fn words(name: &str) -> impl DoubleEndedIterator<Item = &str> {
    let parts = name.split(|c: char| !c.is_alphanumeric());
    parts.flat_map(humps).filter(|word| !word.is_empty())
}

/// The parts of a word that begin with capital letters.
fn humps(word: &str) -> Vec<&str> {
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    let starts = letters.windows(2).enumerate().filter_map(|(at, pair)| {
        let [(_, before), (start, c)] = pair else {
            return None;
        };
        let next = letters.get(at + 2);
        let ends_acronym = next.is_some_and(|(_, next)| next.is_lowercase());
        (c.is_uppercase() && (!before.is_uppercase() || ends_acronym)).then_some(*start)
    });
    let starts: Vec<usize> = starts.collect();
    let ends = starts.iter().copied().chain([word.len()]);
    let begins = [0].into_iter().chain(starts.iter().copied());
    begins
        .zip(ends)
        .filter_map(|(begin, end)| word.get(begin..end))
        .collect()
}

/// Whether a name is one of these, in any case.
fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|it| it.eq_ignore_ascii_case(name))
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
    const NAMES: [&str; 5] = [
        "testdata",
        "fixtures",
        "__snapshots__",
        "benches",
        "benchmarks",
    ];
    is_one_of(folder, &NAMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_whole_words() {
        for name in [
            "GateTest.java",
            "HTTPTest.java",
            "GateTests.cs",
            "GateTestCase.php",
            "TestGate.java",
            "testGate.js",
            "gate_test.go",
            "test_gate.py",
            "gate.spec.ts",
            "gate.test.tsx",
            "gate-test.js",
            "gate_spec.rb",
            "gate_unittest.cc",
            "app.e2e-spec.ts",
            "tests.rs",
            "conftest.py",
        ] {
            assert!(is_test_name(name), "{name}");
        }
        for name in [
            "Latest.java",
            "Contest.java",
            "latests.cs",
            "Testament.java",
            "testing.py",
            "testclient.py",
            "test.rs",
            "attest.go",
            "PodSpec.java",
            "spec.rs",
            "TestimonialCase.php",
            "GateCase.php",
            "",
            ".test",
        ] {
            assert!(!is_test_name(name), "{name}");
        }
    }

    #[test]
    fn folders_of_tests_are_known_in_any_case() {
        for folder in [
            "Tests",
            "TEST",
            "Gate.Tests",
            "Gate.Test",
            "integration-tests",
            "androidTest",
            "__tests__",
            "Spec",
        ] {
            assert!(is_test_folder(folder), "{folder}");
        }
        for folder in ["latest", "contests", "spring-boot-test", "openapi-spec", ""] {
            assert!(!is_test_folder(folder), "{folder}");
        }
    }

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
            ("src/Latest.java", Role::Code),
            ("Gate/Tests/Gate.swift", Role::Test),
            ("Docs/setup.py", Role::Document),
        ];
        for (path, role) in cases {
            assert_eq!(Role::of(path), role, "{path}");
        }
    }
}
