//! Links of pages lead to existing files, headings and book pages, and named tests exist.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::pages::{Page, pages, root};

/// The table of contents of the book.
const SUMMARY: &str = "docs/src/SUMMARY.md";
/// The page that names tests as evidence.
const SECURITY: &str = "docs/src/security.md";

#[test]
fn every_relative_link_and_anchor_leads_somewhere() {
    let pages = pages();
    let anchors: BTreeMap<&str, Vec<String>> = pages
        .iter()
        .map(|page| (page.path.as_str(), page.anchors()))
        .collect();
    let mut broken = Vec::new();
    for page in &pages {
        for (line, target) in page.links() {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            if let Err(why) = leads(page, &target, &anchors) {
                broken.push(format!("{}:{line}: {target}: {why}", page.path));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "links that lead nowhere:\n{}",
        broken.join("\n")
    );
}

fn leads(page: &Page, target: &str, anchors: &BTreeMap<&str, Vec<String>>) -> Result<(), String> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => page.path.clone(),
        _ => beside(&page.path, file).ok_or("leaves the repository")?,
    };
    if !root().join(&path).exists() {
        return Err(format!("there is no {path}"));
    }
    if anchor.is_empty() {
        return Ok(());
    }
    let known = anchors
        .get(path.as_str())
        .ok_or("a page that is not looked at")?;
    match known.iter().any(|it| it == anchor) {
        true => Ok(()),
        false => Err(format!("{path} has no such heading: {known:?}")),
    }
}

/// The path of a page's link, relative to the root.
fn beside(page: &str, link: &str) -> Option<String> {
    let mut path = PathBuf::from(page);
    path.pop();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => path.pop().then_some(())?,
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    Some(path.to_str()?.to_owned())
}

#[test]
fn the_table_of_contents_lists_each_page_of_the_book_once() {
    let summary = Page::read(&root().join(SUMMARY));
    let mut listed: Vec<String> = summary
        .links()
        .into_iter()
        .map(|(_, link)| beside(SUMMARY, &link).unwrap())
        .collect();
    listed.sort();
    let pages = pages().into_iter().map(|page| page.path);
    let pages: Vec<String> = pages
        .filter(|path| path.starts_with("docs/src/") && path != SUMMARY)
        .collect();
    assert_eq!(listed, pages);
}

/// `name` in `tests/it/file.rs`, in a cell or sentence of the security page.
#[test]
fn every_test_that_the_security_page_names_exists() {
    let page = Page::read(&root().join(SECURITY));
    let mut named = 0;
    let mut missing = Vec::new();
    for word in page.text.split('`').skip(1).step_by(2) {
        let Some((file, test)) = word.split_once("::") else {
            continue;
        };
        if !file.ends_with(".rs") {
            continue;
        }
        named += 1;
        let text = fs::read_to_string(root().join(file)).unwrap_or_default();
        if !text.contains(&format!("fn {test}()")) {
            missing.push(format!("{file} has no test {test}"));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(named > 20, "the page proves what it says: {named}");
}
