# What the tests stand on, for tests/run and .ci/run to source: tools of the system, the real
# MCP clients and ripgrep in a cache folder outside the clone, and one PostgreSQL cluster.
#
# shellcheck shell=bash

ARCHWAY_CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/archway"
# Pinned: the clients that the tests speak through, and the ripgrep that search is compared with.
PYTHON_PACKAGES=(mcp==2.3.0 ripgrep==15.1.0)
NODE_PACKAGES=(@modelcontextprotocol/client@2.4.0)

# Installs all of it, where missing, and exports where it is.
install_house() {
    install_system_packages
    install_python_tools
    install_node_client
    export ARCHWAY_TEST_PYTHON="$ARCHWAY_CACHE/python/bin/python"
    export ARCHWAY_TEST_RG="$ARCHWAY_CACHE/python/bin/rg"
    export ARCHWAY_TEST_NODE_CLIENT="$ARCHWAY_CACHE/node"
}

install_system_packages() {
    local missing=()
    postgres_bin >/dev/null || missing+=(postgresql)
    command -v git >/dev/null || missing+=(git)
    command -v mold >/dev/null || missing+=(mold)
    command -v npm >/dev/null || missing+=(nodejs npm)
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
    [ ${#missing[@]} -eq 0 ] && return
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    elif [ "${missing[*]}" != mold ]; then # only a faster linker
        echo "tests/run: please install (Debian's names): ${missing[*]}" >&2
        return 1
    fi
}

# A folder is made beside its place and moved there, so that an interrupted install is no install.
install_python_tools() {
    local wanted="${PYTHON_PACKAGES[*]}" place="$ARCHWAY_CACHE/python"
    [ "$(cat "$place/installed" 2>/dev/null)" = "$wanted" ] && "$place/bin/python" -c '' 2>/dev/null && return
    rm -rf "$place"
    python3 -m venv "$place"
    # Compiling all modules would take longer than everything else here.
    "$place/bin/pip" install --quiet --no-compile --disable-pip-version-check "${PYTHON_PACKAGES[@]}"
    echo "$wanted" >"$place/installed"
}

install_node_client() {
    local wanted="${NODE_PACKAGES[*]}" place="$ARCHWAY_CACHE/node"
    [ "$(cat "$place/installed" 2>/dev/null)" = "$wanted" ] && return
    rm -rf "$place"
    mkdir -p "$place"
    (cd "$place" && npm install --silent --no-package-lock --no-audit --no-fund --ignore-scripts --prefix . "${NODE_PACKAGES[@]}")
    echo "$wanted" >"$place/installed"
}

# The folder of a PostgreSQL server's binaries: Debian's newest, else what is on the PATH.
postgres_bin() {
    local found
    found=$(ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null | sort -V | tail -n 1)
    [ -n "$found" ] || found=$(command -v postgres 2>/dev/null) || return
    dirname "$found"
}

# Starts a cluster on a unix socket in a folder of its own and exports its address, unless the
# caller has given one. It ends when descriptor 9 of this shell is closed: at the end of the
# script, however it ends, kill -9 included.
start_postgres() {
    [ -n "${ARCHWAY_TEST_DATABASE_URL:-}" ] && return
    local bin place
    bin=$(postgres_bin)
    place=$(mktemp -d /tmp/archway-tests-XXXXXX)
    local as=()
    if [ "$(id -u)" -eq 0 ]; then # PostgreSQL refuses to run as root
        chown nobody "$place"
        as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
    fi
    "${as[@]}" "$bin/initdb" --no-sync --auth=trust --username=archway --encoding=UTF8 --locale=C \
        --pgdata="$place/data" >"$place.log" 2>&1 || { cat "$place.log" >&2; return 1; }
    mv "$place.log" "$place/log"
    # setsid: a Ctrl-C in the terminal is for the tests; the cluster follows when they are gone.
    exec 9> >(exec setsid bash -c '
        place=$1; shift
        "$@" >>"$place/log" 2>&1 </dev/null & server=$!
        while read -r _; do :; done
        kill -QUIT "$server"
        wait "$server"
        rm -rf "$place"' keeper "$place" \
        "${as[@]}" "$bin/postgres" -D "$place/data" -k "$place" -c listen_addresses='' \
        -c fsync=off -c synchronous_commit=off -c full_page_writes=off \
        -c max_connections=400 -c shared_buffers=128MB -c jit=off -c autovacuum=off)
    local tries=100
    until grep -q 'ready to accept connections' "$place/log"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { cat "$place/log" >&2; return 1; }
        sleep 0.1
    done
    export ARCHWAY_TEST_DATABASE_URL="postgres://archway@localhost/postgres?host=$place"
}
