//! The family `files`: list and read files.

mod describe;
mod list;
mod imports;
pub(super) mod near;
mod open;
mod overview;
mod read;
mod read_allowed;
mod whole_file;
mod window;

pub(super) use describe::{language, module, role};
pub(super) use list::ListFiles;
pub(super) use open::file as open_file;
pub(super) use overview::GetRepoOverview;
pub(super) use read::ReadFile;
pub(super) use read_allowed::ReadRepoFile;
pub(crate) use whole_file::{WholeFile, read_whole};
