//! On a phone and on a desktop, light and dark: nothing is cut off, all text can be read, and the keyboard reaches
//! everything. Measured in a real Chromium.

use serde_json::{Value, json};

use super::{
    browser::{Browser, View},
    pages, pictures,
};

/// What sticks out of its box or cannot be read, as sentences. What scrolls by itself may be wider than its box; what is
/// hidden on purpose has a clip path.
pub(super) const MEASURE: &str = r#"(() => {
  const found = [];
  const told = (element) => `${element.tagName}.${element.className} "${element.textContent.slice(0, 40)}"`;
  const page = document.scrollingElement;
  if (page.scrollWidth > innerWidth) found.push(`the page is ${page.scrollWidth} wide`);
  const rgb = (color) => (/[\d.]+/g[Symbol.match](color) ?? []).map(Number);
  const light = (color) => {
    const [r, g, b] = rgb(color).slice(0, 3).map((it) => it / 255)
      .map((it) => (it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (rgb(color)[3] !== 0) return color;
    }
    return "rgb(255, 255, 255)";
  };
  for (const element of document.body.querySelectorAll("*")) {
    const style = getComputedStyle(element);
    const isHidden = !element.checkVisibility() || element.closest("thead, .skip") !== null && style.position === "absolute";
    const isClipped = element.closest("thead") && getComputedStyle(element.closest("thead")).clipPath !== "none";
    if (isHidden || isClipped || element instanceof SVGElement) continue;
    // A desktop has room for each table.
    const isTable = element.className === "table" && innerWidth >= 1200;
    const scrolls = !isTable && /auto|scroll/.test(style.overflowX) || /INPUT|SELECT/.test(element.tagName);
    if (!scrolls && style.display !== "inline" && element.scrollWidth > element.clientWidth + 1) {
      found.push(`${told(element)} needs ${element.scrollWidth} and has ${element.clientWidth}`);
    }
    if (![...element.childNodes].some((it) => it.nodeType === 3 && it.data.trim())) continue;
    const [one, other] = [light(style.color), light(ground(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) found.push(`${told(element)} has a contrast of ${contrast.toFixed(2)}`);
  }
  return found;
})()"#;
/// Everything that the keyboard has to reach.
const CONTROLS: &str = "a[href], button, input, select, summary, [tabindex='0']";

/// The pages with a day of calls, the paths of a key's and a project's page among them.
async fn paths(stack: &e2e::Stack) -> Vec<String> {
    let tenant = pages::at(stack, "/console/tenants/acme").await;
    let key = pages::link(&tenant, "ci")
        .expect("a link to the key")
        .to_owned();
    let fixed = [
        "/console?still",
        "/console/tenants",
        "/console/tenants?q=nobody",
        "/console/tenants/acme",
        "/console/tenants/acme/projects/site",
        "/console/calls",
        "/console/calls?outcome=denied&hours=1&tenant=acme",
        "/console/calls?tool=none",
        "/console/elsewhere",
    ];
    fixed.into_iter().map(str::to_owned).chain([key]).collect()
}

#[tokio::test]
async fn nothing_is_cut_off_and_all_text_is_readable() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let stack = pictures::a_day_of_calls().await;
    let mut wrong = Vec::new();
    for path in paths(&stack).await {
        for (width, dark) in [
            (360, false),
            (360, true),
            (768, false),
            (1280, false),
            (1280, true),
        ] {
            let view = View { width, dark };
            browser.open(&stack, &path, view).await;
            if path.starts_with("/console/calls") {
                let open = "document.querySelectorAll('details').forEach((it, place) => it.open = place < 3)";
                browser.run(open).await;
            }
            if let Some(folder) = std::env::var_os("ARCHWAY_TEST_SCREENSHOT") {
                let name = path.replace(['/', '?', '=', '&'], "_");
                let file = format!("{}/fits{name}-{width}-{dark}.png", folder.display());
                browser.picture(&file).await;
            }
            let found = browser.run(MEASURE).await;
            if found != json!([]) {
                wrong.push(format!("{path} {view:?}: {found:#}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn the_keyboard_reaches_everything_and_shows_where_it_is() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let stack = pictures::a_day_of_calls().await;
    for path in paths(&stack).await {
        for width in [360, 1280] {
            let view = View { width, dark: false };
            browser.open(&stack, &path, view).await;
            let count = format!(
                "[...document.querySelectorAll(\"{CONTROLS}\")].filter((it) => it.checkVisibility()).length"
            );
            let count = browser.run(&count).await.as_u64().unwrap();
            assert!(count >= 4, "{path}");
            // A page also stops at areas that scroll.
            for _ in 0..count + 40 {
                browser.press("Tab").await;
                let at = browser.run(AT).await;
                if at == Value::Null {
                    break;
                }
                assert_eq!(at["shown"], true, "{path} {view:?}: {at}");
            }
            let left = format!(
                "[...document.querySelectorAll(\"{CONTROLS}\")].filter((it) => it.checkVisibility() && !window.seen.has(it))\
                 .map((it) => it.outerHTML.slice(0, 200))"
            );
            assert_eq!(browser.run(&left).await, json!([]), "{path} {view:?}");
        }
    }
}

/// The element with the focus, noted as seen where no update of the page removes the note: whether it is marked as such and within the window; null for the page itself.
const AT: &str = r#"(() => {
  const element = document.activeElement;
  window.seen ??= new WeakSet();
  if (!element || element === document.body || window.seen.has(element)) return null;
  window.seen.add(element);
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  const isInside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  const isMarked = outlineStyle !== "none" && parseFloat(outlineWidth) >= 1;
  return { shown: isInside && isMarked, element: element.outerHTML.slice(0, 200), isInside, isMarked };
})()"#;
