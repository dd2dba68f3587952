{{/* `archway sync`: beside each worker (`sync`), or in pods of its own (`shared`). */}}

{{- define "archway.sync.isUsed" -}}
{{- if has .Values.repositories.mode (list "sync" "shared") -}}true{{- end -}}
{{- end -}}

{{/* Its container: (list $ pool). Of no pool, its mirrors are on the volume that all share. */}}
{{- define "archway.sync.container" -}}
{{- $ctx := index . 0 -}}
{{- $sync := $ctx.Values.repositories.sync -}}
{{ include "archway.archway" (list $ctx "sync") }}
args: [sync]
env:
  {{- include "archway.sync.env" . | trim | nindent 2 }}
ports:
  - {name: sync, containerPort: 9092}
  {{- if $sync.hooks.enabled }}
  - {name: hooks, containerPort: 8081}
  {{- end }}
{{- if index . 1 }}
# Until each repository was tried once the pod is not ready, and the older ones go on. Later nothing of it keeps the worker from being ready: not
# Postgres that is away, and no remote. A first clone has a time limit of its own.
startupProbe:
  httpGet: {path: /readyz, port: sync}
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: 43200
{{- else }}
startupProbe:
  httpGet: {path: /healthz, port: sync}
  periodSeconds: 2
  failureThreshold: 30
readinessProbe:
  httpGet: {path: /readyz, port: sync}
  periodSeconds: 5
  timeoutSeconds: 3
{{- end }}
livenessProbe:
  httpGet: {path: /healthz, port: sync}
  timeoutSeconds: 5
resources:
  {{- toYaml $sync.resources | nindent 2 }}
volumeMounts:
  - {name: repositories, mountPath: /repos}
  - {name: sync-tmp, mountPath: /tmp}
  {{- if $ctx.Values.repositories.credentials.existingSecret }}
  - {name: git-credentials, mountPath: /etc/archway/git, readOnly: true}
  {{- end }}
  {{- with include "archway.database.mount" (list $ctx "sync") | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with $sync.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "archway.sync.env" -}}
{{- $ctx := index . 0 -}}
{{- $pool := index . 1 -}}
{{- $sync := $ctx.Values.repositories.sync -}}
{{- $credentials := $ctx.Values.repositories.credentials -}}
{{- include "archway.env.log" $ctx }}
{{- include "archway.env" (list
  (list "ARCHWAY_SYNC_ADMIN_LISTEN" (printf "%s:9092" $ctx.Values.listenAddress))
  (list "ARCHWAY_HOOKS_LISTEN" (ternary (printf "%s:8081" $ctx.Values.listenAddress) "off" $sync.hooks.enabled))
  (list "ARCHWAY_REPOS" "/repos")
  (list "ARCHWAY_SYNC_LOCAL" (not (empty $pool)))
  (list "ARCHWAY_POOL" $pool)
  (list "ARCHWAY_VOLUME_BYTES" (ternary (include "archway.bytes" $sync.volume.size) "" (and (not (empty $pool)) (not $sync.volume.claim))))
  (list "ARCHWAY_VOLUME_PERCENT" $sync.volumePercent)
  (list "ARCHWAY_MIRROR_BYTES" $sync.mirrorBytes)
  (list "ARCHWAY_CREDENTIALS" (ternary "/etc/archway/git" "" (not (empty $credentials.existingSecret))))
  (list "ARCHWAY_KNOWN_HOSTS" (ternary (printf "/etc/archway/git/%s" $credentials.knownHosts) "" (not (empty $credentials.knownHosts))))
  (list "ARCHWAY_SYNC_KEEP" $sync.keepDays)
  (list "ARCHWAY_ALLOW_PROTOCOL" $sync.allowProtocols)
  (list "ARCHWAY_SYNC_AT_ONCE" $sync.atOnce)
  (list "ARCHWAY_SYNC_PER_HOST" $sync.perHost)
  (list "ARCHWAY_CLONE_TIMEOUT" $sync.cloneTimeoutSeconds)
  (list "ARCHWAY_FETCH_TIMEOUT" $sync.fetchTimeoutSeconds)
  (list "ARCHWAY_SYNC_SILENCE" $sync.silenceSeconds)
  (list "ARCHWAY_REQUIRE_CONFINEMENT" $sync.requireConfinement)
  (list "ARCHWAY_DATABASE_CONNECTIONS" $ctx.Values.database.connections.sync)) }}
{{- include "archway.env.drain" $sync.drain }}
{{ include "archway.env.podName" "ARCHWAY_SYNC_NAME" }}
{{ include "archway.database.env" (list $ctx "sync") }}
{{- include "archway.env.otlp" (list $ctx "ARCHWAY_SYNC_NAME" $ctx.Values.otlp.syncName) }}
{{- with $sync.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Its volumes, but for the mirrors and the authority of Postgres. Sockets and pipes of git are in memory. ($) */}}
{{- define "archway.sync.volumes" -}}
- name: sync-tmp
  emptyDir: {medium: Memory, sizeLimit: 64Mi}
{{- with .Values.repositories.credentials.existingSecret }}
- name: git-credentials
  secret:
    # All of it: sources and connections name its keys.
    secretName: {{ . | quote }}
    defaultMode: 0440
{{- end }}
{{- with include "archway.database.volume" (list . "sync") }}
{{ . }}
{{- end }}
{{- end -}}

{{/* What runs in a pod of its own, on the nodes of workers outside of pools. */}}
{{- define "archway.sync.spec" -}}
{{- $sync := .Values.repositories.sync -}}
{{ include "archway.pod" . }}
{{- include "archway.scheduling" (list . (merge (pick .Values.worker "nodeSelector" "tolerations" "priorityClassName") (dict "affinity" dict "topologySpreadConstraints" list)) "sync" "") | trim | nindent 0 }}
{{ include "archway.grace" (merge (dict "preStopSeconds" 0) $sync.drain) }}
containers:
  - {{ include "archway.sync.container" (list . "") | nindent 4 | trim }}
volumes:
  - name: repositories
    persistentVolumeClaim: {claimName: {{ include "archway.claimName" . | quote }}}
  {{- include "archway.sync.volumes" . | trim | nindent 2 }}
  {{- with include "archway.database.ca.volume" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with $sync.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* A quantity of Kubernetes in bytes. ("20Gi") */}}
{{- define "archway.bytes" -}}
{{- $units := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- $unit := regexFind "[A-Za-z]*$" . -}}
{{- mulf (regexFind "^[0-9.]+" . | float64) (get $units $unit | float64) | int64 -}}
{{- end -}}
