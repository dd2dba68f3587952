{{/* Postgres: who uses it as which role, and how the schema comes to be. A Secret holds URLs, or with database.address only passwords,
     which are files then. */}}

{{/* The Secret: the operator's, or the chart's. */}}
{{- define "archway.databaseSecret" -}}
{{- .Values.database.existingSecret | default (include "archway.named" (list . "evaluation")) -}}
{{- end -}}

{{/* A role as {variable, user, urlKey, passwordKey, folder}: (list $ "gateway"), worker, sync or owner. */}}
{{- define "archway.database.role" -}}
{{- $database := (index . 0).Values.database -}}
{{- $roles := dict
  "owner" (dict "variable" "ARCHWAY_MIGRATE_DATABASE" "user" $database.owner "urlKey" $database.keys.migrateUrl "passwordKey" $database.keys.ownerPassword "folder" "/etc/archway/owner")
  "gateway" (dict "variable" "ARCHWAY_DATABASE" "user" "archway_gateway" "urlKey" $database.keys.gatewayUrl "passwordKey" $database.keys.gatewayPassword "folder" "/etc/archway/database")
  "worker" (dict "variable" "ARCHWAY_DATABASE" "user" "archway_worker" "urlKey" $database.keys.workerUrl "passwordKey" $database.keys.workerPassword "folder" "/etc/archway/database")
  "sync" (dict "variable" "ARCHWAY_DATABASE" "user" "archway_sync" "urlKey" $database.keys.syncUrl "passwordKey" $database.keys.syncPassword "folder" "/etc/archway/database") -}}
{{- get $roles (index . 1) | toJson -}}
{{- end -}}

{{/* The address, with the authority if there is one; nothing where the Secret has URLs. */}}
{{- define "archway.database.address" -}}
{{- with .Values.database.address -}}
{{- . -}}
{{- if include "archway.database.hasCa" $ -}}
{{- printf "%ssslrootcert=/etc/archway/database-ca/ca.crt" (ternary "&" "?" (contains "?" .)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The authority that Postgres' certificate is checked by, for everybody who connects. The file stays as it was when the pod began
     (`subPath`): a worker reads it once, before it is confined, and gateways are to believe no other than workers do. */}}
{{- define "archway.database.hasCa" -}}
{{- with .Values.database.ca -}}{{- .configMap | default .secret -}}{{- end -}}
{{- end -}}
{{- define "archway.database.ca.volume" -}}
{{- $ca := .Values.database.ca -}}
{{- $items := list (list $ca.key "ca.crt") -}}
{{- if $ca.configMap }}
{{ include "archway.configVolume" (list "database-ca" $ca.configMap $items) }}
{{- else if $ca.secret }}
{{ include "archway.secretVolume" (list "database-ca" $ca.secret $items) }}
{{- end }}
{{- end -}}

{{- define "archway.database.env" -}}
{{- $role := include "archway.database.role" . | fromJson -}}
{{- $address := include "archway.database.address" (index . 0) -}}
{{- if $address }}
{{- include "archway.env" (list
  (list (printf "%s_URL" $role.variable) (printf "postgres://%s@%s" $role.user $address))
  (list (printf "%s_PASSWORD_FILE" $role.variable) (printf "%s/password" $role.folder))) | trim }}
{{- else }}
{{- include "archway.env.secret" (list (printf "%s_URL" $role.variable) (include "archway.databaseSecret" (index . 0)) $role.urlKey) }}
{{- end }}
{{- end -}}

{{/* The authority, and the password's file, which isn't there where the URL has the password. */}}
{{- define "archway.database.mount" -}}
{{- if include "archway.database.hasCa" (index . 0) }}
- {name: database-ca, mountPath: /etc/archway/database-ca/ca.crt, subPath: ca.crt, readOnly: true}
{{- end }}
{{- if (index . 0).Values.database.address }}
- {name: {{ index . 1 }}-password, mountPath: {{ (include "archway.database.role" . | fromJson).folder }}, readOnly: true}
{{- end }}
{{- end -}}
{{- define "archway.database.volume" -}}
{{- if (index . 0).Values.database.address -}}
{{- $key := (include "archway.database.role" . | fromJson).passwordKey -}}
{{ include "archway.secretVolume" (list (printf "%s-password" (index . 1)) (include "archway.databaseSecret" (index . 0)) (list (list $key "password"))) }}
{{- end -}}
{{- end -}}

{{/* The passwords that migrations give to the runtime roles, as [[key, file], …]; nothing if there are none. */}}
{{- define "archway.passwordKeys" -}}
{{- $keys := .Values.database.keys -}}
{{- $items := list -}}
{{- if .Values.evaluation.postgres.enabled -}}
{{- $items = list (list "gateway-password" "gateway") (list "worker-password" "worker") (list "sync-password" "sync") -}}
{{- else -}}
{{- with $keys.gatewayPassword -}}{{- $items = append $items (list . "gateway") -}}{{- end -}}
{{- with $keys.workerPassword -}}{{- $items = append $items (list . "worker") -}}{{- end -}}
{{- with $keys.syncPassword -}}{{- $items = append $items (list . "sync") -}}{{- end -}}
{{- end -}}
{{- with $items -}}{{- toJson . -}}{{- end -}}
{{- end -}}

{{/* The container that migrates, for pods in which it comes first, and for the Job. */}}
{{- define "archway.migrate" -}}
{{- $passwords := include "archway.passwordKeys" . -}}
{{ include "archway.archway" (list . "migrate") }}
args:
  - migrate
  {{- range $passwords | default "[]" | fromJsonArray }}
  - --{{ index . 1 }}-password-file=/etc/archway/passwords/{{ index . 1 }}
  {{- end }}
env:
  {{- include "archway.env.log" . | trim | nindent 2 }}
  {{- include "archway.database.env" (list . "owner") | nindent 2 }}
resources:
  {{- toYaml .Values.migrations.resources | nindent 2 }}
{{- with include "archway.migrate.mounts" . | trim }}
volumeMounts:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}
{{- define "archway.migrate.mounts" -}}
{{- if include "archway.passwordKeys" . }}
- {name: passwords, mountPath: /etc/archway/passwords, readOnly: true}
{{- end }}
{{ include "archway.database.mount" (list . "owner") | trim }}
{{- end -}}
{{- define "archway.migrate.volumes" -}}
{{- with include "archway.passwordKeys" . }}
{{ include "archway.secretVolume" (list "passwords" (include "archway.databaseSecret" $) (fromJsonArray .)) }}
{{- end }}
{{ include "archway.database.volume" (list . "owner") }}
{{- end -}}
