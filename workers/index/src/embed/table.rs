//! The built-in embedder: adds up the vectors of a text's word pieces.
//!
//! It needs no network and no key, loads in milliseconds, and takes microseconds per text. Its
//! training is documented in `workers/index/models/PROVENANCE.md`. The way in which it splits texts
//! into words is part of the trained table. That of [`super::super::terms`] is independent, and
//! neither may be changed to match the other.
//!
//! File format, little endian: `SEM1`, u32 rows, u32 dimensions, an f32 scale per row, the rows as
//! i8, then one piece per row as lines of UTF-8. A piece that continues a word begins with `##`.

mod pieces;

use super::Model;

use pieces::Pieces;

/// The table that is compiled in.
static BUILT_IN: &[u8] = include_bytes!("../../models/archway-code-256.int8.bin");
const NAME: &str = "archway-code-256";

const MAGIC: &[u8] = b"SEM1";
/// Largest number of rows and of dimensions, far above any table's: their product cannot overflow.
const MAX_SIZE: usize = 1 << 24;

/// Why a table cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The magic bytes are missing.
    #[error(
        "the embedding table does not begin with SEM1: rebuild the worker with a complete workers/index/models"
    )]
    Form,
    /// The file is truncated.
    #[error(
        "the embedding table ends before its {part}: rebuild the worker with a complete workers/index/models"
    )]
    Short {
        /// The missing part.
        part: &'static str,
    },
    /// The number of rows or dimensions is out of range.
    #[error("the embedding table claims {rows} rows of {dimensions} numbers")]
    Size {
        /// Rows according to the header.
        rows: usize,
        /// Dimensions according to the header.
        dimensions: usize,
    },
    /// A scale is not finite.
    #[error("the scale of row {row} of the embedding table is not a finite number")]
    Scale {
        /// The row, from 0.
        row: usize,
    },
    /// The pieces are not UTF-8.
    #[error("the pieces of the embedding table are not UTF-8")]
    Encoding(#[from] std::str::Utf8Error),
    /// The numbers of pieces and rows differ.
    #[error("the embedding table has {pieces} pieces for {rows} rows")]
    Pieces {
        /// Pieces in the file.
        pieces: usize,
        /// Rows in the file.
        rows: usize,
    },
}

/// Word pieces and their vectors.
pub struct Table {
    model: Model,
    pieces: Pieces,
    /// The factor of each row's numbers.
    scales: Vec<f32>,
    /// All rows.
    values: &'static [u8],
}

impl Table {
    /// The built-in table.
    pub fn built_in() -> Result<Self, TableError> {
        Self::read(NAME, BUILT_IN)
    }

    fn read(name: &str, bytes: &'static [u8]) -> Result<Self, TableError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(TableError::Form)?;
        let (rows, rest) = number(rest, "number of rows")?;
        let (dimensions, rest) = number(rest, "number of dimensions")?;
        if !(1..=MAX_SIZE).contains(&rows) || !(1..=MAX_SIZE).contains(&dimensions) {
            return Err(TableError::Size { rows, dimensions });
        }
        let (scales, rest) = part(rest, rows * 4, "scales")?;
        let (values, rest) = part(rest, rows * dimensions, "rows")?;
        Ok(Self {
            model: Model {
                name: name.to_owned(),
                dimensions,
            },
            pieces: Pieces::read(std::str::from_utf8(rest)?, rows)?,
            scales: self::scales(scales)?,
            values,
        })
    }

    /// The model of its vectors.
    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    /// The vector of a text, of length 1. `None` if the text has no known word: a vector of zeros would
    /// be near nothing, yet be stored and compared.
    pub fn encode(&self, text: &str) -> Option<Vec<f32>> {
        self.weighed(text).map(|(vector, _)| vector)
    }

