//! Names of products and techniques, and which of them take each other's place.
//!
//! A line is a group of alternatives: who adopts one where another was chosen replaces it. `=` joins names
//! of one product. Names of two words are written without the blank. The list is small on purpose: it
//! holds what decisions are most often about, and a product that it lacks is merely related.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The groups.
const GROUPS: &str = "\
postgresql=postgres=pg=psql mysql mariadb oracle mssql=sqlserver db2 sqlite cockroachdb=cockroach tidb yugabytedb spanner aurora mongodb=mongo couchdb couchbase dynamodb=dynamo cosmosdb firestore cassandra scylladb neo4j
timescaledb=timescale influxdb=influx clickhouse questdb opentsdb
rabbitmq=rabbit kafka=msk redpanda pulsar sqs nats=jetstream activemq=artemis kinesis pubsub servicebus eventhubs eventbridge celery sidekiq zeromq
mosquitto emqx hivemq
redis=elasticache memcached=memcache valkey hazelcast ehcache
opensearch elasticsearch=elastic solr meilisearch typesense algolia
bigquery snowflake redshift databricks trino=presto athena duckdb druid
parquet=geoparquet netcdf zarr orc csv
json xml protobuf avro msgpack=messagepack cbor flatbuffers
go=golang rust java kotlin python ruby php csharp=c# scala elixir c++ node=node.js=nodejs
javascript=js typescript=ts elm
react vue=vue.js angular svelte ember jquery
electron tauri qt=qml flutter reactnative=react-native xamarin gtk
redux mobx zustand
kubernetes=k8s nomad swarm ecs lambda=lambdas=cloudfunctions cloudrun fargate heroku
terraform opentofu pulumi cloudformation cdk bicep
ansible chef puppet saltstack
jenkins githubactions=ghactions gitlabci circleci buildkite teamcity travis
gradle maven bazel
aws azure gcp=googlecloud hetzner
keycloak auth0 okta cognito zitadel
vault sealedsecrets secretsmanager doppler sops
datadog newrelic dynatrace splunk grafana kibana
loki logstash graylog
sentry bugsnag rollbar
unleash launchdarkly flagsmith
rest grpc graphql soap
polling websockets=websocket webhooks
uuidv7 uuidv4 ulid bigint=bigserial=autoincrement nanoid
selenium playwright cypress
flyway liquibase alembic
ses=amazonses sendgrid mailgun postfix postmark
stripe adyen paypal
nginx envoy haproxy traefik
istio linkerd
slack matrix discord zulip mattermost discourse
semver calver
jwt=jwts=jsonweb paseto";

/// Names that are also plain words: they count with a capital letter.
const PLAIN: [&str; 22] = [
    "oracle", "chef", "swarm", "node", "puppet", "vault", "react", "druid", "spanner", "aurora",
    "elastic", "dynamo", "rabbit", "matrix", "lambda", "slack", "stripe", "ember", "unleash",
    "envoy", "nomad", "soap",
];
/// Names that are also verbs or nouns with which sentences begin.
const BEGINNING: [&str; 2] = ["go", "rest"];

/// A product or technique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Product {
    name: &'static str,
    /// The groups that it is in, one bit each.
    groups: u64,
}

impl Product {
    /// Its main name.
    pub(super) fn name(self) -> &'static str {
        self.name
    }

    /// Whether one takes the other's place.
    pub(super) fn is_alternative(self, other: Product) -> bool {
        self.name != other.name && self.groups & other.groups != 0
    }
}

/// The product that a word, or that and the next one, names.
pub(super) fn product(word: &str, next: &str, is_capital: bool, is_first: bool) -> Option<Product> {
    let both = format!("{word}{next}");
    if let Some(product) = PRODUCTS.get(both.as_str()).filter(|_| !next.is_empty()) {
        return Some(*product);
    }
    let is_plain = PLAIN.contains(&word) && !is_capital;
    let begins = BEGINNING.contains(&word) && (is_first || !is_capital);
    PRODUCTS.get(word).copied().filter(|_| !is_plain && !begins)
}

static PRODUCTS: LazyLock<HashMap<&'static str, Product>> = LazyLock::new(|| {
    let mut groups: HashMap<&str, u64> = HashMap::new();
    let entries = || {
        let lines = GROUPS.lines().zip(0_u32..);
        lines.flat_map(|(line, group)| line.split(' ').map(move |entry| (entry, group)))
    };
    let main = |entry: &'static str| entry.split('=').next().unwrap_or(entry);
    for (entry, group) in entries() {
        *groups.entry(main(entry)).or_default() |= 1 << group;
    }
    let mut products = HashMap::new();
    for (entry, _) in entries() {
        let name = main(entry);
        let groups = groups.get(name).copied().unwrap_or(0);
        products.extend(
            entry
                .split('=')
                .map(|alias| (alias, Product { name, groups })),
        );
    }
    products
});

#[cfg(test)]
mod tests {
    use super::*;

    fn named(word: &str, next: &str) -> Option<Product> {
        product(word, next, true, false)
    }

    #[test]
    fn products_of_a_group_are_alternatives() {
        let postgres = named("pg", "as").unwrap();
        assert_eq!(postgres.name(), "postgresql");
        assert!(postgres.is_alternative(named("mongo", "").unwrap()));
        assert!(!postgres.is_alternative(named("postgres", "").unwrap()));
        assert!(!postgres.is_alternative(named("kafka", "").unwrap()));
        assert_eq!(named("sql", "server").unwrap().name(), "mssql");
        assert!(GROUPS.lines().count() <= 64, "a bit for each");
    }

    #[test]
    fn plain_words_name_products_only_with_a_capital() {
        assert!(product("go", "back", true, true).is_none());
        assert!(product("rest", "of", false, false).is_none());
        assert!(named("go", "").is_some());
        assert!(product("vault", "", false, false).is_none());
    }
}
