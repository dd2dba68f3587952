//! Authors, their clocks and their messages.

use rand::{Rng, rngs::StdRng, seq::IndexedRandom};

/// An author or committer.
pub(super) struct Person {
    /// Bytes, since git does not require UTF-8.
    pub(super) name: &'static [u8],
    pub(super) email: &'static str,
}

const PEOPLE: [Person; 9] = [
    Person {
        name: b"Ada Lovelace",
        email: "ada@example.com",
    },
    Person {
        name: b"Bob",
        email: "bob@example.com",
    },
    Person {
        name: b"Chlo\xc3\xa9 M\xc3\xbcller",
        email: "chloe@example.org",
    },
    Person {
        name: b"Ren\xe9 Latin",
        email: "rene@example.org",
    },
    Person {
        name: "山田太郎".as_bytes(),
        email: "yamada@example.jp",
    },
    Person {
        name: b"ada",
        email: "other@example.net",
    },
    Person {
        name: b"O'Brien, Pat",
        email: "pat.obrien@example.com",
    },
    Person {
        name: b"build[bot]",
        email: "12345+build[bot]@users.example.com",
    },
    Person {
        name: b"Zoe",
        email: "",
    },
];

const ZONES: [&str; 7] = [
    "+0000", "+0100", "-0800", "+0530", "+1400", "-1130", "+0000",
];
const SUBJECTS: [&str; 8] = [
    "fix the reader",
    "add a writer",
    "tidy up",
    "feat(core): faster walks",
    "revert \"faster walks\"",
    "docs: say why",
    "größere Änderung",
    "# not a heading",
];

/// A time with its author's time zone.
#[derive(Clone, Copy)]
pub(super) struct Stamp {
    /// Seconds since 1970, in UTC.
    pub(super) seconds: i64,
    pub(super) zone: &'static str,
}

/// A random person.
pub(super) fn random_person(random: &mut StdRng) -> &'static Person {
    // A few people do most of the work.
    let last = if random.random_bool(0.7) {
        3
    } else {
        PEOPLE.len()
    };
    PEOPLE[..last].choose(random).expect("people")
}

/// This time in a random zone.
pub(super) fn in_random_zone(random: &mut StdRng, seconds: i64) -> Stamp {
    let zone = ZONES.choose(random).expect("zones");
    Stamp { seconds, zone }
}

/// A commit message, which may be empty.
pub(super) fn message(random: &mut StdRng, number: usize) -> Vec<u8> {
    let subject = SUBJECTS.choose(random).expect("subjects");
    match random.random_range(0..40) {
        0 => Vec::new(),
        1 => b"caf\xe9 in Latin-1\n".to_vec(),
        2..10 => format!("{subject} {number}\n\nWhat was wrong.\n\n- one\n- two\n").into(),
        _ => format!("{subject} {number}\n").into(),
    }
}

/// The committers' clock. It usually advances, sometimes stands still and is sometimes wrong.
pub(super) struct Clock {
    now: i64,
}

impl Clock {
    pub(super) fn new() -> Clock {
        Clock { now: 1_400_000_000 }
    }

    /// The time of the next commit.
    pub(super) fn next(&mut self, random: &mut StdRng) -> i64 {
        match random.random_range(0..100) {
            0..8 => {}
            8..90 => self.now += random.random_range(1..7_200),
            _ => self.now += random.random_range(7_200..200_000),
        }
        match random.random_range(0..200) {
            0 => self.now - random.random_range(1..400_000),
            1 => self.now + random.random_range(1..400_000),
            _ => self.now,
        }
    }
}