    /// The vector of a text and its length before scaling, which for a rare word is four times that of a
    /// common one.
    pub fn weighed(&self, text: &str) -> Option<(Vec<f32>, f32)> {
        let mut pieces = self.pieces.of(text);
        pieces.sort_unstable();
        let mut sum = vec![0.0; self.model.dimensions];
        for same in pieces.chunk_by(|left, right| left == right) {
            self.add(&mut sum, *same.first()?, same.len());
        }
        let length = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
        if !length.is_normal() {
            return None;
        }
        for value in &mut sum {
            *value /= length;
        }
        Some((sum, length))
    }

    /// Adds a piece that occurs `count` times. Its weight grows with the logarithm: ten occurrences say
    /// more than one, but not ten times as much.
    fn add(&self, sum: &mut [f32], piece: u32, count: usize) {
        let row = piece as usize;
        let dimensions = self.model.dimensions;
        let values = self.values.get(row * dimensions..(row + 1) * dimensions);
        let (Some(values), Some(scale)) = (values, self.scales.get(row)) else {
            return;
        };
        #[expect(clippy::cast_precision_loss, reason = "a text has at most 512 pieces")]
        let weight = scale * (1.0 + (count as f32).ln());
        for (sum, &value) in sum.iter_mut().zip(values) {
            *sum += weight * f32::from(value.cast_signed());
        }
    }
}

fn number(bytes: &'static [u8], what: &'static str) -> Result<(usize, &'static [u8]), TableError> {
    let (number, rest) = bytes
        .split_first_chunk()
        .ok_or(TableError::Short { part: what })?;
    Ok((u32::from_le_bytes(*number) as usize, rest))
}

fn part(
    bytes: &'static [u8],
    length: usize,
    part: &'static str,
) -> Result<(&'static [u8], &'static [u8]), TableError> {
    bytes
        .split_at_checked(length)
        .ok_or(TableError::Short { part })
}

