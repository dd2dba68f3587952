//! Which events make something due, by the hosts' names for them.

use http::HeaderMap;

use super::body::Prefix;
use super::payload::Payload;
use super::signature::single;
use super::{HookEvent, HookEventKind, HookHost};

/// What GitHub and Gitea can do to a repository that changes a listing.
const LISTED_ACTIONS: [&str; 8] = [
    "created",
    "deleted",
    "renamed",
    "transferred",
    "archived",
    "unarchived",
    "privatized",
    "publicized",
];

/// What a delivery makes due; `None` if nothing.
pub(super) fn of(host: HookHost, headers: &HeaderMap, prefix: &Prefix) -> Option<HookEvent> {
    let name = event_headers(host)
        .iter()
        .find_map(|header| single(headers, header))?;
    let name = str::from_utf8(name).ok()?;
    event(host, name, &Payload::read(host, prefix.bytes()))
}

/// The headers that name an event; the first that is there does.
fn event_headers(host: HookHost) -> &'static [&'static str] {
    match host {
        HookHost::GitHub => &["x-github-event"],
        HookHost::Gitea => &["x-gitea-event", "x-forgejo-event", "x-github-event"],
        HookHost::GitLab => &["x-gitlab-event"],
    }
}

fn event(host: HookHost, name: &str, payload: &Payload) -> Option<HookEvent> {
    let kind = match host {
        HookHost::GitHub | HookHost::Gitea => kind_of_github(name, payload.action())?,
        HookHost::GitLab => kind_of_gitlab(name, payload.event_name())?,
    };
    let names_one = payload.repository().is_some() || payload.full_name().is_some();
    Some(HookEvent {
        // The listing says what was pushed where the event does not.
        kind: if names_one { kind } else { HookEventKind::List },
        repository: payload.repository().map(str::to_owned),
        full_name: payload.full_name().map(str::to_owned),
        is_private: names_one && payload.is_private(host),
    })
}

/// The kind of an event of GitHub or Gitea. An action that was cut off counts.
fn kind_of_github(name: &str, action: Option<&str>) -> Option<HookEventKind> {
    match name {
        "push" | "create" | "delete" => Some(HookEventKind::Fetch),
        "repository" => {
            let counts = action.is_none_or(|action| LISTED_ACTIONS.contains(&action));
            counts.then_some(HookEventKind::List)
        }
        "member" | "membership" | "organization" | "team" | "team_add" => Some(HookEventKind::List),
        _ => None,
    }
}

/// The kind of an event of GitLab. System hooks name theirs in the payload.
fn kind_of_gitlab(header: &str, event_name: Option<&str>) -> Option<HookEventKind> {
    match header {
        "Push Hook" | "Tag Push Hook" => Some(HookEventKind::Fetch),
        "Project Hook" | "Member Hook" | "Subgroup Hook" => Some(HookEventKind::List),
        "System Hook" => match event_name {
            Some("push" | "tag_push" | "repository_update") => Some(HookEventKind::Fetch),
            None => Some(HookEventKind::List),
            Some(name) => {
                let (subject, _) = name.split_once('_')?;
                let is_membership = name.ends_with("_team") || name.ends_with("_group");
                let counts = matches!(subject, "project" | "group") || is_membership;
                counts.then_some(HookEventKind::List)
            }
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_make_a_fetch_a_listing_or_nothing_due() {
        use HookEventKind::{Fetch, List};
        let github = r#"{"repository": {"id": 1, "full_name": "a/b"}, "action": "ACTION"}"#;
        for (event, action, kind) in [
            ("push", "", Some(Fetch)),
            ("create", "", Some(Fetch)),
            ("delete", "", Some(Fetch)),
            ("repository", "renamed", Some(List)),
            ("repository", "unarchived", Some(List)),
            ("repository", "edited", None),
            ("member", "added", Some(List)),
            ("membership", "removed", Some(List)),
            ("organization", "member_added", Some(List)),
            ("team", "added_to_repository", Some(List)),
            ("team_add", "", Some(List)),
            ("ping", "", None),
            ("issues", "opened", None),
            ("PUSH", "", None),
            ("", "", None),
        ] {
            for host in [HookHost::GitHub, HookHost::Gitea] {
                let payload = Payload::read(host, github.replace("ACTION", action).as_bytes());
                let found = super::event(host, event, &payload).map(|found| found.kind);
                assert_eq!(found, kind, "{event} {action}");
            }
        }
        let gitlab = r#"{"event_name": "EVENT", "project_id": 1, "x": 1}"#;
        for (event, event_name, kind) in [
            ("Push Hook", "push", Some(Fetch)),
            ("Tag Push Hook", "tag_push", Some(Fetch)),
            ("System Hook", "repository_update", Some(Fetch)),
            ("System Hook", "project_rename", Some(List)),
            ("System Hook", "user_add_to_team", Some(List)),
            ("System Hook", "user_remove_from_group", Some(List)),
            ("System Hook", "group_rename", Some(List)),
            ("System Hook", "user_create", None),
            ("System Hook", "key_create", None),
            ("System Hook", "merge_request", None),
            ("Project Hook", "project_create", Some(List)),
            ("Member Hook", "user_add_to_group", Some(List)),
            ("Issue Hook", "", None),
        ] {
            let payload = Payload::read(
                HookHost::GitLab,
                gitlab.replace("EVENT", event_name).as_bytes(),
            );
            let found = super::event(HookHost::GitLab, event, &payload).map(|found| found.kind);
            assert_eq!(found, kind, "{event} {event_name}");
        }
    }

    #[test]
    fn a_push_that_names_no_repository_is_about_the_whole_connection() {
        let payload = Payload::read(HookHost::GitHub, br#"{"ref": "refs/heads/main", "repos"#);
        let event = event(HookHost::GitHub, "push", &payload);
        let whole = HookEvent {
            kind: HookEventKind::List,
            repository: None,
            full_name: None,
            is_private: false,
        };
        assert_eq!(event, Some(whole));
    }
}
