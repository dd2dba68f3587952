# podman, Docker Compose and substitutes for images of registries, all in the folder $work. Sourced by
# tests/image/run.
#
# shellcheck shell=bash disable=SC2154

export ARCHWAY_IMAGE=localhost/archway-test STAND_IN_IMAGE=localhost/stand-in
processes=()

# Installs missing Debian packages. Fails if they cannot be installed.
install_containers() {
    local missing=() program
    declare -A package=([podman]=podman [buildah]=buildah [runc]=runc [iptables]=iptables
        [curl]=curl [strip]=binutils [/usr/bin/git]=git [/usr/lib/podman/netavark]=netavark
        [/usr/lib/podman/aardvark-dns]=aardvark-dns [/usr/bin/ssh]=openssh-client [/usr/sbin/sshd]=openssh-server
        [openssl]=openssl [/usr/bin/python3]=python3)
    for program in "${!package[@]}"; do
        command -v "$program" >/dev/null || missing+=("${package[$program]}")
    done
    [ "$(id -u)" -eq 0 ] || return
    [ ${#missing[@]} -eq 0 ] && return
    command -v apt-get >/dev/null || return
    apt-get update -qq || return
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# podman with its own store and networks, behind the socket that Docker Compose uses.
start_machine() {
    cat >"$work/containers.conf" <<-END
		[containers]
		default_ulimits = ["nofile=16384:16384", "nproc=4096:4096"]
		[engine]
		runtime = "runc"
		cgroup_manager = "cgroupfs"
		events_logger = "file"
		[network]
		network_backend = "netavark"
		network_config_dir = "$work/networks"
	END
    cat >"$work/storage.conf" <<-END
		[storage]
		driver = "overlay"
		graphroot = "$work/storage"
		runroot = "$work/state"
	END
    export CONTAINERS_CONF="$work/containers.conf" CONTAINERS_STORAGE_CONF="$work/storage.conf"
    export DOCKER_HOST="unix://$work/podman.sock" DOCKER_CONFIG="$work/docker"
    mkdir "$DOCKER_CONFIG"
    echo '{}' >"$DOCKER_CONFIG/config.json"
    tell_of_bridges
    export REPO="$work/repo" REPO_GROUP=4321 PORT STAND_IN_PATH GIT_HOST="$work/git-host"
    STAND_IN_PATH="/stand-in:$(postgres_bin):/usr/bin"
    podman system service --time 0 "$DOCKER_HOST" >"$work/podman.log" 2>&1 9>&- &
    processes+=($!)
    until_true 20 test -S "$work/podman.sock"
    ask_after_health 9>&- &
    processes+=($!)
}

# A podman bridge takes the lowest hardware address of its containers, so a joining container may change it.
# The others would query the old address for names for 30 s, unless the bridge announces the change.
arp_notify=/proc/sys/net/ipv4/conf/default/arp_notify
tell_of_bridges() {
    # If another run has set it, that run restores it.
    [ "$(cat "$arp_notify")" = 0 ] || return 0
    : >"$work/arp_notify"
    echo 1 >"$arp_notify"
}

# podman relies on systemd to run health checks, and there is none here.
ask_after_health() {
    local container
    while sleep 0.5; do
        for container in $(podman ps --quiet 2>/dev/null); do
            podman healthcheck run "$container" >/dev/null 2>&1 || true
        done
    done
}

end_machine() {
    [ ! -e "$work/arp_notify" ] || echo 0 >"$arp_notify" || true
    [ -S "$work/podman.sock" ] || return 0
    compose down --volumes --timeout 5 >"$work/down.log" 2>&1 || cat "$work/down.log"
    kill "${processes[@]}" 2>/dev/null || true
    wait "${processes[@]}" 2>/dev/null || true
    podman rm --all --force >/dev/null 2>&1 || true
    podman system reset --force >/dev/null 2>&1 || true
}

compose() {
    docker-compose --project-name "archway-$(basename "$work" | tr '[:upper:]' '[:lower:]')" \
        -f docker-compose.yml -f tests/image/compose.yaml "$@"
}

# until_true SECONDS COMMAND…
until_true() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $deadline ] || return 1
        sleep 0.1
    done
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# The libraries, certificates and users of the distroless base, and nothing else, not even a shell.
base_image() {
    local root="$work/base" library
    mkdir -p "$root/etc" "$root/tmp" "$root/home/nonroot" "$root/usr/lib" "$root/usr/lib64" "$root/usr/local/bin"
    chmod 1777 "$root/tmp"
    ln -s usr/lib "$root/lib"
    ln -s usr/lib64 "$root/lib64"
    # libresolv is part of the C library.
    for library in $(ldd "$work/build/out/archway" /usr/bin/ssh |
        grep -oE '/[^ ]+/(libc|libm|libresolv|libgcc_s|ld-linux[^ ]*)\.so\.[0-9]+' | sort -u); do
        install -D "$library" "$root$library"
    done
    printf 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n' \
        >"$root/etc/passwd"
    echo 'nonroot:x:65532:' >"$root/etc/group"
    install -D --mode=0644 "$GIT_HOST/certificate.pem" "$root/etc/ssl/certs/ca-certificates.crt"
    image_of "$root" localhost/base
}

# A root over which the machine's /usr is mounted, with the entry points of the real images.
servers_image() {
    local root="$work/servers"
    mkdir -p "$root/usr" "$root/etc" "$root/data" "$root/stand-in" "$root/run/postgresql" "$root/var/lib/postgresql/data"
    ln -s usr/bin "$root/bin"
    ln -s usr/lib "$root/lib"
    ln -s usr/lib64 "$root/lib64"
    ln -s /usr/bin/redis-server "$root/stand-in/valkey-server"
    ln -s /usr/bin/redis-cli "$root/stand-in/valkey-cli"
    install tests/image/postgres-entrypoint "$root/stand-in/entrypoint"
    install tests/image/git-host "$root/stand-in/git-host"
    printf 'postgres:x:999:999::/:\nvalkey:x:999:1000::/:\ngit:x:1000:1000::/:/bin/sh\n' >"$root/etc/passwd"
    chown 999:999 "$root/var/lib/postgresql/data" "$root/run/postgresql"
    chmod 1777 "$root/var/lib/postgresql/data" "$root/run/postgresql"
    image_of "$root" "$STAND_IN_IMAGE"
}

# What the host `git.example.com` of tests/image/compose.yaml has: a repository, its keys, and what it asks for.
git_host() {
    local credentials="$GIT_HOST/credentials"
    mkdir -p "$credentials"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=git.example.com \
        -addext subjectAltName=DNS:git.example.com -keyout "$GIT_HOST/key.pem" -out "$GIT_HOST/certificate.pem" \
        2>/dev/null
    ssh-keygen -q -t ed25519 -N '' -f "$GIT_HOST/host"
    ssh-keygen -q -t ed25519 -N '' -f "$credentials/ssh"
    mv "$credentials/ssh.pub" "$GIT_HOST/user.pub"
    echo "[git.example.com]:2222 $(cat "$GIT_HOST/host.pub")" >"$credentials/ssh.known_hosts"
    echo ada:sesame >"$credentials/https"
    own_git clone -q --bare . "$GIT_HOST/site.git"
    chown -R 1000:1000 "$GIT_HOST"
    chown -R 65532:65532 "$credentials"
    chmod 700 "$credentials"
    chmod 600 "$credentials"/*
    chmod 755 "$GIT_HOST"
}

# image_of FOLDER NAME: an image with owners and modes as they are in the folder.
image_of() {
    local container
    container=$(buildah from scratch)
    cp --archive "$1/." "$(buildah mount "$container")/"
    buildah commit --quiet --rm "$container" "$2" >/dev/null
}
