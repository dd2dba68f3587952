//! Generates random histories of edits, renames and merges.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use archway_repo::testing::Sandbox;

use crate::git_comparison::import;

/// Random edits of lines. Few distinct lines, so that changes are ambiguous.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, end: usize) -> usize {
        // Steele and Vigna's splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    fn line(&mut self) -> String {
        let indent = "\t".repeat(self.below(4));
        match self.below(8) {
            0 | 1 => String::new(),
            2 => format!("{indent}}}"),
            3 => format!("{indent}{{"),
            4 => format!("{indent}step{};\r", self.below(20)),
            _ => format!("{indent}let a{} = {};", self.below(30), self.below(9)),
        }
    }

    fn lines(&mut self, most: usize) -> Vec<String> {
        (0..self.below(most)).map(|_| self.line()).collect()
    }

    fn edit(&mut self, lines: &mut Vec<String>) {
        for _ in 0..=self.below(4) {
            let from = self.below(lines.len() + 1);
            let to = (from + self.below(6)).min(lines.len());
            match self.below(6) {
                0 => drop(lines.drain(from..to)),
                1 => {
                    let moved: Vec<_> = lines.drain(from..to).collect();
                    let at = self.below(lines.len() + 1);
                    lines.splice(at..at, moved);
                }
                2 => {
                    let copied = lines[from..to].to_vec();
                    lines.splice(to..to, copied);
                }
                3 => {
                    let other = self.lines(6);
                    lines.splice(from..to, other);
                }
                _ => {
                    let more = self.lines(8);
                    lines.splice(from..from, more);
                }
            }
        }
    }
}

type Files = BTreeMap<String, Vec<String>>;

/// A history of random edits, renames and merges, as a stream for fast-import.
pub(super) struct GeneratedHistory {
    random: Random,
    stream: String,
    /// The files of every commit; marks count from 1.
    pub(super) commits: Vec<Files>,
}

impl GeneratedHistory {
    pub(super) fn of(seed: u64, commits: usize) -> GeneratedHistory {
        let mut history = GeneratedHistory {
            random: Random(seed),
            stream: String::new(),
            commits: Vec::new(),
        };
        while history.commits.len() < commits {
            history.step();
        }
        history
    }

    fn step(&mut self) {
        let count = self.commits.len();
        let recent = |random: &mut Random| count - 1 - random.below(count.min(6));
        let mut parents = Vec::new();
        if count > 0 {
            parents.push(recent(&mut self.random));
            for _ in 0..[0, 0, 0, 1, 1, 2][self.random.below(6)] {
                parents.push(recent(&mut self.random));
            }
            parents.dedup();
        }
        let mut files = self.merged(&parents);
        for _ in 0..self.random.below(3) {
            self.change(&mut files);
        }
        if files.is_empty() {
            files.insert("a/one.rs".to_owned(), self.random.lines(40));
        }
        self.write(&parents, &files);
        self.commits.push(files);
    }

    /// The files of all parents. Where several have a file: that of one, or lines of both.
    fn merged(&mut self, parents: &[usize]) -> Files {
        let mut files = Files::new();
        for &parent in parents {
            for (name, lines) in self.commits[parent].clone() {
                let is_first = files.is_empty();
                match (files.get_mut(&name), self.random.below(4)) {
                    (Some(_), 0) => {}
                    (Some(known), 1) => *known = lines,
                    (Some(known), _) => {
                        let at = self.random.below(known.len().min(lines.len()) + 1);
                        known.splice(at.., lines[at..].to_vec());
                    }
                    (None, 0) if !is_first => {}
                    (None, _) => drop(files.insert(name, lines)),
                }
            }
        }
        files
    }

    fn change(&mut self, files: &mut Files) {
        let names: Vec<_> = files.keys().cloned().collect();
        let new = format!(
            "{}/{}.rs",
            ["a", "b", "a/deep"][self.random.below(3)],
            ["one", "two", "three"][self.random.below(3)]
        );
        let Some(name) = names.get(self.random.below(names.len())) else {
            return;
        };
        match self.random.below(12) {
            0 => drop(files.insert(new, self.random.lines(40))),
            1 if files.len() > 2 => drop(files.remove(name)),
            2 | 3 => {
                let mut lines = files.remove(name).unwrap();
                if self.random.below(2) == 0 {
                    self.random.edit(&mut lines);
                }
                files.insert(new, lines);
            }
            4 => {
                let lines = files[name].clone();
                files.insert(new, lines);
            }
            _ => self.random.edit(files.get_mut(name).unwrap()),
        }
    }

    fn write(&mut self, parents: &[usize], files: &Files) {
        let mark = self.commits.len() + 1;
        // Some commits share a second, and some clocks are wrong.
        let time = 1_700_000_000 + mark / 2 * 60 - [0, 0, 0, 400][self.random.below(4)];
        let out = &mut self.stream;
        _ = write!(out, "commit refs/heads/c{mark}\nmark :{mark}\n");
        _ = write!(
            out,
            "committer A <a@b.c> {time} +0000\ndata 1\n{}\n",
            mark % 10
        );
        for (at, parent) in parents.iter().enumerate() {
            let how = if at == 0 { "from" } else { "merge" };
            _ = writeln!(out, "{how} :{}", parent + 1);
        }
        out.push_str("deleteall\n");
        for (name, lines) in files {
            let mut text = lines.join("\n");
            if self.random.below(6) > 0 && !text.is_empty() {
                text.push('\n');
            }
            _ = write!(out, "M 100644 inline {name}\ndata {}\n{text}\n", text.len());
        }
    }

    pub(super) fn import(&self) -> Sandbox {
        let app = Sandbox::new();
        app.git(&["init", "-q", "-b", "c1"]);
        import(&app.root(), self.stream.as_bytes());
        app
    }
}
