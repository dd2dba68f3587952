//! The line range of a `read_file` call.

use archway_proto::{failure::Failure, fault::Fault};

use super::{Encoding, File, ReadFileArgs};
use crate::tools::files::window::{Part, Window};

/// The requested lines, if any.
#[derive(Clone, Copy)]
pub(super) struct Range(Option<(u64, u64)>);

impl Range {
    pub(super) fn of(args: &ReadFileArgs) -> Result<Self, Failure> {
        let range = match (args.start_line, args.end_line) {
            (None, None) => return Ok(Range(None)),
            (start, end) => (start.unwrap_or(1), end.unwrap_or(u64::MAX)),
        };
        if args.encoding == Encoding::Base64 {
            return Err(Failure::new(
                Fault::InvalidArguments,
                "a line range can't be combined with base64",
                "leave out start_line and end_line, or ask for utf-8",
            ));
        }
        Ok(Range(Some(range)))
    }

    pub(super) fn window(self, max_bytes: usize) -> Window {
        let (first, last) = self.0.unwrap_or((1, u64::MAX));
        Window {
            first,
            last,
            max_bytes,
        }
    }

    /// Adds the range to the file. A range that begins past the end is an error.
    pub(super) fn show(self, file: File, part: &Part) -> Result<File, Failure> {
        let Some((start, end)) = self.0 else {
            return Ok(file);
        };
        if end < start {
            let message = format!("invalid line range: {start}-{end}");
            let suggestion = "end_line must not be before start_line";
            return Err(Failure::new(Fault::InvalidLineRange, message, suggestion));
        }
        if start > part.lines {
            let message = format!("line {start} is past the end of {}", file.path);
            let suggestion = format!("the file has {} lines; begin within them", part.lines);
            return Err(Failure::new(Fault::InvalidLineRange, message, suggestion)
                .detail("lines", part.lines));
        }
        Ok(File {
            start_line: Some(start),
            end_line: Some(part.last),
            ..file
        })
    }
}
