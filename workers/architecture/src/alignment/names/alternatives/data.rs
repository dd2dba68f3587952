//! Storing, searching, moving and counting data.

use super::Group;

/// Groups of alternatives.
#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    // Service databases.
    ("database", "postgresql, postgres, pg, psql, postgre; mysql; mariadb; oracle, oracle database, oracledb; \
        sql server, mssql, ms sql, azure sql; db2; sqlite; cockroachdb, cockroach; yugabytedb, yugabyte; tidb; \
        spanner, cloud spanner; aurora; mongodb, mongo, documentdb; couchdb; couchbase; dynamodb, dynamo; \
        cosmosdb, cosmos db; firestore, firebase database, realtime database; cassandra; scylladb, scylla; \
        neo4j; surrealdb; arangodb; ravendb; rethinkdb; planetscale; vitess; hbase; foundationdb; fauna, faunadb; \
        datomic; firebird; percona; singlestore; voltdb; neptune; janusgraph; dgraph; orientdb; ms access"),
    // Embedded databases.
    ("database", "sqlite; rocksdb; leveldb; lmdb; berkeley db; boltdb, bbolt; badger, badgerdb; h2; realm; \
        indexeddb; core data"),
    // Time series.
    ("time series", "timescaledb, timescale; influxdb, influx; questdb; opentsdb; graphite; victoriametrics; \
        clickhouse; kdb; iotdb"),
    // Data warehouses.
    ("warehouse", "bigquery; snowflake; redshift; clickhouse; druid; pinot; databricks; trino, presto; athena; \
        duckdb; synapse; vertica; hive; teradata; impala; greenplum; motherduck"),
    // Table formats of data lakes.
    ("lake", "iceberg; delta lake; hudi"),
    // Vector stores.
    ("vectors", "pgvector; qdrant; pinecone; weaviate; milvus; chroma, chromadb; faiss"),
    // Full-text search.
    ("search", "opensearch; elasticsearch; solr; meilisearch, meili; typesense; algolia; lucene; vespa; manticore; \
        postgres full text, tsvector"),
    // Message brokers and event logs.
    ("broker", "rabbitmq, rabbit, rmq; kafka, apache kafka, msk, confluent; redpanda; pulsar, apache pulsar; \
        sqs, amazon sqs, aws sqs; sns, amazon sns; nats, jetstream, nats jetstream; activemq, artemis; zeromq; \
        kinesis; pub sub, pubsub, google pub sub; azure service bus, service bus; event hubs; eventbridge; \
        redis streams, redis stream, redis lists, redis list; celery; sidekiq; resque; bullmq; hangfire; nsq; \
        beanstalkd; ibm mq, websphere mq; tibco; solace; mqtt, mosquitto, emqx, hivemq; msmq; \
        listen notify, pg notify, pgmq, pg boss, skip locked, table as a queue"),
    // Stream processing.
    ("stream", "flink; kafka streams; spark streaming, structured streaming; ksqldb, ksql; beam, apache beam; \
        dataflow; samza; storm"),
    // Workflow engines.
    ("workflow", "temporal; cadence; camunda; zeebe; airflow; step functions; prefect; dagster; luigi; \
        argo workflows; nifi; flowable; activiti; jbpm; conductor"),
    // Schedulers.
    ("schedule", "cron, crontab, cron job, cron jobs; cronjob, cronjobs, kubernetes cronjob; quartz; \
        systemd timer, systemd timers; celery beat; rundeck; task scheduler"),
    // Data pipelines.
    ("pipeline", "debezium, change data capture, cdc; fivetran; airbyte; stitch; talend; informatica; meltano; \
        singer; kafka connect"),
    ("pipeline", "dbt; stored procedures, stored procedure; dataform; sqlmesh"),
    // Caches.
    ("cache", "redis, elasticache; memcached, memcache; valkey; hazelcast; ehcache; dragonfly; varnish; ignite; \
        infinispan; caffeine; keydb; apcu; in process cache, in memory cache, process memory"),
    // Database access in code.
    ("orm", "hibernate, jpa, spring data; jooq; mybatis; sqlalchemy; django orm; sequelize; typeorm; prisma; drizzle; \
        knex; gorm; sqlc; entity framework, ef core; dapper; diesel; active record, activerecord; doctrine; eloquent; \
        raw sql, plain sql, hand written sql, handwritten sql; exposed; objection; mikroorm"),
    // Schema migrations.
    ("migration", "flyway; liquibase; alembic; goose; golang migrate; dbmate; sqitch; atlas; knex migrations; \
        rails migrations; schema changes by hand"),
    ("pool", "pgbouncer; pgpool; odyssey; rds proxy; hikaricp; proxysql"),
    // Object storage.
    ("storage", "s3, amazon s3, aws s3, s3 bucket, s3 buckets; minio; gcs, google cloud storage; azure blob, blob storage; \
        r2, cloudflare r2; ceph; backblaze, b2; seaweedfs; nfs, network share, shared drive, smb; efs; glusterfs; \
        local disk, local disks, local file system; bytea, blob column, blobs in the database"),
    // Backups.
    ("backup", "pgbackrest; barman; wal g; restic; borg, borgbackup; velero; pg dump; bacula; veeam"),
    // Identifiers.
    ("identifier", "uuidv7, uuid v7, uuidv7s; uuidv4, uuid v4, random uuid, random uuids; ulid, ulids; snowflake id, snowflake ids; \
        nanoid; ksuid; cuid; hashids; \
        sequence, sequences, bigserial, auto increment, autoincrement, serial, bigint, integer id, integer ids, \
        numeric id, numeric ids, sequential id, sequential ids; natural key, natural keys"),
    // Serialization formats.
    ("format", "json; xml; protobuf, protocol buffers, proto; avro; msgpack, messagepack; cbor; flatbuffers; thrift; \
        csv; edifact; bson; cap n proto, capnproto; fixed width"),
    ("format", "yaml; toml; ini; json; hcl; dhall; properties file"),
    ("format", "parquet; orc; csv; avro; arrow; excel, xlsx"),
    ("compression", "gzip; brotli; zstd, zstandard; snappy; lz4; bzip2; xz"),
    // Money amounts.
    ("amount", "floating point, float, floats, doubles; decimal, decimals, numeric type, bigdecimal; \
        minor units, integer cents, whole cents, cents, pence"),
    // Time zones and timestamps.
    ("time", "utc, gmt; local time, local times, wall clock"),
    ("timestamp", "rfc 3339, iso 8601, rfc3339, iso8601; \
        unix timestamp, unix timestamps, unix seconds, unix milliseconds, epoch, epoch seconds, \
        epoch milliseconds, unix time"),
];
