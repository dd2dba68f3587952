//! How branches begin, merge and end: the commits, one after another.

use std::{collections::BTreeSet, io::Write, mem};

use rand::{Rng, rngs::StdRng};

use super::{
    edits::Edit,
    people::{self, Clock},
    stream::{Commit, Mark, Stream},
    text,
    tree::{Entry, Name, Tree},
};

const TOPICS: usize = 6;
const MAIN: &str = "main";

/// A branch's tip.
#[derive(Clone, Default)]
struct Tip {
    mark: Mark,
    tree: Tree,
}

/// A tree and the paths that changed in it.
struct Changed {
    tree: Tree,
    touched: BTreeSet<Name>,
}

/// A branch other than main.
struct Topic {
    name: String,
    tip: Tip,
    /// The tree it began from or was last merged with. Changes on either side are relative to this.
    base: Tree,
}

/// Everything that commits are made from.
pub(super) struct HistoryBuilder {
    random: StdRng,
    commits: usize,
    /// About how many files a tree has.
    files: usize,
    made: usize,
    clock: Clock,
    main: Tip,
    topics: Vec<Topic>,
    deleted: Vec<(Name, Entry)>,
    tags: usize,
}

impl HistoryBuilder {
    pub(super) fn new(random: StdRng, commits: usize) -> HistoryBuilder {
        HistoryBuilder {
            random,
            commits,
            files: (commits / 20).clamp(40, 2_500),
            made: 0,
            clock: Clock::new(),
            main: Tip {
                mark: 0,
                tree: Tree::default(),
            },
            topics: Vec::new(),
            deleted: Vec::new(),
            tags: 0,
        }
    }

    /// Writes all commits.
    pub(super) fn write_commits<W: Write>(mut self, stream: &mut Stream<W>) {
        let files = self.files;
        self.main = self.root(stream, MAIN, files, "src");
        while self.made < self.commits {
            // Once, the history of another project, to be merged like any topic.
            if self.made == self.commits / 3 {
                let tip = self.root(stream, "topic/import", 10, "import");
                self.topics.push(Topic {
                    name: "topic/import".to_owned(),
                    tip,
                    base: Tree::default(),
                });
            }
            self.step(stream);
        }
    }

    fn step<W: Write>(&mut self, stream: &mut Stream<W>) {
        match self.random.random_range(0..1000) {
            0..60 if self.topics.len() < TOPICS => self.fork(),
            60..105 if !self.topics.is_empty() => self.merge(stream, 1),
            105..110 if self.topics.len() > 2 => {
                let all = self.topics.len();
                self.merge(stream, all);
            }
            110..120 if !self.topics.is_empty() => self.criss_cross(stream),
            120..135 => self.tag(stream),
            _ => self.work(stream),
        }
    }

    /// A commit without parents.
    fn root<W: Write>(
        &mut self,
        stream: &mut Stream<W>,
        branch: &str,
        files: usize,
        top: &str,
    ) -> Tip {
        let first = self.edit(stream, Tree::default(), |edit| edit.found(files, top));
        self.commit(stream, branch, &[], first)
    }

    fn fork(&mut self) {
        let free = (0..TOPICS).map(|n| format!("topic/{n}"));
        let mut free = free.filter(|name| self.topics.iter().all(|topic| topic.name != *name));
        let Some(name) = free.next() else { return };
        let tip = self.main.clone();
        let base = tip.tree.clone();
        self.topics.push(Topic { name, tip, base });
    }

    /// An ordinary commit, on main or a topic.
    fn work<W: Write>(&mut self, stream: &mut Stream<W>) {
        let topic = (!self.topics.is_empty() && self.random.random_bool(0.5))
            .then(|| self.random.random_range(0..self.topics.len()));
        // Removed, not cloned: a tree with a single owner is changed in place.
        let (name, tip) = match topic {
            None => (MAIN.to_owned(), mem::take(&mut self.main)),
            Some(at) => {
                let topic = &mut self.topics[at];
                (topic.name.clone(), mem::take(&mut topic.tip))
            }
        };
        let changes = match self.random.random_range(0..100) {
            0 => 0,
            1..60 => 1,
            60..95 => self.random.random_range(2..5),
            _ => self.random.random_range(5..15),
        };
        let changed = self.edit(stream, tip.tree, |edit| {
            (0..changes).for_each(|_| edit.anything());
        });
        let tip = self.commit(stream, &name, &[tip.mark], changed);
        match topic {
            None => self.main = tip,
            Some(at) => self.topics[at].tip = tip,
        }
    }

