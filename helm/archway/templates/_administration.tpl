{{/* Pods that administer: as the owner of the database, and with the root secret. */}}

{{/* What such a pod is made from: (list $ "tenants" its). Of `its` container, restartPolicy, args and resources are what they are called; migrates says
     whether it brings the schema first, graceSeconds what it has to end, and env, mounts and volumes are YAML beside what all of them have. */}}
{{- define "archway.administers" -}}
{{- $ctx := index . 0 -}}
{{- $its := index . 2 -}}
metadata:
  labels:
    {{- include "archway.podLabels" (list $ctx (index . 1) "") | nindent 4 }}
spec:
  restartPolicy: {{ $its.restartPolicy }}
  {{- with $its.graceSeconds }}
  terminationGracePeriodSeconds: {{ . }}
  {{- end }}
  {{- include "archway.pod" $ctx | nindent 2 }}
  {{- with include "archway.nodes" $ctx.Values.gateway | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- if $its.migrates }}
  initContainers:
    # Gateways may not have begun yet.
    - {{ include "archway.migrate" $ctx | nindent 6 | trim }}
  {{- end }}
  containers:
    - {{ include "archway.archway" (list $ctx $its.container) | nindent 6 | trim }}
      args:
        {{- toYaml $its.args | nindent 8 }}
      env:
        {{- include "archway.database.env" (list $ctx "owner") | nindent 8 }}
        {{- include "archway.env" (list (list "ARCHWAY_SECRET_FILE" "/etc/archway/credentials/secret")) | trim | nindent 8 }}
        {{- with $its.env | trim }}
        {{- . | nindent 8 }}
        {{- end }}
      resources:
        {{- toYaml $its.resources | nindent 8 }}
      volumeMounts:
        - {name: credentials, mountPath: /etc/archway/credentials, readOnly: true}
        {{- with printf "%s\n%s" (include "archway.database.mount" (list $ctx "owner") | trim) $its.mounts | trim }}
        {{- . | nindent 8 }}
        {{- end }}
  volumes:
    {{- include "archway.secretVolume" (list "credentials" (include "archway.credentialsSecret" $ctx) (list (list $ctx.Values.credentials.keys.rootSecret "secret"))) | nindent 4 }}
    {{- with include "archway.database.ca.volume" $ctx | trim }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- $database := ternary (include "archway.migrate.volumes" $ctx) (include "archway.database.volume" (list $ctx "owner")) $its.migrates }}
    {{- with printf "%s\n%s" ($database | trim) $its.volumes | trim }}
    {{- . | nindent 4 }}
    {{- end }}
{{- end -}}
