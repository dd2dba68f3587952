{{/* Variables of Archway's processes: `archway … --help` says what each means. Secrets come by reference alone. */}}

{{/* Plain ones: (list (list "NAME" value) …). What is empty or null is left to the program's default. */}}
{{- define "archway.env" -}}
{{- range . }}
{{- $value := index . 1 }}
{{- if kindIs "float64" $value }}{{ $value = int64 $value }}{{ end }}
{{- if kindIs "slice" $value }}{{ $value = join "," $value }}{{ end }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
- name: {{ index . 0 }}
  value: {{ toString $value | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* One of a Secret: (list "NAME" secret key). */}}
{{- define "archway.env.secret" -}}
- name: {{ index . 0 }}
  valueFrom:
    secretKeyRef:
      name: {{ index . 1 | quote }}
      key: {{ index . 2 | quote }}
{{- end -}}

{{/* The pod's own name: what a process is called in logs and records. */}}
{{- define "archway.env.podName" -}}
- name: {{ . }}
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end -}}

{{- define "archway.env.log" -}}
{{- include "archway.env" (list
  (list "ARCHWAY_LOG" .Values.log.filter)
  (list "ARCHWAY_LOG_FORMAT" .Values.log.format)) }}
{{- end -}}

{{- define "archway.env.drain" -}}
{{- include "archway.env" (list
  (list "ARCHWAY_DRAIN_DELAY" .delaySeconds)
  (list "ARCHWAY_DRAIN_TIMEOUT" .timeoutSeconds)) }}
{{- end -}}

{{/* Traces: (list $ "ARCHWAY_GATEWAY_NAME" serviceName); the variable holds the pod's name and stands before these. */}}
{{- define "archway.env.otlp" -}}
{{- $ctx := index . 0 -}}
{{- $otlp := $ctx.Values.otlp -}}
{{- if $otlp.endpoint }}
{{- $told := list (printf "k8s.namespace.name=%s" $ctx.Release.Namespace) (printf "k8s.pod.name=$(%s)" (index . 1)) }}
{{- range $name, $value := $otlp.resourceAttributes }}
{{- $told = append $told (printf "%s=%s" $name ($value | urlquery | replace "+" "%20")) }}
{{- end }}
{{- include "archway.env" (list
  (list "OTEL_EXPORTER_OTLP_ENDPOINT" $otlp.endpoint)
  (list "OTEL_EXPORTER_OTLP_PROTOCOL" (default "grpc" $otlp.protocol))
  (list "OTEL_EXPORTER_OTLP_COMPRESSION" (default "none" $otlp.compression))
  (list "OTEL_SERVICE_NAME" (index . 2))
  (list "OTEL_RESOURCE_ATTRIBUTES" $told)) }}
{{- with $otlp.existingSecret }}
{{ include "archway.env.secret" (list "OTEL_EXPORTER_OTLP_HEADERS" . $otlp.key) }}
{{- end }}
{{- end }}
{{- end -}}
