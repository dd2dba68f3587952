//! Lists page by page: `archway project list` and `archway index status` with `--limit`.

use serde_json::{Value, json};

use crate::installation::Installation;

/// Two tenants with these projects; the last one is removed.
const PROJECTS: [&str; 5] = ["acme/a", "acme/b", "acme-2/a", "zeta/a", "zeta/b"];

fn with_projects() -> Installation {
    let installation = Installation::new();
    for tenant in ["acme", "acme-2", "zeta"] {
        installation.run(&format!("tenant create {tenant}")).ok();
    }
    for project in PROJECTS {
        let (tenant, slug) = project.split_once('/').unwrap();
        installation
            .run(&format!("project add {tenant} {slug}"))
            .ok();
    }
    installation.run("project remove zeta b").ok();
    installation
}

/// All pages of a list: the projects of each, by the member of a row that has the slug.
fn pages(installation: &Installation, command: &str, slug: &str) -> Vec<Vec<String>> {
    let (rows, mut pages) = (command.split_once(' ').unwrap().0, Vec::new());
    let rows = if rows == "index" {
        "indexes"
    } else {
        "projects"
    };
    let mut after = String::new();
    loop {
        let page = installation.json(&format!("{command} --limit 2{after}"));
        let name = |row: &Value| {
            let (tenant, slug) = (row["tenant"].as_str(), row[slug].as_str());
            format!("{}/{}", tenant.unwrap(), slug.unwrap())
        };
        pages.push(page[rows].as_array().unwrap().iter().map(name).collect());
        match page["next"].as_str() {
            Some(next) => after = format!(" --after {next}"),
            None => return pages,
        }
    }
}

#[test]
fn the_pages_of_all_projects_are_the_list_without_a_limit() {
    let installation = with_projects();
    let listed = pages(&installation, "project list", "slug");
    assert_eq!(listed.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!(listed.concat(), PROJECTS);
    let all = installation.json("project list");
    assert_eq!(
        (all["projects"].as_array().unwrap().len(), &all["next"]),
        (5, &json!(null))
    );
    let of_zeta = pages(&installation, "project list --tenant zeta", "slug");
    assert_eq!(of_zeta, [["zeta/a", "zeta/b"]]);
}

#[test]
fn the_state_of_indexes_has_the_same_pages_without_removed_projects() {
    let installation = with_projects();
    let listed = pages(&installation, "index status", "project");
    assert_eq!(listed, [&PROJECTS[..2], &PROJECTS[2..4]]);
}

#[test]
fn people_are_told_how_to_see_the_next_page() {
    let installation = with_projects();
    let shown = installation.run("project list --limit 1").ok();
    assert!(
        shown.ends_with("there are more: add `--after acme/a`\n"),
        "{shown}"
    );
    let last = installation
        .run("project list --limit 1 --after zeta/a")
        .ok();
    assert!(last.contains("removed") && !last.contains("more"), "{last}");
    let usage = installation.run("project list --after acme");
    assert!(
        usage.code == 2 && usage.err.contains("TENANT/PROJECT"),
        "{}",
        usage.err
    );
}
