//! The Dockerfile: what the image contains and how it describes itself.

use std::path::Path;

use super::read;
use crate::tidy::root;

/// Its instructions, without comments and line continuations.
fn instructions() -> Vec<String> {
    let text = read("Dockerfile");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let joined = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    let lines = joined.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.join(" ")
    });
    lines.filter(|line| !line.is_empty()).collect()
}

#[test]
fn base_images_are_pinned_by_digest() {
    let arguments = instructions();
    let base = |name: &str| {
        let argument = arguments.iter().find_map(|line| line.strip_prefix(name));
        let (image, digest) = argument.unwrap().split_once("@sha256:").expect("a digest");
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(is_digest, "{digest}");
        image.to_owned()
    };
    let toolchain = format!(
        "docker.io/library/rust:{}-bookworm",
        env!("CARGO_PKG_RUST_VERSION")
    );
    assert_eq!(base("ARG BUILDER="), toolchain);
    assert_eq!(
        base("ARG RUNTIME="),
        "gcr.io/distroless/cc-debian12:nonroot"
    );
    let from: Vec<&String> = arguments
        .iter()
        .filter(|line| line.starts_with("FROM"))
        .collect();
    let expected = [
        "FROM ${BUILDER} AS build",
        "FROM scratch AS symbols",
        "FROM ${RUNTIME}",
    ];
    assert_eq!(from, expected);
}

#[test]
fn the_image_takes_the_binary_from_the_folder_of_its_build_profile() {
    let lines = instructions();
    let build = lines.iter().find(|line| line.contains("cargo build"));
    let words: Vec<&str> = build.unwrap().split(' ').collect();
    let after = |option: &str| {
        let at = words.iter().position(|word| *word == option).unwrap();
        words[at + 1]
    };
    let profile = after("--profile");
    assert!(read("Cargo.toml").contains(&format!("\n[profile.{profile}]\n")));
    let built = format!("target/{profile}/{}", after("--package"));
    let from = words.iter().position(|word| *word == built);
    assert!(words[..from.unwrap()].contains(&"install"), "{words:?}");
    let out = words[from.unwrap() + 1];
    let copied = format!("COPY --from=build {out} /usr/local/bin/archway");
    assert!(lines.contains(&copied), "{copied}");
}

#[test]
fn no_binary_has_debug_information_and_the_images_is_extractable() {
    let manifest = read("Cargo.toml");
    let profile = |name: &str| {
        let (_, rest) = manifest
            .split_once(&format!("\n[profile.{name}]\n"))
            .unwrap();
        rest.split("\n\n").next().unwrap_or(rest).to_owned()
    };
    let release = profile("release");
    assert!(release.contains("debug = false") && release.contains("strip = \"debuginfo\""));
    // Split debug information has to be generated.
    let dist = profile("dist");
    assert!(dist.contains("debug = \"line-tables-only\"") && dist.contains("strip = \"none\""));
    let lines = instructions();
    let build = lines
        .iter()
        .find(|line| line.contains("cargo build"))
        .unwrap();
    let steps: Vec<&str> = build.split(" && ").collect();
    let kept = "/symbols/archway.debug";
    let keep = format!("objcopy --only-keep-debug --compress-debug-sections /out/archway {kept}");
    let strip = format!("objcopy --strip-debug --add-gnu-debuglink={kept} /out/archway");
    assert_eq!(steps[steps.len() - 2..], [keep, strip]);
    assert!(lines.contains(&format!("COPY --from=build {kept} /")));
}

#[test]
fn the_image_runs_unprivileged_and_has_a_health_check() {
    let lines = instructions();
    let last = |name: &str| {
        let found = lines.iter().rev().find_map(|line| line.strip_prefix(name));
        found.unwrap_or_else(|| panic!("no {name}"))
    };
    assert_eq!(last("USER "), "65532:65532");
    assert_eq!(last("ENTRYPOINT "), r#"["/usr/local/bin/archway"]"#);
    let check = last("HEALTHCHECK ");
    assert!(check.ends_with(r#"CMD ["/usr/local/bin/archway", "healthcheck"]"#));
    let version = format!(
        "org.opencontainers.image.version=\"{}\"",
        env!("CARGO_PKG_VERSION")
    );
    assert!(last("LABEL ").contains(&version));
}

#[test]
fn older_builders_understand_it() {
    let text = read("Dockerfile");
    assert!(!text.to_lowercase().contains("syntax="));
    assert!(!text.contains("<<"), "here-documents");
}

#[test]
fn the_build_context_has_every_member_and_existing_paths() {
    let let_in = read(".dockerignore");
    let let_in: Vec<&str> = let_in
        .lines()
        .filter_map(|line| line.strip_prefix('!'))
        .collect();
    for path in &let_in {
        assert!(root().join(path).exists(), "{path}");
    }
    let manifest = read("Cargo.toml");
    let members = manifest
        .lines()
        .find_map(|line| line.strip_prefix("members = "));
    let members: Vec<String> = serde_json::from_str(members.unwrap()).unwrap();
    for member in members {
        let in_folder = |folder: &&str| Path::new(&member).starts_with(folder);
        assert!(let_in.iter().any(in_folder), "{member}");
    }
}
