{{/* How repositories come to be at /repos/<tenant>/<project>: for workers always read-only. What mirrors them is in _sync.tpl. */}}

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
  {{- if and (eq $repositories.mode "claim") $repositories.claim.perPool }}
  # Of the shared volume no more than what is the pool's.
  subPath: {{ index . 1 | quote }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "archway.repositories.volumes" -}}
{{- $ctx := index . 0 -}}
{{- $repositories := $ctx.Values.repositories -}}
{{- $claims := include "archway.tenantClaims" . | fromJson -}}
{{- $own := $repositories.sync.volume }}
{{- if and (eq $repositories.mode "sync") $own.claim }}
- name: repositories
  # Made with the pod, and deleted with it.
  ephemeral:
    volumeClaimTemplate:
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $own.storageClassName }}
        storageClassName: {{ . | quote }}
        {{- end }}
        resources:
          requests:
            storage: {{ $own.size }}
{{- else if eq $repositories.mode "sync" }}
- name: repositories
  emptyDir: {sizeLimit: {{ $own.size }}}
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
  persistentVolumeClaim: {claimName: {{ include "archway.claimName" $ctx | quote }}, readOnly: true}
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
