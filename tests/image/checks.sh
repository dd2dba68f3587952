# The checks of the installation that tests/image/run started, which sources this file.
#
# shellcheck shell=bash disable=SC2154

# The call as printed for a shell, and one call by each printed file.
check_settings() {
    local command
    command=$(sed -n '/^curl$/,/^$/p' "$work/settings" | tail -n +2)
    bash -c "$command --silent --fail --max-time 20" >"$work/answer" || return
    grep -q 'greeting.txt\|"total_files":2' "$work/answer" || { cat "$work/answer"; return 1; }
    call read_file '{"path":"src/greeting.txt"}' | grep -q 'the word is sesame' || return
    call read_file '{"path":"group.txt"}' | grep -q 'for the group' || return
    until_true 20 are_counted_together || fail "limits are not counted in valkey"
}

# The usage of a call is in the limit store, so all gateways count it.
are_counted_together() {
    call hello '{}' >/dev/null
    [ "$(podman exec "$(containers valkey)" valkey-cli dbsize)" -gt 0 ]
}

# call TOOL ARGUMENTS: calls with the printed key.
call() {
    local key
    key=$(printed_key)
    curl --silent --fail --max-time 20 "http://127.0.0.1:$PORT/mcp" \
        -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \
        -H 'Accept: application/json, text/event-stream' \
        -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"'"$1"'","arguments":'"$2"'}}'
}

printed_key() {
    grep -o 'awy_[A-Za-z0-9_]*' "$work/settings" | head -n 1
}

# By git and ssh of the image, as its user.
check_mirrors() {
    as_owner project add team over-https --git https://git.example.com:8443/site.git --credential https >/dev/null
    as_owner project add team over-ssh --git ssh://git@git.example.com:2222/srv/git/site.git --credential ssh >/dev/null
    as_owner project add team silent --git https://git.example.com:8443/silent.git --credential https >/dev/null
    local project
    for project in over-https over-ssh; do
        until_true 60 is_in_state "$project" ok || fail "no mirror: $(as_owner sync status team)"
        until_true 20 has_the_word "$project" || fail "$project is not served"
    done
    until_true 60 is_in_state silent backing_off || fail "it waits yet: $(as_owner sync status team)"
    until_true 20 has_no_zombie "$(containers sync)" || fail "programs of git stay zombies"
}

# is_in_state PROJECT STATE
is_in_state() {
    as_owner sync status team | grep -Eq "^$1 .* $2( |\$)"
}

has_the_word() {
    call read_file '{"project":"'"$1"'","path":"src/greeting.txt"}' | grep -q 'the word is sesame'
}

has_no_zombie() {
    local pid
    pid=$(podman inspect --format '{{.State.Pid}}' "$1")
    ! ps --ppid "$pid" --format stat= | grep -q '^Z'
}

# Observed from outside, through the kernel: the image has no program that could try.
check_confinement() {
    local role pid container
    [ "$(containers worker | wc -l)" -eq 2 ] || fail "there are not two workers"
    for role in gateway sync worker postgres valkey; do
        for container in $(containers $role); do
            pid=$(podman inspect --format '{{.State.Pid}}' "$container")
            is_confined "$pid" || fail "$role has rights: $(grep -E 'Cap|NoNew|Uid' "/proc/$pid/status")"
            is_refused "$pid" "" || fail "$role can write its root"
            until_true 20 is_healthy "$container" || fail "$role is not healthy"
        done
    done
    for container in $(containers gateway) $(containers sync) $(containers worker); do
        pid=$(podman inspect --format '{{.State.Pid}}' "$container")
        grep -Pq '^Uid:(\t65532){4}$' "/proc/$pid/status" || fail "it runs as another user"
    done
    # The mounts of the last worker.
    is_refused "$pid" repos/team/repo || fail "a worker can write a repository"
    is_refused "$pid" var/lib/archway/mirrors || fail "a worker can write mirrors"
    holds "$pid" worker "database.pw pass.pub" && holds "$pid" gateway "" && holds "$pid" owner "" &&
        holds "$pid" sync ""
}

# containers SERVICE
containers() {
    podman ps --quiet --filter "label=com.docker.compose.service=$1"
}

is_confined() {
    local status="/proc/$1/status"
    [ "$(grep -cE '^Cap(Inh|Prm|Eff|Bnd|Amb):\s0{16}$' "$status")" -eq 5 ] &&
        grep -qP '^NoNewPrivs:\t1$' "$status" && grep -qP '^Seccomp:\t2$' "$status"
}

# is_refused PID FOLDER: by the mount. The check runs as root, which nothing else would refuse.
is_refused() {
    local said
    if said=$(touch "/proc/$1/root/$2/written" 2>&1); then return 1; fi
    [[ $said == *'Read-only file system'* ]]
}

# holds PID FOLDER NAMES: the secrets that the process sees are these.
holds() {
    local found
    found=$(find "/proc/$1/root/var/lib/archway/$2" -mindepth 1 -printf '%P\n' | sort | paste -s -d ' ')
    [ "$found" = "$3" ] || fail "a worker holds other secrets in $2: $found"
}

is_healthy() {
    [ "$(podman inspect --format '{{.State.Healthcheck.Status}}' "$1")" = healthy ]
}

# Workers report their folders every few seconds.
serves_the_project() { [[ $(as_owner project list) == *team*repo*served* ]]; }

# The commands of deploy/compose/README.md.
check_administration() {
    until_true 20 serves_the_project || fail "other projects: $(as_owner project list)"
    local key
    key=$(as_owner key issue team --label ci --expires 90d)
    [[ $key == *awy_* ]] || fail "no key: $key"
    as_owner audit verify >/dev/null
}

as_owner() {
    compose run --rm --no-deps --no-TTY apply "$@" 2>>"$work/owner.log"
}

# As in docs/src/operations/secrets.md, for a first key that leaked.
check_new_key() {
    local old
    old=$(printed_key)
    compose run --rm --no-deps --no-TTY init init /var/lib/archway --new-key >"$work/init.log" 2>&1 ||
        { cat "$work/init.log"; return 1; }
    as_owner key revoke "$(echo "$old" | cut -d _ -f 2)" >/dev/null
    # Otherwise the log would contain both keys.
    compose rm --force --stop settings >/dev/null 2>&1
    start_all
    [ "$(printed_key)" != "$old" ] || fail "the key is the old one"
    call read_file '{"path":"src/greeting.txt"}' | grep -q 'the word is sesame' || return
    sed -i "s/awy_[A-Za-z0-9_]*/$old/" "$work/settings"
    if call hello '{}' >/dev/null 2>&1; then fail "the old key is good yet"; fi
    settings_are_printed
}

check_second_start() {
    local before
    before=$(printed_key)
    compose down --timeout 10 >"$work/down.log" 2>&1 || { cat "$work/down.log"; return 1; }
    start_all
    [ "$(printed_key)" = "$before" ] || fail "the key is another one"
    compose logs --no-color --no-log-prefix apply | grep -qx 'unchanged 3' || fail "apply changed something"
    call read_file '{"path":"src/greeting.txt"}' | grep -q 'the word is sesame'
}

check_stop() {
    local container containers code
    containers=$(containers gateway; containers sync; containers worker)
    compose stop --timeout 20 gateway sync worker >"$work/stop.log" 2>&1 || { cat "$work/stop.log"; return 1; }
    for container in $containers; do
        code=$(podman inspect --format '{{.State.ExitCode}}' "$container")
        [ "$code" = 0 ] || fail "it ended with $code"
    done
}
