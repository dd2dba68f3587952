{{/* The pods of a pool: workers that answer calls, and indexers that don't. Arguments: (list $ pool settings component),
     settings being those of `worker` with the pool's own over them, for indexers those of archway.indexer. */}}

{{/* Settings of a pool's indexers, as JSON: what `indexer` says, else what the pool does. Where they run is left to the pool by what is
     empty; the pool's spread is over indexers then, whatever it selects. (settings of the pool) */}}
{{- define "archway.indexer" -}}
{{- $settings := omit . "indexer" -}}
{{- range $name, $value := .indexer -}}
{{- $left := has $name (list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName") -}}
{{- if or $value (not $left) -}}{{- $_ := set $settings $name $value -}}{{- end -}}
{{- end -}}
{{- if not .indexer.topologySpreadConstraints -}}
{{- $spread := list -}}
{{- range .topologySpreadConstraints -}}{{- $spread = append $spread (omit . "labelSelector") -}}{{- end -}}
{{- $_ := set $settings "topologySpreadConstraints" $spread -}}
{{- end -}}
{{- toJson $settings -}}
{{- end -}}

{{- define "archway.worker.deployment" -}}
{{- $ctx := index . 0 -}}
{{- $pool := index . 1 -}}
{{- $settings := index . 2 -}}
{{- $component := index . 3 -}}
{{- $spec := include "archway.worker.spec" . -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "archway.named" (list $ctx (printf "%s-%s" $component $pool)) }}
  labels:
    {{- include "archway.labels" (list $ctx $component $pool) | nindent 4 }}
  {{- with $settings.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with include "archway.replicas" (list $ctx (printf "%s-%s" $component $pool) $settings) | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- include "archway.strategy" $settings | nindent 2 }}
  {{- if and (eq $component "worker") $settings.minReadySeconds }}
  # Until gateways have heard of it.
  minReadySeconds: {{ int64 $settings.minReadySeconds }}
  {{- end }}
  {{- if eq $ctx.Values.repositories.mode "sync" }}
  # First clones may take their time.
  progressDeadlineSeconds: 3600
  {{- end }}
  selector:
    matchLabels:
      {{- include "archway.selector" (list $ctx $component $pool) | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "archway.podLabels" (list $ctx $component $pool) | nindent 8 }}
        {{- with $settings.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        kubectl.kubernetes.io/default-container: {{ $component }}
        {{- with include "archway.checksums" (list $ctx (dict "secrets" "/secrets.yaml") $spec) | trim }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- /* What pods keep on disk can be made again: for it no node has to stay. */}}
        {{- $evictable := "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes" }}
        {{- $said := default dict $settings.podAnnotations }}
        {{- if not (hasKey $said $evictable) }}
        {{ $evictable }}: {{ include "archway.worker.onDisk" . | quote }}
        {{- end }}
        {{- with $said }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      {{- $spec | nindent 6 }}
{{- end -}}

{{/* Volumes of the chart's that are on the node's disk, by name. (the same arguments) */}}
{{- define "archway.worker.onDisk" -}}
{{- $names := list "cache" -}}
{{- range include "archway.repositories.volumes" (list (index . 0) (index . 1)) | fromYamlArray -}}
{{- if and .emptyDir (ne (dig "medium" "" .emptyDir) "Memory") -}}{{- $names = append $names .name -}}{{- end -}}
{{- end -}}
{{- join "," $names -}}
{{- end -}}

{{/* What runs in them, with the same arguments. */}}
{{- define "archway.worker.spec" -}}
{{- $ctx := index . 0 -}}
{{- $pool := index . 1 -}}
{{- $settings := index . 2 -}}
{{- $component := index . 3 -}}
{{ include "archway.pod" $ctx }}
{{- include "archway.scheduling" (list $ctx $settings $component $pool) | trim | nindent 0 }}
{{- $sync := ternary (merge (dict "preStopSeconds" 0) $ctx.Values.repositories.sync.drain) $settings.drain (eq $ctx.Values.repositories.mode "sync") }}
{{ include "archway.grace" (ternary $sync $settings.drain (gt (include "archway.drained" $sync | int) (include "archway.drained" $settings.drain | int))) }}
containers:
  - {{ include "archway.archway" (list $ctx $component) | nindent 4 | trim }}
    args: [worker]
    env:
      {{- include "archway.worker.env" . | trim | nindent 6 }}
    ports:
      - {name: grpc, containerPort: 7000}
      - {name: admin, containerPort: 9091}
    # Alive is who answers gateways; ready is who can read its repositories, too. A node speaks gRPC without TLS alone, and else
    # asks the admin port.
    {{- $alive := ternary "httpGet: {path: /healthz, port: admin}" "grpc: {port: 7000}" (not (empty $ctx.Values.workerTls.existingSecret)) }}
    startupProbe:
      {{ $alive }}
      periodSeconds: 2
      failureThreshold: 30
    livenessProbe:
      {{ $alive }}
      timeoutSeconds: 5
    readinessProbe:
      httpGet: {path: /readyz, port: admin}
      periodSeconds: 5
      timeoutSeconds: 3
    {{- with include "archway.preStop" $settings.drain | trim }}
    {{- . | nindent 4 }}
    {{- end }}
    resources:
      {{- toYaml $settings.resources | nindent 6 }}
    volumeMounts:
      - {name: credentials, mountPath: /etc/archway/credentials, readOnly: true}
      - {name: cache, mountPath: /var/cache/archway}
      {{- if $ctx.Values.workerTls.existingSecret }}
      - {name: tls, mountPath: /etc/archway/tls, readOnly: true}
      {{- end }}
      {{- with include "archway.database.mount" (list $ctx "worker") | trim }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- include "archway.repositories.mounts" (list $ctx $pool) | trim | nindent 6 }}
      {{- with include "archway.services.mounts" $ctx | trim }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- with $settings.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
  {{- if eq $ctx.Values.repositories.mode "sync" }}
  # Fills the folder that the worker reads.
  - {{ include "archway.sync.container" (list $ctx $pool) | nindent 4 | trim }}
  {{- end }}
volumes:
  {{- $items := list (list $ctx.Values.credentials.keys.passPublic "pass.pub") }}
  {{- include "archway.secretVolume" (list "credentials" (include "archway.credentialsSecret" $ctx) $items) | nindent 2 }}
  - name: cache
    emptyDir: {sizeLimit: {{ $settings.cacheSizeLimit }}}
  {{- with $ctx.Values.workerTls }}
  {{- if .existingSecret }}
  {{- include "archway.secretVolume" (list "tls" .existingSecret (list (list .keys.certificate "tls.crt") (list .keys.privateKey "tls.key"))) | nindent 2 }}
  {{- end }}
  {{- end }}
  {{- with include "archway.database.ca.volume" $ctx | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with include "archway.database.volume" (list $ctx "worker") }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- include "archway.repositories.volumes" (list $ctx $pool) | trim | nindent 2 }}
  {{- if eq $ctx.Values.repositories.mode "sync" }}
  {{- include "archway.sync.volumes" $ctx | trim | nindent 2 }}
  {{- end }}
  {{- with include "archway.services.volumes" $ctx | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with $settings.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "archway.worker.env" -}}
{{- $ctx := index . 0 -}}
{{- $settings := index . 2 -}}
{{- $indexer := eq (index . 3) "indexer" -}}
{{- include "archway.env.log" $ctx }}
{{- include "archway.env" (list
  (list "ARCHWAY_WORKER_LISTEN" (printf "%s:7000" $ctx.Values.listenAddress))
  (list "ARCHWAY_WORKER_ADMIN_LISTEN" (printf "%s:9091" $ctx.Values.listenAddress))
  (list "ARCHWAY_REPOS" "/repos")
  (list "ARCHWAY_PASS_PUBLIC_FILE" "/etc/archway/credentials/pass.pub")
  (list "ARCHWAY_REQUIRE_CONFINEMENT" $settings.requireConfinement)
  (list "ARCHWAY_POOL" (index . 1))
  (list "ARCHWAY_SEARCH_THREADS" $settings.searchThreads)
  (list "ARCHWAY_SEARCH_CACHE_BYTES" $settings.searchCacheBytes)
  (list "ARCHWAY_CONTENT_CACHE_BYTES" $settings.contentCacheBytes)
  (list "ARCHWAY_PROJECT_CACHE_BYTES" $settings.projectCacheBytes)
  (list "ARCHWAY_BLOCKING_CALLS" $settings.blockingCalls)
  (list "ARCHWAY_MAX_RESULT_BYTES" $settings.maxResultBytes)
  (list "ARCHWAY_CACHE_DIR" "/var/cache/archway")
  (list "ARCHWAY_INDEXING" (or $indexer (and $settings.indexing (not $settings.indexer.enabled))))
  (list "ARCHWAY_INDEX_MEMORY_BYTES" $settings.indexMemoryBytes)
  (list "ARCHWAY_DATABASE_CONNECTIONS" $ctx.Values.database.connections.worker)) }}
{{- if $ctx.Values.workerTls.existingSecret }}
{{- include "archway.env" (list
  (list "ARCHWAY_TLS_CERT_FILE" "/etc/archway/tls/tls.crt")
  (list "ARCHWAY_TLS_KEY_FILE" "/etc/archway/tls/tls.key")) }}
{{- end }}
{{- include "archway.env.drain" $settings.drain }}
{{- include "archway.services.env" $ctx }}
{{ include "archway.env.podName" "ARCHWAY_WORKER_NAME" }}
{{ include "archway.database.env" (list $ctx "worker") }}
{{- include "archway.env.otlp" (list $ctx "ARCHWAY_WORKER_NAME" $ctx.Values.otlp.workerName) }}
{{- with $settings.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}
