//! Architecture and design techniques: decomposition, state, consistency and change.

use super::Group;

/// Groups of alternatives.
#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    // Decomposition of a system.
    ("service", "monolith, monolithic, modular monolith, modulith, majestic monolith, one deployable, single deployable; \
        microservice architecture, microservice, microservices; service oriented architecture, soa, esb, enterprise service bus; \
        nano services, nanoservices"),
    ("architecture", "hexagonal, hexagonal architecture, ports and adapters, clean architecture, onion architecture; \
        layered architecture, three layers, n tier, three tier; mvc, model view controller; vertical slices, vertical slice; transaction script; \
        active record pattern; big ball of mud"),
    // Storage of state.
    ("state", "event sourcing, event sourced; crud, current state, plain rows, state stored; audit table, history table"),
    ("ownership", "database per service, schema per service, own database, own schema, own tables, separate database, \
        separate databases, database of its own; \
        shared database, common database, one database for all, same database, integration database, shared schema, shared tables"),
    ("tenancy", "row level security, tenant column, rls, tenant id column; schema per tenant, schemas per tenant; \
        database per tenant, databases per tenant, instance per customer, deployment per customer, own database per customer"),
    // Agreement on changes.
    ("transaction", "saga, sagas; two phase commit, 2pc, distributed transaction, distributed transactions, xa, xa transaction, xa transactions; \
        outbox, transactional outbox, outbox table, outbox pattern; dual write, dual writes, dual writing, written twice; best effort"),
    ("coordination", "orchestration, orchestrator, orchestrated, process manager; choreography, choreographed"),
    ("consistency", "eventual consistency, eventually consistent; strong consistency, strongly consistent, linearizable"),
    ("lock", "optimistic locking, optimistic lock, optimistic concurrency, version column; pessimistic locking, pessimistic lock, select for update, \
        row lock, row locks; distributed lock, distributed locks, redlock; advisory lock, advisory locks; last write wins"),
    ("isolation", "serializable, serialisable; read committed; repeatable read; snapshot isolation; read uncommitted"),
    ("delivery", "at least once; exactly once; at most once"),
    ("deletion", "soft delete, soft deletes, soft deletion, deleted at column, deleted flag; hard delete, hard deletes, real delete, physical deletion"),
    ("concurrency", "async await, event loop; virtual threads, green threads, goroutines; thread pool, thread per request, threads; \
        actors, actor model; reactive streams, reactive, webflux, rxjava; coroutines"),
    ("failure", "exceptions, checked exceptions; result type, result types, either type; error codes, error code"),
    ("synchrony", "synchronous call, synchronous calls, synchronous, synchronously; \
        asynchronous, asynchronously, asynchronous message, asynchronous messages, fire and forget"),
    ("composition", "inheritance; composition"),
    ("paradigm", "object oriented, oop; functional programming, functional style"),
    ("injection", "dependency injection, di container, constructor injection; service locator; singletons, global variables"),
    ("code generation", "generated code, code generation, generated client, generated clients; hand written client, hand written clients"),
    ("backoff", "exponential backoff; fixed delay, fixed interval, constant delay; immediate retry, retry at once"),
    ("batch", "nightly batch, batch job, batch jobs, batches, nightly export, nightly import, overnight batch; real time, near real time, streaming"),
    ("hosting", "self hosted, self host, self hosting, hosted by ourselves, host it ourselves, run it ourselves; \
        managed service, managed services, saas, software as a service, hosted service, bought as a service"),
    ("rhythm", "every two weeks, fortnightly, biweekly, sprint release; daily release, released daily, several times a day, continuous deployment, \
        continuous delivery, each merge; quarterly release, release train, release window, monthly release, weekly release"),
    ("place", "allow list, allowlist, whitelist; deny list, denylist, blocklist, blacklist"),
    ("environment", "shared staging, staging environment, staging, shared test environment, permanent test environment; \
        preview environment, preview environments, ephemeral environment, ephemeral environments, environment per pull request, review app, review apps"),
    ("test data", "synthetic data, generated data, made up data, fake data; production data, real data, copy of production, production dump, \
        masked data, anonymised production data"),
];
