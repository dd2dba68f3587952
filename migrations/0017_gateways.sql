-- Owned by archway-gateway: which gateways run, and where their admin ports are, for `archway status`.

create table gateways (
    -- Of one process.
    id      uuid primary key,
    name    text not null check (length(name) <= 253),
    -- What its host calls itself: an address of loopback is good there alone.
    host    text not null check (length(host) between 1 and 253),
    -- `address:port`.
    admin   text not null check (length(admin) between 1 and 64),
    seen_at timestamptz not null default now()
);

-- It holds nothing of any tenant; no role of a running part reads it.
alter table gateways enable row level security;

-- A gateway says that it runs. It sees nothing of what others said.
create function report_gateway(id uuid, name text, host text, admin text)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    delete from gateways g where g.seen_at < now() - interval '1 hour';
    insert into gateways (id, name, host, admin) values ($1, $2, $3, $4)
    on conflict (id) do update set seen_at = now()
$$;

-- A gateway says that it ends.
create function forget_gateway(id uuid)
returns void
language sql volatile security definer
set search_path = public, pg_temp
as $$
    delete from gateways g where g.id = $1
$$;

revoke all on function report_gateway(uuid, text, text, text), forget_gateway(uuid) from public;
grant execute on function report_gateway(uuid, text, text, text), forget_gateway(uuid)
    to archway_gateway;
