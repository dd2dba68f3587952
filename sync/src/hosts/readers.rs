//! Who may read a private repository, as its host lists them.
//!
//! What the host itself decides is asked for: at GitHub the effective readers, at GitLab members with those of groups above
//! and of invited ones, at Gitea collaborators and the members of teams. An entry that cannot be read is no reader.

mod answer;
mod entries;
mod names;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use reqwest::Method;
use secrecy::SecretString;
use serde_json::value::RawValue;
use tokio::time::timeout;
use url::Url;

use super::{
    client::HostClient,
    connection::Source,
    dialect::{HostAddress, HostKind},
    error::ListingError,
    wire::{self, Answer, Budget, Page, Question},
};
use entries::Team;

pub use answer::{AskedRepository, HostReader, ReadersAnswer};
use names::{at, number, numbered, plain};

/// Readers of one repository, at most; more are an error, never a cut.
const MOST_READERS: usize = 50_000;
/// Pages of one list, at most.
const MOST_PAGES: usize = 1000;
/// Entries of a page at GitHub and GitLab. A last page with fewer shows that no other follows.
const PAGE: usize = 100;
/// A list of more pages has no validators.
const MOST_ETAGS: usize = 500;
/// Members of teams that are kept while a session lasts.
const MOST_MEMBERS: usize = 500_000;

/// Questions to one host in a short time: what was asked for one repository is not asked again for another.
pub struct ReaderSession<'a> {
    client: &'a HostClient,
    budget: &'a Budget,
    token: Option<&'a SecretString>,
    /// The members of teams.
    teams: HashMap<i64, Arc<Vec<HostReader>>>,
    /// Whether somebody waits for the repository that is asked for.
    is_requested: bool,
}

/// The validators of a list, and how many entries its last page has.
struct Walked {
    etags: Vec<Option<String>>,
    last: usize,
}

