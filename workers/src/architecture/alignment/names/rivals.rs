//! Products and techniques, by what they are for.

/// Things by what they are, a block each.
#[rustfmt::skip]
pub(super) const RIVALS: &[(&str, &str)] = &[
    // Databases.
    ("database", "postgresql, postgres, pg, psql; mysql; mariadb; oracle, oracle database, oracledb; \
        sql server, mssql, ms sql; db2; sqlite; cockroachdb, cockroach; yugabytedb, yugabyte; tidb; \
        spanner, cloud spanner; aurora; mongodb, mongo; couchdb; couchbase; dynamodb, dynamo; \
        cosmosdb, cosmos db; firestore, firebase; cassandra; scylladb, scylla; neo4j; surrealdb"),
    // Brokers of messages, and logs of events.
    ("broker", "rabbitmq, rabbit, rmq; kafka, apache kafka; redpanda; pulsar, apache pulsar; sqs, amazon sqs, aws sqs; \
        nats, jetstream; activemq, artemis; zeromq; kinesis; pub sub, pubsub; azure service bus; \
        redis streams, redis stream, redis lists, redis list; celery; sidekiq; mqtt, mosquitto"),
    // Where services run.
    ("platform", "kubernetes, k8s, kube, eks, gke, aks; nomad; docker swarm, swarm; docker compose; ecs, fargate; \
        lambda, aws lambda, lambdas, cloud functions, azure functions, cloud function, serverless; cloud run; \
        heroku; fly io; virtual machine, virtual machines, vm, vms, ec2; bare metal; openshift"),
    // Languages of servers.
    ("language", "go, golang; java; kotlin; scala; clojure; rust; python; ruby; php; c#, csharp; node js, node, nodejs; \
        elixir; erlang; haskell; c++, cpp; zig; perl; deno; bun"),
    // Languages of browsers.
    ("language", "typescript, ts; javascript, js, plain javascript; flow; elm; dart; coffeescript"),
    // Frameworks of web clients.
    ("framework", "react, react js, reactjs; vue, vue js, vuejs, nuxt; angular, angularjs; svelte, sveltekit; \
        solid js, solidjs; ember; preact; jquery; htmx; blazor; lit"),
    // State in web clients.
    ("state", "redux; mobx; zustand; recoil; pinia; vuex; query library, react query, tanstack query"),
    // Styles of APIs.
    ("api", "rest, restful, rest api, http api, json over http; grpc; graphql; soap; json rpc; xml rpc; thrift; \
        trpc; odata"),
    // Caches.
    ("cache", "redis; memcached, memcache; valkey; hazelcast; ehcache; dragonfly; varnish"),
    // How people stay logged in.
    ("session", "jwt, jwts, json web token, json web tokens, access token; paseto; \
        session, sessions, server side session, server side sessions, session cookie, session cookies; \
        macaroon; basic auth"),
    // Who looks after people's accounts.
    ("identity provider", "auth0; okta; keycloak; cognito; clerk; entra, azure ad"),
    // Where telemetry goes.
    ("telemetry", "loki; elasticsearch, elastic; elk, elk stack, elastic stack; kibana; logstash; splunk; datadog; \
        new relic, newrelic; dynatrace; graylog; honeycomb; prometheus; influxdb; nagios; zabbix; cloudwatch; \
        tempo; jaeger; zipkin; sentry"),
    // How services are instrumented.
    ("instrumentation", "opentelemetry, otel; opentracing; opencensus; statsd; micrometer"),
    // Where builds run.
    ("ci", "github actions, gh actions, actions; gitlab ci; jenkins; circleci, circle ci; travis, travis ci; \
        teamcity; bamboo; buildkite; drone; azure devops, azure pipelines"),
    // Where secrets are.
    ("secret", "vault, hashicorp vault; sealed secrets; sops; kubernetes secrets, k8s secrets; \
        secret manager, secrets manager, aws secrets manager; env file, dotenv; doppler; git crypt"),
    // Who switches features.
    ("flag", "unleash; launchdarkly; flagsmith; split io; configcat; growthbook; optimizely; flags table"),
    // What things are identified by.
    ("identifier", "uuidv7, uuid v7; uuidv4, uuid v4, random uuid; ulid, ulids; snowflake; nanoid; ksuid; \
        sequence, sequences, bigserial, auto increment, autoincrement, serial, bigint"),
    // Tests in a browser.
    ("journeys", "playwright; selenium, webdriver; cypress; puppeteer"),
    // Tests of contracts, and doubles.
    ("contract", "pact; spring cloud contract; testcontainers; mock, mocks, mocking, mocked, stub, stubs; wiremock"),
    // How branches are kept.
    ("branch", "trunk, trunk based; git flow, gitflow; github flow; release branch, release branches; \
        develop branch, develop"),
    // How many repositories.
    ("repository", "monorepo, mono repo, one repository, single repository; \
        polyrepo, multirepo, repository per service, repo per service"),
    // How charts and machines are described.
    ("chart", "helm; kustomize; jsonnet"),
    ("infrastructure", "terraform, opentofu; pulumi; cloudformation; ansible; puppet; chef; saltstack"),
    // How bytes are written.
    ("format", "json; xml; protobuf, protocol buffers, proto; avro; msgpack, messagepack; yaml; toml"),
    // Search engines.
    ("search", "opensearch; solr; meilisearch; typesense; algolia"),
    // How texts are translated.
    ("translate", "gettext; i18next; fluent; icu"),
    // Phone apps.
    ("app", "flutter; react native; swiftui, swift; xamarin"),
    // Where objects are.
    ("storage", "s3, amazon s3; minio; gcs; azure blob"),
    // Meshes and proxies.
    ("mesh", "istio; linkerd; consul"),
    ("proxy", "nginx; haproxy; traefik; envoy; caddy"),
    // Hosts of code.
    ("host", "github; gitlab; bitbucket; gitea"),
    // How a front end is cut.
    ("frontend", "module federation, micro frontend, micro frontends, microfrontend, microfrontends; \
        one application, monolith; single spa, iframe, iframes"),
    // Clocks.
    ("time", "utc, gmt; local time, local times, wall clock"),
    ("timestamp", "rfc 3339, iso 8601; \
        unix timestamp, unix timestamps, unix seconds, unix milliseconds, epoch, epoch seconds, epoch milliseconds, unix time"),
    // Managers of packages.
    ("package", "npm; yarn; pnpm"),
    ("build", "maven; gradle; bazel"),
];
