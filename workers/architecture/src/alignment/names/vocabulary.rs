//! Plain words: synonyms, technical terms, everyday vocabulary and ambiguous names.

/// Synonyms, one group per line.
#[rustfmt::skip]
pub(super) const SYNONYMS: &str =
"database, databases, db, dbs
repository, repositories, repo, repos
virtual machine
telephone, telephones, phone, phones
delete, deletes, deleted, deletion, remove, removes, removed, erase, erased, purge, purged, drop
keep, keeps, kept, retain, retained, retention, store, stores, stored, storing, hold, holds, held, holding
time to live, ttl, expiry, expire, expires, expiration
login, logins, log in, logs in, logged in, sign in, signed in, stay logged in
log, logs, logging, log line, log lines
browser, browsers
identifier, identifiers, id, ids
email, e mail, emails, e mails
eu, european union
licence, licences, license, licenses, licensed
dependency, dependencies, library, libraries
pull request, pull requests, merge request, merge requests, pr, prs
recipient, recipients, customer, customers
password, passwords, secret, secrets, credential, credentials
retry, retries, retried, retrying, tried, try again, tried again, tries
trunk, main, mainline
translate, translated, translation, translations, translator, translators
test, tests, tested, testing
address, addresses
message, messages, event, events
queue, queues, queued
encrypt, encrypted, encryption
flag, flags, feature flag, feature flags, toggle, toggles, release flag, release flags
service, services
frontend, front end, web client, web clients
chart, charts, helm chart, helm charts
cache, caches, cached, caching
container, containers
deploy, deploys, deployed, deployment, deployments, deploying
gigabyte, gb, gib, gigs, gig
backup, backups
version, versions
replica, replicas
europe, european
quota, quotas, rate limit, rate limits, limits per partner
token, tokens";

/// Technical terms, sorted.
#[rustfmt::skip]
pub(in crate::alignment) const TECHNICAL: &[&str] = &[
    "alert", "algorithm", "api", "apis", "app", "apps", "architecture", "async", "attempts", "authenticate",
    "authentication", "authorisation", "authorization", "backend", "backends", "backoff", "backup", "bandwidth",
    "binary", "branch", "branches", "broker", "browser", "bug", "build", "builds", "byte", "bytes", "cache",
    "catalogue", "catalogues", "certificate", "chart", "ci", "cli", "client", "clients", "cloud", "cluster", "clusters",
    "code", "codebase", "column", "columns", "commit", "commits", "compiler", "component", "components", "config",
    "configuration", "consumer", "consumers", "container", "cookie", "cookies", "coverage", "cpu", "cron", "dashboard",
    "dashboards", "data", "database", "datacenter", "dataset", "deadlock", "debug", "dependency", "deploy", "docker",
    "document", "documents", "domain", "encrypt", "endpoint", "endpoints", "engine", "environment", "environments",
    "error", "errors", "event", "exception", "failover", "field", "fields", "firmware", "flag", "framework",
    "frameworks", "frontend", "function", "functions", "gateway", "git", "handler", "hash", "header", "headers", "host",
    "hosting", "html", "http", "https", "idempotency", "idempotent", "identifier", "image", "images", "index",
    "indexes", "instance", "instances", "instrumentation", "interface", "interfaces", "job", "jobs", "jsonb", "jvm",
    "kernel", "key", "keys", "latency", "layer", "library", "licence", "linter", "log", "login", "merge", "merged",
    "mesh", "message", "metadata", "metric", "metrics", "middleware", "migrate", "migration", "migrations", "mock",
    "model", "module", "modules", "monitoring", "namespace", "network", "oauth", "object", "observability", "offset",
    "openapi", "operator", "orm", "outbox", "package", "packages", "pagination", "parser", "partition", "partitions",
    "payload", "payloads", "pipeline", "pipelines", "platform", "plugin", "plugins", "pod", "pods", "primary", "probe",
    "probes", "process", "production", "protocol", "proxies", "proxy", "pull request", "queries", "query", "queue",
    "quorum", "quota", "redirect", "refactor", "registry", "render", "rendering", "replica", "repository", "request",
    "requests", "response", "retry", "rollback", "row", "rows", "runner", "runners", "runtime", "schema", "schemas",
    "scope", "script", "scripts", "sdk", "semver", "server", "servers", "service", "shard", "sharding", "socket",
    "software", "source", "spans", "sql", "ssh", "ssl", "sso", "staging", "stateless", "storage", "stream", "streams",
    "table", "tables", "telemetry", "template", "templates", "tenant", "thread", "threads", "throughput", "time to live", "timestamp",
    "timestamps", "timestamptz", "timezone", "tls", "toggle", "token", "topic", "totp", "trace", "traces", "tracing",
    "transaction", "transactions", "trunk", "type", "types", "ui", "unit", "upgrade", "upstream", "url", "urls", "user",
    "users", "utf", "version", "webhook", "webhooks", "websocket", "worker", "workers", "workflow", "workflows",
];