impl<'a> ReaderSession<'a> {
    /// A session with this token.
    pub fn new(
        client: &'a HostClient,
        budget: &'a Budget,
        token: Option<&'a SecretString>,
    ) -> ReaderSession<'a> {
        ReaderSession {
            client,
            budget,
            token,
            teams: HashMap::new(),
            is_requested: false,
        }
    }

    /// Who may read a repository.
    ///
    /// # Errors
    /// [`ListingError`]; [`ListingError::RateLimited`] also once the [`Budget`] of the host's rate limit is used.
    pub async fn readers(
        &mut self,
        repository: AskedRepository<'_>,
    ) -> Result<ReadersAnswer, ListingError> {
        let Source::Host(address) = &self.client.connection.source else {
            return Err(ListingError::invalid("a list of URLs has no readers"));
        };
        self.is_requested = repository.is_requested;
        let limit = self.client.deadline;
        let asked = Box::pin(async {
            match address.kind {
                HostKind::Github | HostKind::Gitlab => self.listed(address, repository).await,
                HostKind::Gitea => self.of_teams(address, repository.path).await,
            }
        });
        let in_time = timeout(limit, asked).await;
        in_time.unwrap_or(Err(ListingError::TimedOut { limit }))
    }

    /// Of a host that lists everybody at one place.
    async fn listed(
        &self,
        address: &HostAddress,
        repository: AskedRepository<'_>,
    ) -> Result<ReadersAnswer, ListingError> {
        // Not by name: an old one may be that of another repository now.
        let id = number(repository.host_id)?;
        let path = match address.kind {
            HostKind::Gitlab => format!("/projects/{id}/members/all?"),
            _ => format!("/repositories/{id}/collaborators?affiliation=all&"),
        };
        let page = |number: usize| at(address, &format!("{path}per_page={PAGE}&page={number}"));
        if self.is_unchanged(address, page, repository.etags).await? {
            return Ok(ReadersAnswer::Unchanged);
        }
        let (readers, Walked { etags, last }) = self.people(address, page(1)?).await?;
        let etags: Option<Vec<String>> = etags.into_iter().collect();
        let fit = |etags: &Vec<String>| last < PAGE && etags.len() <= MOST_ETAGS;
        Ok(ReadersAnswer::Listed {
            readers: readers.into_values().collect(),
            etags: etags.filter(fit).unwrap_or_default(),
        })
    }

    /// Whether all pages are as they were.
    async fn is_unchanged(
        &self,
        address: &HostAddress,
        page: impl Fn(usize) -> Result<Url, ListingError>,
        etags: &[String],
    ) -> Result<bool, ListingError> {
        for (index, etag) in etags.iter().enumerate() {
            let url = page(index + 1)?;
            let list = url.path().to_owned();
            match self.ask(address, url, Some(etag)).await? {
                Answer::NotModified(of) if of.path() == list => {}
                Answer::NotModified(_) | Answer::Page(_) | Answer::Missing => return Ok(false),
            }
        }
        Ok(!etags.is_empty())
    }

    /// Of a host that lists collaborators and teams.
    async fn of_teams(
        &mut self,
        address: &HostAddress,
        path: &str,
    ) -> Result<ReadersAnswer, ListingError> {
        let path = plain(path)?;
        let first = at(address, &format!("/repos/{path}/collaborators?limit=50"))?;
        let (mut readers, _) = self.people(address, first).await?;
        let mut teams = BTreeMap::<i64, Team>::new();
        let first = at(address, &format!("/repos/{path}/teams?limit=50"))?;
        let listed = self.walk(address, first, |entry| {
            teams.extend(Team::read(entry).map(|team| (team.id, team)));
            teams.len()
        });
        listed.await?;
        teams.retain(|_, team| team.reads_code());
        for team in teams.keys() {
            let members = self.members(address, *team).await?;
            readers.extend(members.iter().map(|it| (it.account, it.clone())));
            if readers.len() > MOST_READERS {
                return Err(too_many());
            }
        }
        Ok(ReadersAnswer::Listed {
            readers: readers.into_values().collect(),
            etags: Vec::new(),
        })
    }

    async fn members(
        &mut self,
        address: &HostAddress,
        team: i64,
    ) -> Result<Arc<Vec<HostReader>>, ListingError> {
        if let Some(known) = self.teams.get(&team) {
            return Ok(Arc::clone(known));
        }
        let first = at(address, &format!("/teams/{team}/members?limit=50"))?;
        let (members, _) = self.people(address, first).await?;
        let members: Arc<Vec<HostReader>> = Arc::new(members.into_values().collect());
        let kept: usize = self.teams.values().map(|team| team.len()).sum();
        if kept + members.len() > MOST_MEMBERS {
            self.teams.clear();
        }
        self.teams.insert(team, Arc::clone(&members));
        Ok(members)
    }

    /// The accounts of a list, by number.
    async fn people(
        &self,
        address: &HostAddress,
        first: Url,
    ) -> Result<(BTreeMap<i64, HostReader>, Walked), ListingError> {
        let mut people = BTreeMap::new();
        let walked = self.walk(address, first, |entry| {
            people.extend(entries::reader(address.kind, entry).map(|it| (it.account, it)));
            people.len()
        });
        let walked = walked.await?;
        Ok((people, walked))
    }

    /// Reads a list to its end. `take` adds an entry, and says how many there are.
    async fn walk(
        &self,
        address: &HostAddress,
        first: Url,
        mut take: impl FnMut(&str) -> usize,
    ) -> Result<Walked, ListingError> {
        let mut walked = Walked {
            etags: Vec::new(),
            last: 0,
        };
        let (mut next, mut read) = (Some(first.clone()), HashSet::new());
        let mut count = 0;
        while let Some(url) = next.take() {
            if !read.insert(url.to_string()) || read.len() > MOST_PAGES {
                return Err(ListingError::invalid(
                    "its pages link in a circle, or are more than 1,000",
                ));
            }
            let of_list = (first.path(), read.len() == 1);
            let page = self.page(address, url, of_list).await?;
            let entries: Vec<&RawValue> = serde_json::from_slice(&page.body)
                .map_err(|error| ListingError::invalid(&format!("a page is no list: {error}")))?;
            walked.last = entries.len();
            let before = count;
            for entry in entries {
                count = take(entry.get());
                if count > MOST_READERS {
                    return Err(too_many());
                }
            }
            walked.etags.push(page.etag);
            // Gitea does not link the pages of each list, and gives some lists whole, whatever page is asked for.
            let may_follow = address.kind == HostKind::Gitea && count > before;
            let unlinked = may_follow.then(|| numbered(&first, read.len() + 1));
            next = page.next.or(unlinked);
        }
        Ok(walked)
    }

    /// A page of the list at this path of the API, its first one or another. A way to another list is an error.
    async fn page(
        &self,
        address: &HostAddress,
        url: Url,
        (list, is_first): (&str, bool),
    ) -> Result<Page, ListingError> {
        let page = match self.ask(address, url, None).await? {
            Answer::Page(page) => page,
            Answer::Missing | Answer::NotModified(_) if is_first => {
                return Err(ListingError::NotFound {
                    what: "list of the repository's readers",
                });
            }
            Answer::Missing | Answer::NotModified(_) => {
                return Err(ListingError::invalid("a page that it links to is missing"));
            }
        };
        let mut urls = std::iter::once(&page.url).chain(&page.next);
        if urls.any(|url| url.path() != list) {
            return Err(ListingError::invalid(
                "its answer, or the next page, is of another list",
            ));
        }
        Ok(page)
    }

    async fn ask(
        &self,
        address: &HostAddress,
        url: Url,
        etag: Option<&str>,
    ) -> Result<Answer, ListingError> {
        let spent = self.budget.spent_until(self.is_requested, Timestamp::now());
        if let Some(retry_at) = spent {
            return Err(ListingError::RateLimited { retry_at });
        }
        let question = Question {
            method: Method::GET,
            url,
            token: self.token,
            etag,
            budget: Some(self.budget),
        };
        wire::ask(&self.client.http, address.kind, question).await
    }
}

fn too_many() -> ListingError {
    ListingError::TooMany {
        found: MOST_READERS + 1,
        limit: MOST_READERS,
        remedy: "a repository that so many may read is better internal at its host",
    }
}
