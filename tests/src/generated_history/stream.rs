//! The input of `git fast-import`: blobs, commits and tags, each with a mark.

use std::io::Write;

use super::{
    people::{Person, Stamp},
    tree::{Entry, EntryKind},
};

/// An object's name within the stream.
pub(super) type Mark = u64;

/// A commit without its changes.
pub(super) struct Commit<'a> {
    pub(super) branch: &'a str,
    pub(super) author: (&'a Person, Stamp),
    pub(super) committer: (&'a Person, Stamp),
    pub(super) message: &'a [u8],
    /// Marks of the parents, the first parent first; empty for a root.
    pub(super) parents: &'a [Mark],
}

/// Writes the stream. Dropping it ends the stream.
pub(super) struct Stream<W: Write> {
    out: W,
    last: Mark,
}

impl<W: Write> Stream<W> {
    pub(super) fn new(out: W) -> Stream<W> {
        Stream { out, last: 0 }
    }

    /// A file's content.
    pub(super) fn blob(&mut self, content: &[u8]) -> Mark {
        self.last += 1;
        let mark = self.last;
        self.line(format_args!("blob\nmark :{mark}"));
        self.data(content);
        mark
    }

    /// A commit and its changes to the files of its first parent: a path and its new entry, or `None` to
    /// delete it.
    pub(super) fn commit<'e>(
        &mut self,
        commit: &Commit<'_>,
        changes: impl Iterator<Item = (&'e [u8], Option<&'e Entry>)> + Clone,
    ) -> Mark {
        self.last += 1;
        let mark = self.last;
        let branch = commit.branch;
        self.line(format_args!("commit refs/heads/{branch}\nmark :{mark}"));
        self.person("author", commit.author);
        self.person("committer", commit.committer);
        self.data(commit.message);
        for (number, parent) in commit.parents.iter().enumerate() {
            let word = if number == 0 { "from" } else { "merge" };
            self.line(format_args!("{word} :{parent}"));
        }
        // Deletions first, since a file may replace a folder.
        for (path, _) in changes.clone().filter(|(_, entry)| entry.is_none()) {
            self.line(format_args!("D {}", quoted(path)));
        }
        for (path, entry) in changes {
            let Some(entry) = entry else { continue };
            let (mode, path) = (entry.mode(), quoted(path));
            match &entry.what {
                EntryKind::Commit(id) => self.line(format_args!("M {mode} {id} {path}")),
                EntryKind::Text(mark, _) | EntryKind::Binary(mark) | EntryKind::Link(mark) => {
                    self.line(format_args!("M {mode} :{mark} {path}"));
                }
            }
        }
        mark
    }

    /// A tag: annotated if it has a tagger, else lightweight.
    pub(super) fn tag(&mut self, name: &str, of: Mark, by: Option<(&Person, Stamp)>) {
        match by {
            None => self.line(format_args!("reset refs/tags/{name}\nfrom :{of}\n")),
            Some(tagger) => {
                self.line(format_args!("tag {name}\nfrom :{of}"));
                self.person("tagger", tagger);
                self.data(b"a release\n");
            }
        }
    }

    fn person(&mut self, role: &str, (person, stamp): (&Person, Stamp)) {
        let who = [person.name, b" <", person.email.as_bytes(), b"> "].concat();
        let written = write!(self.out, "{role} ").and_then(|()| self.out.write_all(&who));
        written.expect("git reads");
        self.line(format_args!("{} {}", stamp.seconds, stamp.zone));
    }

    fn data(&mut self, bytes: &[u8]) {
        self.line(format_args!("data {}", bytes.len()));
        self.out.write_all(bytes).expect("git reads");
        self.line(format_args!(""));
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.out, "{text}").expect("git reads");
    }
}

/// A path as a C-style string of git: always quoted, with unusual bytes in octal.
fn quoted(path: &[u8]) -> String {
    let mut text = String::from('"');
    for &byte in path {
        match byte {
            b' '..=b'~' if byte != b'"' && byte != b'\\' => text.push(char::from(byte)),
            _ => text += &format!("\\{byte:03o}"),
        }
    }
    text.push('"');
    text
}
