{{/* What workers ask beside Postgres: Qdrant, the embedding service, the chat model. Their keys are files. */}}

{{- define "archway.services.env" -}}
{{- $embedder := .Values.embedder -}}
{{- $chat := .Values.chat -}}
{{- $files := dict -}}
{{- range include "archway.services.files" . | fromJsonArray -}}
{{- $_ := set $files .name (printf "/etc/archway/%s/%s" .name .file) -}}
{{- end -}}
{{- if $files.qdrant }}
{{- include "archway.env" (list (list "ARCHWAY_QDRANT_KEY_FILE" $files.qdrant)) }}
{{- end }}
{{- with include "archway.qdrantUrl" . }}
{{- include "archway.env" (list
  (list "ARCHWAY_QDRANT_URL" .)
  (list "ARCHWAY_QDRANT_COLLECTION" $.Values.qdrant.collection)) }}
{{- end }}
{{- include "archway.env" (list (list "ARCHWAY_EMBEDDER" $embedder.kind)) }}
{{- if $embedder.url }}
{{- include "archway.env" (list
  (list "ARCHWAY_EMBEDDER_URL" $embedder.url)
  (list "ARCHWAY_EMBEDDER_KEY_FILE" (get $files "embedder"))
  (list "ARCHWAY_EMBEDDER_CA_FILE" (get $files "embedder-ca"))
  (list "ARCHWAY_EMBEDDER_MODEL" $embedder.model)
  (list "ARCHWAY_EMBEDDER_DIMENSIONS" $embedder.dimensions)
  (list "ARCHWAY_EMBEDDER_ASK_DIMENSIONS" $embedder.askDimensions)
  (list "ARCHWAY_EMBEDDER_BATCH" $embedder.batch)
  (list "ARCHWAY_EMBEDDER_TEXT_CHARS" $embedder.textChars)
  (list "ARCHWAY_EMBEDDER_QUERY_PREFIX" $embedder.queryPrefix)
  (list "ARCHWAY_EMBEDDER_DOCUMENT_PREFIX" $embedder.documentPrefix)
  (list "ARCHWAY_EMBEDDER_TIMEOUT" $embedder.timeoutSeconds)) }}
{{- end }}
{{- if $chat.url }}
{{- include "archway.env" (list
  (list "ARCHWAY_CHAT_URL" $chat.url)
  (list "ARCHWAY_CHAT_KEY_FILE" (get $files "chat"))
  (list "ARCHWAY_CHAT_CA_FILE" (get $files "chat-ca"))
  (list "ARCHWAY_CHAT_MODEL" $chat.model)
  (list "ARCHWAY_CHAT_TIMEOUT" $chat.timeoutSeconds)) }}
{{- end }}
{{- end -}}

{{/* Files that are mounted for them, each in a folder of its name: [{name, secret | configMap, key, file}]. */}}
{{- define "archway.services.files" -}}
{{- $files := list -}}
{{- if .Values.evaluation.qdrant.enabled -}}
{{- $files = append $files (dict "name" "qdrant" "secret" (include "archway.named" (list . "evaluation")) "key" "qdrant-key" "file" "key") -}}
{{- else if .Values.qdrant.existingSecret -}}
{{- $files = append $files (dict "name" "qdrant" "secret" .Values.qdrant.existingSecret "key" .Values.qdrant.key "file" "key") -}}
{{- end -}}
{{- range $name := list "embedder" "chat" -}}
{{- $service := index $.Values $name -}}
{{- if and $service.url $service.existingSecret -}}
{{- $files = append $files (dict "name" $name "secret" $service.existingSecret "key" $service.key "file" "key") -}}
{{- end -}}
{{- if and $service.url $service.caConfigMap -}}
{{- $files = append $files (dict "name" (printf "%s-ca" $name) "configMap" $service.caConfigMap.name "key" $service.caConfigMap.key "file" "ca.pem") -}}
{{- end -}}
{{- end -}}
{{- toJson $files -}}
{{- end -}}

{{- define "archway.services.mounts" -}}
{{- range include "archway.services.files" . | fromJsonArray }}
- {name: {{ .name }}, mountPath: /etc/archway/{{ .name }}, readOnly: true}
{{- end }}
{{- end -}}

{{- define "archway.services.volumes" -}}
{{- range include "archway.services.files" . | fromJsonArray }}
{{- $items := list (list .key .file) }}
{{- if .secret }}
{{ include "archway.secretVolume" (list .name .secret $items) }}
{{- else }}
{{ include "archway.configVolume" (list .name .configMap $items) }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "archway.qdrantUrl" -}}
{{- if .Values.evaluation.qdrant.enabled -}}
http://{{ include "archway.named" (list . "qdrant") }}.{{ .Release.Namespace }}.svc:6334
{{- else -}}
{{- .Values.qdrant.url -}}
{{- end -}}
{{- end -}}