    /// Merges `count` topics into main. Most of them end here.
    fn merge<W: Write>(&mut self, stream: &mut Stream<W>, count: usize) {
        let main = mem::take(&mut self.main);
        let mut parents = vec![main.mark];
        let first = self.random.random_range(0..=self.topics.len() - count);
        let merged: Vec<Topic> = self.topics.drain(first..first + count).collect();
        parents.extend(merged.iter().map(|topic| topic.tip.mark));
        let changed = self.edit(stream, main.tree, |edit| {
            for topic in &merged {
                take(edit, &topic.tip.tree, &topic.base);
            }
        });
        self.main = self.commit(stream, MAIN, &parents, changed);
        for mut topic in merged {
            if self.random.random_bool(0.3) {
                topic.base = topic.tip.tree.clone();
                self.topics.push(topic);
            }
        }
    }

    /// Main merges a topic while the topic merges main: from then on the two have two merge bases.
    fn criss_cross<W: Write>(&mut self, stream: &mut Stream<W>) {
        let at = self.random.random_range(0..self.topics.len());
        let (main, topic) = (self.main.clone(), &self.topics[at]);
        let (name, tip, base) = (topic.name.clone(), topic.tip.clone(), topic.base.clone());
        self.main = self.merge_one(stream, MAIN, &main, (&tip, &base));
        let topic = self.merge_one(stream, &name, &tip, (&main, &base));
        self.topics[at].base = topic.tree.clone();
        self.topics[at].tip = topic;
    }

    /// Merges three trees: ours, theirs and their base.
    fn merge_one<W: Write>(
        &mut self,
        stream: &mut Stream<W>,
        branch: &str,
        ours: &Tip,
        (theirs, base): (&Tip, &Tree),
    ) -> Tip {
        let tree = ours.tree.clone();
        let changed = self.edit(stream, tree, |edit| take(edit, &theirs.tree, base));
        self.commit(stream, branch, &[ours.mark, theirs.mark], changed)
    }

    fn tag<W: Write>(&mut self, stream: &mut Stream<W>) {
        self.tags += 1;
        let (number, mark) = (self.tags, self.main.mark);
        if number % 2 == 0 {
            stream.tag(&format!("at-{number}"), mark, None);
        } else {
            let now = self.clock.next(&mut self.random);
            let stamp = people::in_random_zone(&mut self.random, now);
            let by = people::random_person(&mut self.random);
            stream.tag(&format!("v{number}.0"), mark, Some((by, stamp)));
        }
    }

    /// Changes a tree.
    fn edit<W: Write>(
        &mut self,
        stream: &mut Stream<W>,
        mut tree: Tree,
        change: impl FnOnce(&mut Edit<'_, W>),
    ) -> Changed {
        let mut edit = Edit {
            random: &mut self.random,
            stream,
            tree: &mut tree,
            files: self.files,
            deleted: &mut self.deleted,
            touched: BTreeSet::new(),
        };
        change(&mut edit);
        let touched = edit.touched;
        Changed { tree, touched }
    }

    fn commit<W: Write>(
        &mut self,
        stream: &mut Stream<W>,
        branch: &str,
        parents: &[Mark],
        changed: Changed,
    ) -> Tip {
        self.made += 1;
        let random = &mut self.random;
        let committed = self.clock.next(random);
        let authored = match random.random_bool(0.8) {
            true => committed,
            false => committed - random.random_range(0..500_000),
        };
        let author = people::random_person(random);
        let committer = if random.random_bool(0.9) {
            author
        } else {
            people::random_person(random)
        };
        let commit = Commit {
            branch,
            author: (author, people::in_random_zone(random, authored)),
            committer: (committer, people::in_random_zone(random, committed)),
            message: &people::message(random, self.made),
            parents,
        };
        let Changed { tree, touched } = changed;
        let changes = touched.iter();
        let changes = changes.map(|path| (path.as_slice(), tree.get(path)));
        let mark = stream.commit(&commit, changes);
        Tip { mark, tree }
    }
}

/// Applies to a tree what another changed since their base. Where both changed a text, half of each is
/// kept.
fn take<W: Write>(edit: &mut Edit<'_, W>, theirs: &Tree, base: &Tree) {
    let paths: BTreeSet<&Name> = theirs.paths().chain(base.paths()).collect();
    for path in paths {
        let (was, now) = (base.get(path), theirs.get(path));
        let here = edit.tree.get(path).cloned();
        if was == now || here.as_ref() == now {
            continue;
        }
        let texts = (
            here.as_ref().and_then(Entry::text),
            now.and_then(Entry::text),
        );
        let entry = match (here.as_ref() == was, texts) {
            (false, (Some(ours), Some(theirs))) => {
                let merged = text::merged(ours, theirs);
                Some(Entry::plain(edit.text(merged)))
            }
            // Ours changed and theirs is no text: ours stays.
            (false, _) => continue,
            (true, _) => now.cloned(),
        };
        edit.put(path.clone(), entry);
    }
}
