//! What all pages share: head, navigation, search fields, tiles.

use std::sync::LazyLock;

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderName, header};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{
    Content, NO_REFRESH, address::Place, live::SCRIPT_PATH, sign_in::SIGN_OUT, table::Color,
};

/// The style sheet.
const STYLE: &str = include_str!("page.css");
/// What a page may do in a browser: use its own style sheet, script and streams, and send its own forms.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = STANDARD.encode(digest(&SHA256, STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; script-src 'self'; connect-src 'self'; \
         frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    )
});
/// Interval of the refresh, in seconds.
pub(super) const REFRESH: u32 = 5;

/// One page.
pub(super) struct Page<'a> {
    /// The gateway that made it; may be empty.
    pub(super) gateway: &'a str,
    /// Who is signed in, if pages know that.
    pub(super) visitor: Option<&'a str>,
    /// None for a page that does not exist.
    pub(super) place: Option<&'a Place>,
    /// Whether the page was asked not to change by itself.
    pub(super) is_still: bool,
    /// The path of its stream, if it changes by itself.
    pub(super) stream: Option<String>,
    pub(super) content: Content,
}

impl Page<'_> {
    /// The whole document.
    pub(super) fn html(&self) -> Markup {
        let header = html! {
            nav aria-label="Pages" {
                (self.tab(&Place::Overview, "Overview"))
                (self.tab(&Place::Tenants, "Tenants"))
                (self.tab(&Place::Calls, "Calls"))
            }
            span class="about" {
                "by gateway " @if self.gateway.is_empty() { "without a name" } @else { (self.gateway) }
                ", version " (env!("CARGO_PKG_VERSION"))
            }
            @if let Some(visitor) = self.visitor {
                form class="visitor" action=(SIGN_OUT) method="post" {
                    span { (visitor) } " " button { "Sign out" }
                }
            }
        };
        let Content { title, lead, live } = &self.content;
        let content = html! {
            (lead)
            (self.refresh())
            div id="live" data-from=[&self.stream] { (live) }
        };
        let head = html! {
            @if self.stream.is_some() { script src=(SCRIPT_PATH) defer {} }
            @if self.stream.is_some() && self.is_overview() {
                noscript { meta http-equiv="refresh" content=(REFRESH); }
            }
        };
        document(title, &head, &header, &content)
    }

    /// Whether the page changes by itself, and a link to the other way.
    fn refresh(&self) -> Markup {
        html! {
            @if self.stream.is_some() || self.is_overview() {
                p class="pages" {
                    @if self.stream.is_some() { span id="live-state" role="status" {} }
                    @if self.is_overview() {
                        @if self.is_still { a href="?" { "refresh every " (REFRESH) " s" } }
                        @else { a href={ "?" (NO_REFRESH) } { "stop refreshing" } }
                    }
                }
            }
        }
    }

    fn is_overview(&self) -> bool {
        self.place == Some(&Place::Overview)
    }

    fn tab(&self, place: &Place, name: &str) -> Markup {
        let own = match self.place {
            Some(Place::Tenant(_) | Place::Key(..) | Place::Project(..)) => Some(&Place::Tenants),
            other => other,
        };
        html! { a href=(place.path()) aria-current=[(own == Some(place)).then_some("page")] { (name) } }
    }
}

/// A page for somebody who is not let in.
pub(super) fn plain(title: &str, content: &Markup) -> Markup {
    document(title, &html! {}, &html! {}, content)
}

/// The headers of each page.
pub(super) fn headers() -> [(HeaderName, &'static str); 5] {
    [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY.as_str()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ]
}

fn document(title: &str, head: &Markup, header: &Markup, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Archway " (title) }
                style { (PreEscaped(STYLE)) }
                (head)
            }
            body {
                a class="skip" href="#content" { "Skip to the content" }
                header {
                    p class="brand" { "Archway" }
                    (header)
                }
                main id="content" {
                    h1 { (title) }
                    (content)
                }
            }
        }
    }
}

/// A number or a word that stands out.
pub(super) fn tile(what: &str, (value, color): (&str, Color), more: &str) -> Markup {
    html! {
        div class="tile" {
            div class="what" { (what) }
            div class={ "value " (color.class()) } { (value) }
            div class="more" { (more) }
        }
    }
}

/// A field to search a list by.
pub(super) fn search(place: &Place, label: &str, text: &str) -> Markup {
    html! {
        form class="search" role="search" action=(place.path()) method="get" {
            label { (label) " " input type="search" name="q" value=(text) maxlength="100"; }
            " " button { "Search" }
            @if !text.is_empty() { " " a href=(place.path()) { "show all" } }
        }
    }
}

/// How many rows there are, and links to the first and the next page of a list.
pub(super) fn pages(total: Option<u64>, first: Option<&str>, next: Option<&str>) -> Markup {
    html! {
        p class="pages" {
            @if let Some(total) = total { span { (total) " in all" } }
            @if let Some(first) = first { a href=(first) { "first page" } }
            @if let Some(next) = next { a href=(next) rel="next" { "next page" } }
        }
    }
}