fn scales(bytes: &[u8]) -> Result<Vec<f32>, TableError> {
    let (scales, _) = bytes.as_chunks();
    let scales: Vec<_> = scales
        .iter()
        .map(|&scale| f32::from_le_bytes(scale))
        .collect();
    match scales.iter().position(|scale| !scale.is_finite()) {
        Some(row) => Err(TableError::Scale { row }),
        None => Ok(scales),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Pieces `read`, `##er` and `header` with vectors (1, 0), (0, 2) and (2, 2), halved.
    fn small() -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([3_u32, 2].iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend([0.5_f32; 3].iter().flat_map(|scale| scale.to_le_bytes()));
        bytes.extend([2, 0, 0, 4, 4, 4]);
        bytes.extend(b"read\n##er\nheader");
        bytes
    }

    fn read(bytes: Vec<u8>) -> Result<Table, TableError> {
        Table::read("small", bytes.leak())
    }

    fn cosine(left: &[f32], right: &[f32]) -> f32 {
        left.iter()
            .zip(right)
            .map(|(left, right)| left * right)
            .sum()
    }

    fn near(vector: &[f32], expected: &[f32]) -> bool {
        vector
            .iter()
            .zip(expected)
            .all(|(left, right)| (left - right).abs() < 1e-5)
    }

    #[test]
    fn a_vector_matches_the_reference() {
        // Computed from the file by another program.
        let table = Table::built_in().unwrap();
        let text = "parseHTTPHeader(&mut self, header_value) // reads the header's xylographically \
                    value";
        let vector = table.encode(text).unwrap();
        let first = [
            -0.023804, -0.085347, -0.172629, 0.012475, -0.039038, 0.12309,
        ];
        assert_eq!(vector.len(), 256);
        assert!(near(&vector, &first), "{:?}", &vector[..6]);
        assert!(near(&vector[254..], &[-0.007163, 0.046308]));
        assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-5);
        assert_eq!(table.model().name, "archway-code-256");
        assert_eq!(table.model().dimensions, 256);
    }

    #[test]
    fn a_query_is_nearest_to_the_function_that_does_it() {
        let table = Table::built_in().unwrap();
        let functions = [
            "fn open(path: &Path) -> io::Result<String> { std::fs::read_to_string(path) }",
            "def send_mail(to, subject): smtp.connect(HOST); smtp.deliver(to, subject)",
            "func (l *Limiter) Allow(request *Request) bool { l.tokens--; return l.tokens >= 0 }",
            "function parseDate(text) { const [y, m, d] = text.split('-'); return new Date(y, m, d) }",
            "static void sort_list(struct node *head) { merge(split(head), compare); }",
        ];
        let vectors = functions.map(|function| table.encode(function).unwrap());
        for (query, expected) in [
            ("load the contents of a file from disk", 0),
            ("deliver an email message to somebody", 1),
            ("rate limit requests", 2),
            ("parse a calendar day", 3),
            ("put the elements of a linked list in order", 4),
        ] {
            let query_vector = table.encode(query).unwrap();
            let nearest = (0..functions.len())
                .max_by(|&left, &right| {
                    let [left, right] = [left, right].map(|at| cosine(&query_vector, &vectors[at]));
                    left.total_cmp(&right)
                })
                .unwrap();
            assert_eq!(nearest, expected, "{query}");
        }
    }

    #[test]
    fn an_identifier_has_the_vector_of_its_words() {
        let table = Table::built_in().unwrap();
        let words = table.encode("parse http header").unwrap();
        for identifier in ["parseHTTPHeader", "parse_http_header", "PARSE_HTTP_HEADER"] {
            assert_eq!(table.encode(identifier).unwrap(), words, "{identifier}");
        }
    }

    #[test]
    fn a_vector_is_the_weighted_sum_of_its_pieces() {
        let table = read(small()).unwrap();
        // read twice: 1 + ln 2 times (1, 0); er and header once: (0, 2) and (2, 2).
        let (x, y) = (1.0 + 2_f32.ln() + 2.0, 4.0);
        let length = x.hypot(y);
        let vector = table.encode("Reader readHeader").unwrap();
        assert!(near(&vector, &[x / length, y / length]), "{vector:?}");
    }

    #[test]
    fn a_text_without_known_words_has_no_vector() {
        let table = read(small()).unwrap();
        for text in [
            "", " \n", "0 1 2", "r e a d", "writes", "readx", "Größe", "读取",
        ] {
            assert_eq!(table.encode(text), None, "{text}");
        }
    }

    #[test]
    fn pieces_after_the_first_512_are_ignored() {
        let table = read(small()).unwrap();
        let most = "read ".repeat(512);
        assert_eq!(table.encode(&most), table.encode(&format!("{most} header")));
        assert_ne!(table.encode(&most), table.encode(&format!("header {most}")));
    }

    #[test]
    fn a_truncated_file_is_rejected() {
        let whole = small();
        // Without its last line it lacks a piece; without some letters of it, it is another valid table.
        let end = whole.len() - "\nheader".len();
        for length in 0..=end {
            assert!(read(whole[..length].to_vec()).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn a_file_of_another_format_is_rejected() {
        let mut bytes = small();
        bytes[3] = b'2';
        assert!(matches!(read(bytes), Err(TableError::Form)));

        let mut bytes = small();
        bytes[4..8].fill(0xff);
        assert!(matches!(read(bytes), Err(TableError::Size { .. })));

        let mut bytes = small();
        bytes[8..12].fill(0);
        assert!(matches!(read(bytes), Err(TableError::Size { .. })));

        let mut bytes = small();
        bytes[16..20].fill(0xff);
        assert!(matches!(read(bytes), Err(TableError::Scale { row: 1 })));

        let mut bytes = small();
        bytes.extend(b"\nmore");
        let pieces = matches!(read(bytes), Err(TableError::Pieces { pieces: 4, rows: 3 }));
        assert!(pieces);

        let mut bytes = small();
        bytes.push(0xff);
        assert!(matches!(read(bytes), Err(TableError::Encoding(_))));
    }

    proptest! {
        #[test]
        fn every_vector_has_length_one(text in "(?s).*|[a-zA-Z_]{0,2000}") {
            thread_local!(static TABLE: Table = Table::built_in().unwrap());
            if let Some(vector) = TABLE.with(|table| table.encode(&text)) {
                prop_assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-4);
            }
        }
    }
}
