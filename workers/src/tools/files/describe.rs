//! Describes a file by its path: its language, its role in the project, its module.

use archway_index::role::{is_document_name, is_test_folder, is_test_name};

/// The language of a file: GitHub linguist's name in lower case, or `text` if unknown.
pub(in crate::tools) fn language(path: &str) -> &'static str {
    let name = name(path);
    let by_name = match name {
        "Dockerfile" | "Containerfile" => Some("dockerfile"),
        "Makefile" | "GNUmakefile" | "makefile" => Some("makefile"),
        "CMakeLists.txt" => Some("cmake"),
        "Gemfile" | "Rakefile" => Some("ruby"),
        "go.mod" => Some("go module"),
        "go.sum" => Some("go checksums"),
        "Cargo.lock" => Some("toml"),
        "Jenkinsfile" => Some("groovy"),
        _ => None,
    };
    let by_extension = || {
        let extension = extension(name)?;
        programming(&extension).or_else(|| markup_or_data(&extension))
    };
    by_name.or_else(by_extension).unwrap_or("text")
}

fn programming(extension: &str) -> Option<&'static str> {
    Some(match extension {
        "rs" => "rust",
        "ts" | "tsx" | "mts" | "cts" => "typescript",
        "js" | "jsx" | "mjs" | "cjs" => "javascript",
        "py" | "pyi" => "python",
        "go" => "go",
        "java" => "java",
        "kt" | "kts" => "kotlin",
        "scala" | "sc" => "scala",
        "groovy" | "gradle" => "groovy",
        "c" | "h" => "c",
        "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" => "c++",
        "cs" => "c#",
        "fs" => "f#",
        "rb" => "ruby",
        "php" => "php",
        "swift" => "swift",
        "m" => "objective-c",
        "dart" => "dart",
        "ex" | "exs" => "elixir",
        "erl" => "erlang",
        "hs" => "haskell",
        "ml" | "mli" => "ocaml",
        "clj" | "cljs" => "clojure",
        "lua" => "lua",
        "pl" | "pm" => "perl",
        "r" => "r",
        "jl" => "julia",
        "zig" => "zig",
        "sh" | "bash" | "zsh" => "shell",
        "ps1" => "powershell",
        "sql" => "sql",
        _ => return None,
    })
}

fn markup_or_data(extension: &str) -> Option<&'static str> {
    Some(match extension {
        "html" | "htm" => "html",
        "css" => "css",
        "scss" => "scss",
        "less" => "less",
        "vue" => "vue",
        "svelte" => "svelte",
        "json" | "jsonl" => "json",
        "yaml" | "yml" => "yaml",
        "toml" => "toml",
        "xml" => "xml",
        "ini" | "cfg" => "ini",
        "md" | "markdown" => "markdown",
        "rst" => "restructuredtext",
        "adoc" => "asciidoc",
        "tex" => "tex",
        "proto" => "protocol buffer",
        "graphql" | "gql" => "graphql",
        "tf" => "hcl",
        "nix" => "nix",
        "cmake" => "cmake",
        "dockerfile" => "dockerfile",
        "ipynb" => "jupyter notebook",
        "csv" => "csv",
        _ => return None,
    })
}

/// The role of a file: `test`, `docs`, `build`, `config` or `core`, whichever matches first.
pub(in crate::tools) fn role(path: &str) -> &'static str {
    let name = name(path);
    let lower = name.to_ascii_lowercase();
    let extension = extension(name).unwrap_or_default();
    if folders(path).any(is_test_folder) || is_test_name(name) {
        "test"
    } else if folders(path).any(|folder| matches!(folder, "docs" | "doc"))
        || is_document_name(&lower)
    {
        "docs"
    } else if folders(path).any(|folder| matches!(folder, ".github" | ".circleci" | ".ci"))
        || is_build(&lower, &extension)
    {
        "build"
    } else if is_config(&lower, &extension) {
        "config"
    } else {
        "core"
    }
}

/// The nearest folder that is not a mere container: `src/auth/jwt.ts` → `auth`. `""` without one.
pub(in crate::tools) fn module(path: &str) -> &str {
    const CONTAINERS: [&str; 9] = [
        "src", "lib", "app", "apps", "packages", "crates", "pkg", "internal", "cmd",
    ];
    let names_a_module = |folder: &&str| !CONTAINERS.contains(folder) && !is_test_folder(folder);
    folders(path).filter(names_a_module).last().unwrap_or("")
}

fn is_build(lower: &str, extension: &str) -> bool {
    const NAMES: [&str; 14] = [
        "makefile",
        "gnumakefile",
        "cmakelists.txt",
        "build.rs",
        "cargo.toml",
        "package.json",
        "go.mod",
        "pom.xml",
        "pyproject.toml",
        "setup.py",
        "gemfile",
        "rakefile",
        "jenkinsfile",
        "build.zig",
    ];
    NAMES.contains(&lower)
        || lower.contains("dockerfile")
        || lower.starts_with("docker-compose")
        || lower.ends_with("-lock.json")
        || matches!(extension, "gradle" | "cmake" | "mk" | "bazel" | "lock")
}

fn is_config(lower: &str, extension: &str) -> bool {
    lower.starts_with('.')
        || lower.contains(".config.")
        || matches!(
            extension,
            "toml" | "yaml" | "yml" | "json" | "ini" | "cfg" | "conf" | "properties" | "tf" | "xml"
        )
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The last suffix in lower case, without its dot. `None` for `Makefile` and `.bashrc`.
pub(super) fn extension(name: &str) -> Option<String> {
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty() && !extension.is_empty()).then(|| extension.to_ascii_lowercase())
}

fn folders(path: &str) -> impl Iterator<Item = &str> {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').filter(|folder| !folder.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_described_by_its_path() {
        let cases = [
            ("src/auth/jwt.ts", "typescript", "core", "auth"),
            (
                "src/server/auth/AuthService.tsx",
                "typescript",
                "core",
                "auth",
            ),
            ("main.h", "c", "core", ""),
            ("crates/core/src/lib.rs", "rust", "core", "core"),
            ("src/main.rs", "rust", "core", ""),
            ("tests/auth/login.rs", "rust", "test", "auth"),
            ("pkg/net/dial_test.go", "go", "test", "net"),
            ("docs/auth/README.md", "markdown", "docs", "auth"),
            ("docs/conf.toml", "toml", "docs", "docs"),
            ("tests/README.md", "markdown", "test", ""),
            ("Cargo.toml", "toml", "build", ""),
            ("app/Dockerfile", "dockerfile", "build", ""),
            ("config/site.yaml", "yaml", "config", "config"),
            (".editorconfig", "text", "config", ""),
            ("a/LICENSE", "text", "docs", "a"),
        ];
        for (path, expected_language, expected_role, expected_module) in cases {
            assert_eq!(
                (language(path), role(path), module(path)),
                (expected_language, expected_role, expected_module),
                "{path}"
            );
        }
    }

    #[test]
    fn an_extension_is_the_last_suffix_in_lower_case() {
        assert_eq!(extension("a.tar.GZ").as_deref(), Some("gz"));
        for none in ["Makefile", ".bashrc", "a."] {
            assert_eq!(extension(none), None, "{none}");
        }
    }
}
