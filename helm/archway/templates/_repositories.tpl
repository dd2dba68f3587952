{{/* How repositories come to be at /repos/<tenant>/<project>.

     git-sync keeps its clone in .git-sync/<project>, which is no slug and so no project, and its link `current` alone in the
     project's folder: each publishes by way of a file of a fixed name beside its link, so two must not share a folder. */}}

{{/* What is cloned for a pool: [{tenant, project, source, name}]. (list $ "shared") */}}
{{- define "archway.repositories.of" -}}
{{- $ctx := index . 0 -}}
{{- $pool := index . 1 -}}
{{- $found := list -}}
{{- range $tenant, $projects := $ctx.Values.repositories.sources -}}
{{- if eq (include "archway.poolOf" (list $ctx $tenant)) $pool -}}
{{- range $project, $source := $projects -}}
{{- $found = append $found (dict "tenant" $tenant "project" $project "source" $source "name" (include "archway.syncName" (list $ctx $tenant $project))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* One git-sync: (list $ repository volumeMount port). The mount is /repos, or /repos/<tenant>. */}}
{{- define "archway.gitSync" -}}
{{- $ctx := index . 0 -}}
{{- $repository := index . 1 -}}
{{- $source := $repository.source -}}
{{- $sync := $ctx.Values.repositories.sync -}}
{{- $tenant := printf "/repos/%s" $repository.tenant -}}
name: {{ $repository.name }}
image: {{ include "archway.image" (list $sync.image "") | quote }}
imagePullPolicy: {{ $sync.image.pullPolicy }}
args:
  - {{ printf "--repo=%s" $source.url | quote }}
  {{- with $source.ref }}
  - {{ printf "--ref=%s" . | quote }}
  {{- end }}
  # The whole history: of one commit there is no log and no blame.
  - --depth=0
  - --root={{ $tenant }}/.git-sync/{{ $repository.project }}
  - --link={{ $tenant }}/{{ $repository.project }}/current
  - --period={{ $sync.period }}
  - --sync-timeout={{ $sync.timeout }}
  - --stale-worktree-timeout={{ $sync.keep }}
  - --submodules={{ $sync.submodules }}
  # A remote that is away is asked again: what was cloned is served meanwhile.
  - --max-failures=-1
  - --http-bind=:{{ index . 3 }}
  {{- with $source.https }}
  - {{ printf "--username=%s" .username | quote }}
  - --password-file=/etc/git-secret/password
  {{- end }}
  {{- if $source.ssh }}
  - --ssh-key-file=/etc/git-secret/ssh
  - --ssh-known-hosts-file=/etc/git-secret/known_hosts
  {{- end }}
{{- with $sync.extraEnv }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - {name: {{ printf "sync-%d" (int (index . 3)) }}, containerPort: {{ index . 3 }}}
securityContext:
  {{- if $ctx.Values.podSecurity.user }}
  # The user of its image: ssh wants one that has a name.
  runAsUser: 65533
  runAsGroup: 65533
  {{- end }}
  {{- include "archway.container" $ctx | trimPrefix "securityContext:\n" | nindent 0 }}
resources:
  {{- toYaml ($source.resources | default $sync.resources) | nindent 2 }}
volumeMounts:
  - {{ toYaml (index . 2) | nindent 4 | trim }}
  - {name: {{ $repository.name }}-tmp, mountPath: /tmp}
  {{- if or $source.https $source.ssh }}
  - {name: {{ $repository.name }}-key, mountPath: /etc/git-secret, readOnly: true}
  {{- end }}
  {{- with $sync.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* What runs in a syncer's pod: (list $ pool settings repository), settings being those of the pool. */}}
{{- define "archway.syncer.spec" -}}
{{- $ctx := index . 0 -}}
{{- $repository := index . 3 -}}
{{ include "archway.pod" $ctx }}
{{- with include "archway.nodes" (index . 2) | trim }}
{{- . | nindent 0 }}
{{- end }}
containers:
  {{- $folder := printf "%s/%s" (index . 1) $repository.tenant }}
  {{- $mount := dict "name" "repositories" "mountPath" (printf "/repos/%s" $repository.tenant) "subPath" $folder }}
  # Ready without a clone, too: a remote that is away must hold up no rollout.
  - {{ include "archway.gitSync" (list $ctx $repository $mount 7100) | nindent 4 | trim }}
volumes:
  - name: repositories
    persistentVolumeClaim: {claimName: {{ include "archway.claimName" $ctx | quote }}}
  {{- include "archway.gitSync.volumes" $repository | nindent 2 }}
  {{- with $ctx.Values.repositories.sync.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Its volumes: a home in memory, where it keeps what it logs in with, and the Secrets. (repository) */}}
{{- define "archway.gitSync.volumes" -}}
- name: {{ .name }}-tmp
  emptyDir: {medium: Memory, sizeLimit: 32Mi}
{{- with .source.https }}
{{ include "archway.secretVolume" (list (printf "%s-key" $.name) .secret.name (list (list .secret.key "password"))) }}
{{- end }}
{{- with .source.ssh }}
- name: {{ $.name }}-key
  projected:
    defaultMode: 0440
    sources:
      - secret:
          name: {{ .secret.name | quote }}
          items: [{key: {{ .secret.key | quote }}, path: ssh}]
      - secret:
          name: {{ .knownHosts.name | quote }}
          items: [{key: {{ .knownHosts.key | quote }}, path: known_hosts}]
{{- end }}
{{- end -}}

{{/* The git-syncs beside a pool's workers; nothing in other modes. (list $ pool) */}}
{{- define "archway.sidecars" -}}
{{- $ctx := index . 0 -}}
{{- if eq $ctx.Values.repositories.mode "sidecar" -}}
{{- range $index, $repository := include "archway.repositories.of" . | fromJsonArray }}
{{- $port := add 7100 $index }}
- {{ include "archway.gitSync" (list $ctx $repository (dict "name" "repositories" "mountPath" "/repos") $port) | nindent 2 | trim }}
  restartPolicy: Always
  {{- if $ctx.Values.repositories.sync.wait }}
  startupProbe:
    httpGet: {path: /, port: {{ $port }}}
    periodSeconds: 2
    # Nobody ends a first clone that goes on: it has a time limit of its own.
    failureThreshold: 43200
  {{- end }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* Where a worker of a pool finds them, always read-only. (list $ pool) */}}
{{- define "archway.repositories.mounts" -}}
{{- $ctx := index . 0 -}}
{{- $repositories := $ctx.Values.repositories -}}
{{- $claims := include "archway.tenantClaims" . | fromJson -}}
{{- if and (eq $repositories.mode "tenantClaims") $claims }}
{{- range $tenant, $claim := $claims }}
- name: {{ $claim.volume }}
  mountPath: /repos/{{ $tenant }}
  readOnly: true
  {{- with $claim.subPath }}
  subPath: {{ . | quote }}
  {{- end }}
{{- end }}
{{- else }}
- name: repositories
  mountPath: /repos
  readOnly: true
  {{- if or (eq $repositories.mode "syncer") (and (eq $repositories.mode "claim") $repositories.claim.perPool) }}
  # Of the shared volume no more than what is the pool's.
  subPath: {{ index . 1 | quote }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "archway.repositories.volumes" -}}
{{- $ctx := index . 0 -}}
{{- $repositories := $ctx.Values.repositories -}}
{{- $claims := include "archway.tenantClaims" . | fromJson -}}
{{- if eq $repositories.mode "sidecar" }}
- name: repositories
  emptyDir: {sizeLimit: {{ $repositories.sync.sizeLimit }}}
{{- range include "archway.repositories.of" . | fromJsonArray }}
{{ include "archway.gitSync.volumes" . }}
{{- end }}
{{- else if eq $repositories.mode "tenantClaims" }}
{{- /* Each claim once, however many tenants are on it: one that a pod names twice is never mounted. */}}
{{- $volumes := dict }}
{{- range $claims }}{{ $_ := set $volumes .volume .claimName }}{{ end }}
{{- range $volume, $claim := $volumes }}
- name: {{ $volume }}
  persistentVolumeClaim: {claimName: {{ $claim | quote }}, readOnly: true}
{{- else }}
# No tenant of this pool has a claim yet.
- name: repositories
  emptyDir: {sizeLimit: 1Mi}
{{- end }}
{{- else }}
- name: repositories
  # For syncers' volumes the mount alone is read-only: the pool's folder may have to be made first.
  persistentVolumeClaim: {claimName: {{ include "archway.claimName" $ctx | quote }}, readOnly: {{ eq $repositories.mode "claim" }}}
{{- end }}
{{- end -}}

{{- define "archway.claimName" -}}
{{- .Values.repositories.claim.existingClaim | default (include "archway.named" (list . "repositories")) -}}
{{- end -}}

{{/* Claims of a pool's tenants, by tenant: {claimName, subPath, volume}. (list $ pool) */}}
{{- define "archway.tenantClaims" -}}
{{- $ctx := index . 0 -}}
{{- $pool := index . 1 -}}
{{- $found := dict -}}
{{- range $tenant, $claim := $ctx.Values.repositories.tenantClaims -}}
{{- if eq (include "archway.poolOf" (list $ctx $tenant)) $pool -}}
{{- $volume := printf "repositories-%s" ($claim.claimName | sha256sum | trunc 8) -}}
{{- $_ := set $found $tenant (dict "claimName" $claim.claimName "subPath" (default "" $claim.subPath) "volume" $volume) -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}
