//! The part of Markdown that these tests need: fenced blocks with marks above them, headings, links.

use std::fs;
use std::path::{Path, PathBuf};

/// A page of the repository.
pub(crate) struct Page {
    /// Relative to the repository's root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A fenced block.
#[derive(Debug)]
pub(crate) struct Block {
    /// The line of its fence, from 1.
    pub(crate) line: usize,
    pub(crate) language: String,
    /// The mark in a comment just above it.
    pub(crate) mark: Option<Mark>,
    pub(crate) text: String,
}

/// What a comment above a block says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    Scenario(String),
    File(String),
    Sample(String),
}

/// A line of a page, and whether it is in a fence.
enum Line<'a> {
    Fence(&'a str),
    Inside(&'a str),
    Prose(&'a str),
}

pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap().to_owned()
}

/// README and its neighbours, everything in `docs`, and the pages for chart and Compose.
pub(crate) fn pages() -> Vec<Page> {
    let names = [
        "README.md",
        "ARCHITECTURE.md",
        "SECURITY.md",
        "CHANGELOG.md",
    ];
    let mut paths: Vec<PathBuf> = names.iter().map(|name| root().join(name)).collect();
    for folder in ["docs", "helm", "deploy"] {
        collect(&root().join(folder), &mut paths);
    }
    paths.sort();
    paths.iter().map(|path| Page::read(path)).collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|it| it == "md") {
            found.push(path);
        }
    }
}

impl Page {
    pub(crate) fn read(path: &Path) -> Page {
        let text = fs::read_to_string(path).unwrap();
        let path = path.strip_prefix(root()).unwrap();
        Page {
            path: path.to_str().unwrap().to_owned(),
            text,
        }
    }

    fn lines(&self) -> impl Iterator<Item = (usize, Line<'_>)> {
        let mut fence = None;
        self.text.lines().enumerate().map(move |(index, line)| {
            let ticks = line.trim_start();
            let ticks = ticks.len() - ticks.trim_start_matches('`').len();
            let line = match fence {
                None if ticks >= 3 => {
                    fence = Some(ticks);
                    Line::Fence(line)
                }
                None => Line::Prose(line),
                Some(open) if ticks >= open && line.trim().chars().all(|it| it == '`') => {
                    fence = None;
                    Line::Fence("")
                }
                Some(_) => Line::Inside(line),
            };
            (index + 1, line)
        })
    }

    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut mark = None;
        for (line, it) in self.lines() {
            match it {
                Line::Fence("") => {}
                Line::Fence(fence) => blocks.push(Block {
                    line,
                    language: fence.trim().trim_start_matches('`').trim().to_owned(),
                    mark: mark.take(),
                    text: String::new(),
                }),
                Line::Inside(text) => {
                    let block = blocks.last_mut().unwrap();
                    block.text.push_str(text);
                    block.text.push('\n');
                }
                Line::Prose("") => {}
                Line::Prose(text) => mark = Mark::parse(text),
            }
        }
        blocks
    }

    /// Replaces the content of a block.
    pub(crate) fn replace(&mut self, block: &Block, text: &str) {
        let mut lines: Vec<&str> = self.text.split('\n').collect();
        let there = block.line..block.line + block.text.lines().count();
        lines.splice(there, text.lines());
        self.text = lines.join("\n");
    }

    /// The anchors of its headings.
    pub(crate) fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        for (_, line) in self.lines() {
            let Line::Prose(line) = line else { continue };
            let title = line.trim_start_matches('#');
            let level = line.len() - title.len();
            if !(1..=6).contains(&level) || !title.starts_with(' ') {
                continue;
            }
            let name = anchor(title.trim());
            let before = anchors.iter().filter(|it| **it == name).count();
            anchors.push(match before {
                0 => name,
                more => format!("{name}-{more}"),
            });
        }
        anchors
    }

    /// Inline code, one line each.
    pub(crate) fn code(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut paragraph = String::new();
        for (_, line) in self.lines() {
            match line {
                Line::Prose(text) if !text.is_empty() => {
                    paragraph.push_str(text);
                    paragraph.push(' ');
                }
                _ => found.append(&mut spans(&std::mem::take(&mut paragraph))),
            }
        }
        found.append(&mut spans(&paragraph));
        found
    }

    /// The targets of its links, with their lines.
    pub(crate) fn links(&self) -> Vec<(usize, String)> {
        let mut links = Vec::new();
        for (number, line) in self.lines() {
            let Line::Prose(line) = line else { continue };
            let prose: Vec<&str> = line.split('`').step_by(2).collect();
            let prose = prose.join("");
            let targets = prose.split("](").skip(1);
            let targets = targets.filter_map(|rest| rest.split([')', ' ']).next());
            links.extend(targets.map(|target| (number, target.to_owned())));
        }
        links
    }
}

impl Mark {
    fn parse(line: &str) -> Option<Mark> {
        let said = line.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
        let (kind, value) = said.trim().split_once(": ")?;
        match kind {
            "scenario" => Some(Mark::Scenario(value.to_owned())),
            "file" => Some(Mark::File(value.to_owned())),
            "sample" => Some(Mark::Sample(value.to_owned())),
            _ => None,
        }
    }
}

/// The text between two equal runs of backticks.
fn spans(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('`') {
        let code = after.trim_start_matches('`');
        let ticks = "`".repeat(1 + after.len() - code.len());
        let Some((code, after)) = code.split_once(&ticks) else {
            break;
        };
        let words: Vec<&str> = code.split_whitespace().collect();
        found.push(words.join(" "));
        rest = after;
    }
    found
}

/// A heading's anchor, as GitHub and mdBook make it.
fn anchor(title: &str) -> String {
    let kept = title.to_lowercase();
    let kept = kept.chars().filter_map(|it| match it {
        ' ' => Some('-'),
        '-' | '_' => Some(it),
        _ => it.is_alphanumeric().then_some(it),
    });
    kept.collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn page(text: &str) -> Page {
        let (path, text) = ("page.md".to_owned(), text.to_owned());
        Page { path, text }
    }

    #[test]
    fn a_block_has_the_mark_just_above_it_and_no_other() {
        let page = page(
            "<!-- scenario: a/b -->\n```sh\none\n```\n```sh\ntwo\n```\n<!-- file: x -->\ntext\n```\n```\n",
        );
        let blocks = page.blocks();
        assert_eq!(blocks[0].mark, Some(Mark::Scenario("a/b".to_owned())));
        assert_eq!((blocks[0].text.as_str(), blocks[0].line), ("one\n", 2));
        assert!(blocks[1].mark.is_none() && blocks[2].mark.is_none());
    }

    #[test]
    fn code_within_sentences_may_go_on_in_the_next_line() {
        let page = page("a `b\n  c` (```` ```d ````), `e`\n\n`f\n```sh\ng\n```\n`h`\n");
        assert_eq!(page.code(), ["b c", "```d", "e", "h"]);
    }

    #[test]
    fn links_and_headings_in_fences_and_code_are_none() {
        let page = page("# A b, `c`!\n## A b, c\n`[x](y)` [p](q#r)\n```\n# no\n[x](y)\n```\n");
        assert_eq!(page.anchors(), ["a-b-c", "a-b-c-1"]);
        assert_eq!(page.links(), [(3, "q#r".to_owned())]);
    }
}
