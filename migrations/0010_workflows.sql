-- Owned by archway-workers: what sessions work on, for half an hour. Nobody misses it after a crash.

create unlogged table workflows (
    tenant_id  uuid not null references tenants (id) on delete cascade,
    principal  text not null,
    -- The gateway's hash of a session.
    session    uuid not null,
    -- The prompt that was asked for last, and what was given for its arguments: a JSON object.
    prompt     text not null,
    arguments  text not null,
    opened_at  timestamptz not null default now(),
    -- When it was last asked for, or something was kept: it ends 30 minutes after.
    touched_at timestamptz not null default now(),
    -- The tools whose results are kept.
    tools      text[] not null,
    -- What was kept, a JSON array, the oldest first.
    results    text not null default '[]' check (octet_length(results) <= 512 * 1024),
    primary key (tenant_id, principal, session)
);

create index workflows_touched on workflows (touched_at);

alter table workflows enable row level security;

create policy workflows_own on workflows to archway_worker
    using (tenant_id = current_tenant()) with check (tenant_id = current_tenant());

grant select, insert, update on workflows to archway_worker;

-- What a tool answered may be closed, removed or erased since: then what a tenant's sessions kept goes.
create function forget_workflows() returns trigger
language plpgsql security definer
set search_path = public, pg_temp
as $$
begin
    delete from workflows where tenant_id = coalesce(new.tenant_id, old.tenant_id);
    return null;
end
$$;

revoke all on function forget_workflows() from public;

create trigger workflows_erased after insert on memory_erasures
    for each row execute function forget_workflows();
create trigger workflows_closed
    after delete or update of removed_at, open_globs, close_globs, allow_globs on projects
    for each row execute function forget_workflows();

-- Which sessions have one that was opened or added to since: hashes, and nothing of what they hold.
create function sessions_at_work(since timestamptz)
returns table (session uuid, touched_at timestamptz)
language sql stable security definer
set search_path = public, pg_temp
as $$
    select w.session, w.touched_at from workflows w
    where w.touched_at > greatest(since, now() - interval '30 minutes')
    order by w.touched_at limit 10000
$$;

-- Erases some of those that ended; how many.
create function erase_ended_workflows() returns bigint
language sql volatile security definer
set search_path = public, pg_temp
as $$
    with erased as (
        delete from workflows w using (
            select tenant_id, principal, session from workflows
            where touched_at < now() - interval '30 minutes'
            order by touched_at limit 1000 for update skip locked
        ) ended
        where (w.tenant_id, w.principal, w.session)
              = (ended.tenant_id, ended.principal, ended.session)
              and w.touched_at < now() - interval '30 minutes'
        returning 1
    )
    select count(*) from erased
$$;

revoke all on function sessions_at_work(timestamptz), erase_ended_workflows() from public;
grant execute on function sessions_at_work(timestamptz), erase_ended_workflows()
    to archway_worker;
