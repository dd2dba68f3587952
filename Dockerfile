# The image of every role: `docker build -t archway .`, or `buildah bud`. It needs cache mounts, and no other
# feature newer than buildah 1.28.
#
# Both bases are pinned by digest, so what was reviewed is what is used. They are arguments, so that a mirror
# can be named, and so that tests/image/run can build without a registry.
ARG BUILDER=docker.io/library/rust:1.95-bookworm@sha256:6258907abe69656e41cd992e0b705cdcfabcbbe3db374f92ed2d47121282d4a1
ARG RUNTIME=gcr.io/distroless/cc-debian12:nonroot@sha256:9dac0a79194e45a7da0158a9c6da57b217585af0786db3845d1f0ec1a0dd182f

FROM ${BUILDER} AS build
WORKDIR /src
COPY . .
# Queries are checked against .sqlx, because there is no database here. Cargo's downloads and build output stay
# in the caches, so the binary is copied out of them. Its debug information goes into a separate file.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    SQLX_OFFLINE=true cargo build --locked --profile dist --package archway \
    && install -D --mode=0755 target/dist/archway /out/archway \
    && install -d /symbols \
    && objcopy --only-keep-debug --compress-debug-sections /out/archway /symbols/archway.debug \
    && objcopy --strip-debug --add-gnu-debuglink=/symbols/archway.debug /out/archway
# Volumes that are mounted over the folders of `state` inherit their owner and mode. `programs` are git and
# OpenSSH's client, which `archway sync` runs. There is no shell: neither they nor Archway use one.
RUN install -d --mode=0700 /out/state/gateway /out/state/worker /out/state/sync /out/state/owner /out/state/cache \
    /out/state/mirrors \
    && deploy/image/programs /out/programs

# From the same build: `docker build --target symbols --output symbols .`
FROM scratch AS symbols
COPY --from=build /symbols/archway.debug /

FROM ${RUNTIME}
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Archway" \
      org.opencontainers.image.description="One URL that gives AI agents an organisation's repositories as MCP tools" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="gcr.io/distroless/cc-debian12:nonroot"
COPY --from=build /out/programs /
COPY --from=build /out/archway /usr/local/bin/archway
COPY --from=build --chown=65532:65532 /out/state /var/lib/archway
# A base without one of the required libraries fails here, not in a cluster.
RUN ["/usr/local/bin/archway", "--version"]
# hadolint ignore=DL3059
RUN ["/usr/bin/git", "version"]
# hadolint ignore=DL3059
RUN ["/usr/bin/ssh", "-V"]
USER 65532:65532
# The admin ports of a gateway, of a worker and of sync: the one that accepts a connection is this container's.
ENV ARCHWAY_ADMIN_URL=http://127.0.0.1:9090,http://127.0.0.1:9091,http://127.0.0.1:9092
EXPOSE 8080 9090 7000 9091 8081 9092
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD ["/usr/local/bin/archway", "healthcheck"]
ENTRYPOINT ["/usr/local/bin/archway"]
CMD ["--help"]
