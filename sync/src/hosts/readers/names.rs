//! The names of repositories, as parts of a URL of the host's API.

use url::Url;

use crate::hosts::{dialect::HostAddress, error::ListingError};

/// A URL of the API; `path` begins with a slash.
pub(super) fn at(address: &HostAddress, path: &str) -> Result<Url, ListingError> {
    let url = address.at(path);
    url.ok_or_else(|| ListingError::invalid("the repository's name makes no URL"))
}

/// `owner/name`, as hosts allow them: nothing that a URL would read otherwise.
pub(super) fn plain(path: &str) -> Result<&str, ListingError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && part.bytes().all(is_plain);
    let is_name = path.split('/').count() == 2 && path.split('/').all(is_part);
    let unusual = || ListingError::invalid("the repository's name is not `owner/name`");
    is_name.then_some(path).ok_or_else(unusual)
}

/// The number of a repository.
pub(super) fn number(id: &str) -> Result<&str, ListingError> {
    let is_number = (1..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit());
    let none = || ListingError::invalid("the repository has no number");
    is_number.then_some(id).ok_or_else(none)
}

/// The page with this number of the list that `first` begins.
pub(super) fn numbered(first: &Url, page: usize) -> Url {
    let mut url = first.clone();
    url.query_pairs_mut().append_pair("page", &page.to_string());
    url
}