/// Words of office talk that is not about software.
pub(in crate::alignment) const EVERYDAY: &str = "party lunch dinner canteen kitchen coffee fence paint painted \
furniture desk chair bench window door garden travel hotel train flight car van bike parking office lease rent landlord contract \
price discount invoice insurance salary holiday leave hiring interview candidate colleague visitor guest training course workshop \
poster flyer brochure logo letterhead press magazine interpreter translator lawyer accountant catering music choir sport football \
match run ferry boat island beach weather rain snow winter summer Christmas children school college apprentice birthday gift prize \
charity donation union vote election city mayor street building roof floor wall wood steel plastic metal cloth shirt shoes vest \
food fruit bread drink beer wine cooking chef restaurant fire drill cleaning rubbish recycling \
battery lamp light solar heating water toilet lift elevator stairs fair stand booth exhibition conference museum book library";

/// Names that are also English words, sorted.
#[rustfmt::skip]
pub(super) const AMBIGUOUS: &[&str] = &[
    "ably", "actions", "ada", "airflow", "airship", "alembic", "alpine", "amplitude", "ant", "anthropic", "argon",
    "arrow", "artemis", "artillery", "asana", "astro", "athena", "atlas", "aurora", "backbone", "badger", "bamboo",
    "barman", "bazel", "beam", "bedrock", "behave", "biome", "black", "blazor", "borg", "bower", "braze", "brevo",
    "buck", "bulma", "bun", "cadence", "caffeine", "capacitor", "celery", "ceph", "chakra", "chef", "chi", "claude",
    "clerk", "cohere", "concourse", "conda", "conductor", "confluence", "conjur", "consul", "cordova", "cortex",
    "crystal", "cypress", "dagger", "dapper", "dart", "deno", "diesel", "discord", "doctrine", "doppler",
    "dragonfly", "dredd", "drizzle", "drone", "druid", "drupal", "eclipse", "electron", "elm", "eloquent", "ember",
    "emotion", "envoy", "exim", "exoscale", "expo", "exposed", "express", "f5", "fabric", "falcor", "fastly",
    "fathom", "fauna", "fiber", "flagd", "flask", "flink", "flipper", "flipt", "flow", "fluent", "flux", "gatsby",
    "gemini", "gin", "go", "goose", "graphite", "gremlin", "grunt", "gulp", "hapi", "harbor", "helm", "heroku",
    "hive", "iceberg", "icu", "ignite", "impala", "intercom", "ionic", "jasmine", "java", "jest", "julia", "karma",
    "kirby", "klarna", "knex", "knockout", "koa", "kong", "kratos", "kuma", "lambda", "lens", "linode", "lit",
    "litmus", "llama", "locust", "loki", "looker", "main", "mantine", "matrix", "mattermost", "maven", "mend",
    "meson", "mesos", "metabase", "mimir", "minio", "mocha", "nexus", "nightwatch", "nim", "node", "nomad", "notion",
    "obsidian", "odyssey", "okta", "oracle", "orc", "ory", "oso", "pact", "paddle", "pants", "perl", "phoenix",
    "phrase", "pino", "pinot", "plausible", "play", "poetry", "polymer", "postmark", "pound", "presto", "prism",
    "pulsar", "puppet", "pusher", "qt", "quay", "radix", "rails", "railway", "rake", "realm", "relay", "remix",
    "render", "renovate", "resend", "rocket", "rollbar", "rollup", "ruff", "rust", "salt", "sanity", "sass",
    "semaphore", "sentry", "sequelize", "serial", "shortcut", "sinch", "singer", "slack", "slog", "snappy",
    "snowflake", "soap", "solace", "sonar", "spinnaker", "spock", "spree", "spring", "square", "squid", "stimulus",
    "stitch", "storm", "stripe", "superset", "svelte", "swarm", "swift", "swing", "synapse", "talos", "teams",
    "teleport", "tempo", "temporal", "thanos", "travis", "trello", "twirp", "umami", "unleash", "uv", "varnish",
    "vegeta", "winston", "woodpecker", "wrk", "yarn", "zap", "zig",
];
