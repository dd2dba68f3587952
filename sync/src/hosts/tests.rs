//! Listings through HTTP, against doubles of the hosts.

use secrecy::SecretString;

use super::{FoundRepositories, HostClient, Listing, ListingError};

mod apps;
mod hostile;
mod listings;
mod readers;
mod refusals;
mod settings;

async fn whole(client: &HostClient) -> FoundRepositories {
    match client.list(None, None).await.unwrap() {
        Listing::Whole(found) => found,
        other => panic!("{other:?}"),
    }
}

async fn failed(client: &HostClient) -> ListingError {
    client.list(Some(&token()), None).await.unwrap_err()
}

fn paths(found: &FoundRepositories) -> Vec<&str> {
    let repositories = found.repositories.iter();
    repositories.map(|it| it.path.as_str()).collect()
}

fn token() -> SecretString {
    "s3cr3t-token".to_owned().into()
}
