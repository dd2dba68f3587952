//! User interfaces, and what they are built with.

use super::Group;

/// Groups of alternatives.
#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    // Browser languages.
    ("language", "typescript, ts; javascript, js, plain javascript, plain js, vanilla javascript, vanilla js; flow; elm; coffeescript; \
        rescript; purescript; clojurescript"),
    // Web client frameworks.
    ("framework", "react, react js, reactjs; vue, vue js, vuejs, nuxt, vue 3; angular, angularjs; svelte, sveltekit; \
        solid js, solidjs; ember; preact; jquery; htmx; blazor; lit; alpine js, alpinejs; stimulus; hotwire; qwik; \
        backbone; knockout; polymer; web components, custom elements, stencil; livewire; liveview, live view, phoenix liveview; \
        web forms, webforms; gwt; vaadin"),
    ("framework", "next js, nextjs; remix; gatsby; astro; sveltekit; nuxt; create react app"),
    // State in web clients.
    ("state", "redux, global store; mobx; zustand; recoil; jotai; pinia; vuex; xstate; ngrx; \
        query library, react query, tanstack query; swr; rtk query; apollo client; urql; relay"),
    // Page rendering.
    ("rendering", "server side rendering, ssr, server rendered, server rendered pages, server side rendered, rendered by the server; \
        single page application, single page applications, single page app, spa, spas, client side rendering, csr; \
        static site, static sites, static site generation, ssg, static pages"),
    // Front-end composition.
    ("frontend", "module federation, micro frontend, micro frontends, microfrontend, microfrontends; \
        one application; single spa, iframe, iframes"),
    // Styling.
    ("style", "tailwind, tailwindcss, tailwind css; bootstrap; css modules; styled components; emotion; sass, scss; bulma; \
        css in js; vanilla extract; plain css; foundation css"),
    ("component", "material ui, mui, material design; ant design, antd; chakra, chakra ui; shadcn, shadcn ui; radix, radix ui; \
        fluent ui; primereact, primeng; headless ui; mantine; storybook; \
        own design system, own component library, in house components; carbon design"),
    ("bundler", "webpack; vite; rollup; esbuild; turbopack; snowpack; browserify; gulp; grunt; rspack; swc"),
    // Mobile apps.
    ("app", "flutter; react native, expo; swiftui, swift, uikit; jetpack compose; kotlin multiplatform, kmp; xamarin, maui, net maui; \
        ionic, cordova, capacitor, phonegap; pwa, progressive web app, progressive web apps; native app, native apps, fully native"),
    ("desktop", "electron; tauri; qt; wpf; winforms; javafx; swing; gtk; wxwidgets"),
    // Translation.
    ("translate", "gettext; i18next; fluent; icu; formatjs; react intl; crowdin; weblate; lokalise; transifex; phrase; \
        translations table"),
    // Maps.
    ("map", "google maps; mapbox; maplibre; openstreetmap, osm; leaflet; here maps; openlayers; tomtom; bing maps; apple maps"),
    // Content management.
    ("content", "contentful; strapi; wordpress; drupal; sanity; prismic; storyblok; typo3; directus; joomla; ghost cms; kirby"),
    ("shop", "shopify; magento; woocommerce; commercetools; prestashop; shopware; spree; saleor"),
    // Web analytics.
    ("analytics", "google analytics, ga4; matomo; plausible; mixpanel; amplitude; posthog; snowplow; segment io; fathom; heap analytics; \
        hotjar; piwik; umami"),
    // Reporting.
    ("report", "tableau; looker; power bi, powerbi; metabase; superset; redash; quicksight; qlik; grafana; spreadsheets, excel sheets; \
        crystal reports; lightdash"),
];
