//! Writing, versioning, building, testing and documenting code.

use super::Group;

/// Groups of alternatives.
#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    // Server languages.
    ("language", "go, golang; java; kotlin; scala; clojure; rust; python; ruby; php; c#, csharp; node js, node, nodejs; \
        elixir; erlang; haskell; c++, cpp; zig; perl; deno; bun; f#, fsharp; ocaml; nim; crystal; lua; groovy; delphi; cobol; \
        visual basic, vb net; julia; ada; fortran"),
    // Server frameworks.
    ("framework", "spring boot, spring; quarkus; micronaut; dropwizard; jakarta ee, java ee, j2ee; vert x, vertx; ktor; play framework; \
        express, express js; fastify; nestjs, nest js; koa; hapi; django; flask; fastapi; tornado; pyramid; rails, ruby on rails; \
        sinatra; hanami; laravel; symfony; zend; gin; chi; fiber; echo framework; axum; actix, actix web; rocket; asp net, asp net core; \
        phoenix; akka, pekko"),
    // Number of repositories.
    ("repository", "monorepo, mono repo, one repository, single repository, one repo, single repo; \
        polyrepo, multirepo, multi repo, repository per service, repo per service, own repository, own repo, separate repository, \
        separate repositories, separate repos, separate repo, own git repository, repository of its own, repo of its own"),
    ("host", "github; gitlab; bitbucket; gitea; forgejo; azure repos; gerrit; codecommit; sourcehut"),
    ("version control", "git; svn, subversion; mercurial, hg; perforce; cvs; tfs; jujutsu; git lfs; git submodule, git submodules, submodules"),
    // Branching.
    ("branch", "trunk, trunk based, trunk based development; git flow, gitflow; github flow; \
        release branch, release branches; develop branch, develop; feature branch, feature branches, long lived branch, \
        long lived branches"),
    ("merge", "squash merge, squash, squashed, squash and merge; merge commit, merge commits; rebase, rebased, rebasing, fast forward"),
    ("version number", "semver, semantic versioning, semantic versions; calver, calendar versioning; build number, build numbers"),
    ("review", "pull request review, code review, code reviews; pair programming, pairing, mob programming; ship show ask"),
    // Package managers.
    ("package", "npm; yarn; pnpm; bun; bower"),
    ("package", "pip; poetry; uv; pipenv; conda; pdm; setuptools"),
    ("build", "maven; gradle; bazel; sbt; ant; makefile, makefiles, make files; cmake; meson; buck; pants; nx; turborepo; lerna; rush js; rake; msbuild; \
        earthly; scons"),
    // Code style and quality.
    ("lint", "eslint; biome; tslint; oxlint; standardjs"),
    ("lint", "ruff; flake8; pylint; mypy; pyright; pyflakes"),
    ("format", "prettier; biome; clang format; google java format; spotless; editorconfig"),
    ("analysis", "sonarqube, sonarcloud, sonar; codeclimate; codacy; semgrep; codeql; coverity; checkmarx; veracode; fortify"),
    ("dependency", "dependabot; renovate; snyk; whitesource, mend; greenkeeper; updates by hand"),
    ("logging", "log4j; logback; slog; zap; logrus; zerolog; serilog; winston; pino; bunyan; loguru; structlog; nlog; log4net; println, console log"),
    // Unit tests, browser tests and contract tests.
    ("test", "junit; testng; spock; kotest"),
    ("test", "jest; vitest; mocha; jasmine; karma; ava js"),
    ("test", "pytest; unittest; nose tests; robot framework; behave"),
    ("test", "rspec; minitest; phpunit; pest php"),
    ("test", "xunit; nunit; mstest"),
    ("journeys", "playwright; selenium, webdriver; cypress; puppeteer; testcafe; nightwatch; webdriverio; protractor; katalon; capybara; \
        manual testing, manual tests, testing by hand, manual regression, clicking through"),
    ("contract", "pact; spring cloud contract; testcontainers, real thing; mock, mocks, mocking, mocked, stub, stubs, mockito, fakes, \
        in memory database; wiremock; dredd"),
    // Documentation.
    ("documentation", "confluence; notion; wiki; sharepoint; google docs; docs as code, mkdocs, docusaurus, asciidoc, antora; readthedocs; gitbook; obsidian"),
    ("diagram", "plantuml; mermaid; visio; structurizr; draw io, drawio; lucidchart; miro; graphviz; excalidraw"),
    ("ticket", "jira; linear app; trello; asana; github issues; gitlab issues; youtrack; redmine; azure boards; bugzilla; clickup; shortcut app"),
    ("editor", "vs code, vscode; intellij, intellij idea; vim, neovim; emacs; eclipse; sublime text; zed editor"),
];
