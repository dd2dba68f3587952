//! Which files people did not write in this repository: generated ones and vendored ones.
//!
//! Judged by the path alone, by the rules of GitHub Linguist that do so: its `vendor.yml`, and the
//! names of its `generated.rb`.

/// Folders, at any depth, whose files come from elsewhere or from a program.
const FOLDERS: [&[u8]; 17] = [
    b"vendor",
    b"vendors",
    b"third_party",
    b"third-party",
    b"thirdparty",
    b"3rdparty",
    b"node_modules",
    b"bower_components",
    b"jspm_packages",
    b"godeps",
    b"pods",
    b"carthage",
    b"dist",
    b"generated",
    b"__generated__",
    b"__snapshots__",
    b".yarn",
];

/// Names of lock files.
const NAMES: [&[u8]; 16] = [
    b"cargo.lock",
    b"cargo.toml.orig",
    b"composer.lock",
    b"deno.lock",
    b"flake.lock",
    b"gemfile.lock",
    b"go.sum",
    b"gopkg.lock",
    b"npm-shrinkwrap.json",
    b"package-lock.json",
    b"package.resolved",
    b"pipfile.lock",
    b"pnpm-lock.yaml",
    b"poetry.lock",
    b"uv.lock",
    b"yarn.lock",
];

/// Ends of names.
const ENDINGS: [&[u8]; 20] = [
    b".min.js",
    b".min.css",
    b".min.mjs",
    b".js.map",
    b".css.map",
    b".pb.go",
    b".pb.cc",
    b".pb.h",
    b".pb.swift",
    b"_pb.js",
    b"_pb.d.ts",
    b"_pb2.py",
    b"_pb2.pyi",
    b"_pb2_grpc.py",
    b".g.dart",
    b".freezed.dart",
    b".g.cs",
    b".designer.cs",
    b".designer.vb",
    b".snap",
];

/// Whether a file with this path is generated or vendored, ASCII case aside.
pub fn is_generated(path: &[u8]) -> bool {
    let path = path.to_ascii_lowercase();
    let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    let name = parts.pop().unwrap_or_default();
    let is_marked = |mark: &[u8]| memchr::memmem::find(name, mark).is_some();
    parts.iter().any(|folder| FOLDERS.contains(folder))
        || NAMES.contains(&name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || is_marked(b".generated.")
        || name.starts_with(b"zz_generated")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_files_builds_and_copies_are_generated() {
        for path in [
            "Cargo.lock",
            "web/package-lock.json",
            "vendor/github.com/a/b.go",
            "src/Third_Party/zlib/inflate.c",
            "api/v1/service.pb.go",
            "assets/jquery.min.js",
            "pkg/apis/zz_generated.deepcopy.go",
            "src/schema.generated.ts",
            "web/__snapshots__/page.test.js.snap",
        ] {
            assert!(is_generated(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn what_people_write_is_not() {
        for path in [
            "src/main.rs",
            "docs/vendor.md",
            "src/generator.rs",
            "src/distance/dist.rs",
            "lock.rs",
            "vendor",
            "src/snapshots.js",
            "",
        ] {
            assert!(!is_generated(path.as_bytes()), "{path}");
        }
    }
}
