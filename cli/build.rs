//! Rebuilds the binary when a migration is added: `sqlx::migrate!` alone notices changed files only.

fn main() {
    println!("cargo::rerun-if-changed=../migrations");
}
