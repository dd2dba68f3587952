{{/* Names, labels and images. What pods are made of stands in _pod.tpl and _env.tpl. */}}

{{/* The name that all objects of a release begin with. */}}
{{- define "archway.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- include "archway.cut" .Values.fullnameOverride -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- include "archway.cut" .Release.Name -}}
{{- else -}}
{{- include "archway.cut" (printf "%s-%s" .Release.Name $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A name of at most 63 characters. What is cut ends in a hash of the whole: two that differ late stay two. */}}
{{- define "archway.cut" -}}
{{- include "archway.cutTo" (list . 63) -}}
{{- end -}}

{{/* The same of another length: (list "name" 52), as a CronJob's is, whose Jobs' names are longer than its own. */}}
{{- define "archway.cutTo" -}}
{{- $name := index . 0 -}}
{{- $longest := int (index . 1) -}}
{{- if gt (len $name) $longest -}}
{{- printf "%s-%s" ($name | trunc (sub $longest 9 | int) | trimSuffix "-") ($name | sha256sum | trunc 8) -}}
{{- else -}}
{{- $name -}}
{{- end -}}
{{- end -}}

{{/* The name of one of the release's objects: (list $ "gateway"). */}}
{{- define "archway.named" -}}
{{- include "archway.cut" (printf "%s-%s" (include "archway.fullname" (index . 0)) (index . 1)) -}}
{{- end -}}

{{/* What all pods of the release are selected by: the name, too, as a parent chart's other parts have the same instance. */}}
{{- define "archway.whole" -}}
app.kubernetes.io/name: {{ include "archway.cut" (default .Chart.Name .Values.nameOverride) | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* What pods are selected by: (list $ "worker" "shared"); the pool may be "". */}}
{{- define "archway.selector" -}}
{{ include "archway.whole" (index . 0) }}
app.kubernetes.io/component: {{ index . 1 }}
{{- with index . 2 }}
archway.io/pool: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Labels of pods: none that changes when the pods don't. */}}
{{- define "archway.podLabels" -}}
{{ include "archway.selector" . }}
app.kubernetes.io/part-of: archway
{{- with (index . 0).Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* All labels of an object, with the same arguments. */}}
{{- define "archway.labels" -}}
{{- $ctx := index . 0 -}}
{{ include "archway.selector" . }}
app.kubernetes.io/version: {{ $ctx.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: archway
app.kubernetes.io/managed-by: {{ $ctx.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $ctx.Chart.Name $ctx.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with $ctx.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* An image by its digest, else by its tag: (list .Values.image .Chart.AppVersion). */}}
{{- define "archway.image" -}}
{{- $image := index . 0 -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default (index . 1) $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The Secret with root secret and pass keys: the operator's, or the chart's. */}}
{{- define "archway.credentialsSecret" -}}
{{- .Values.credentials.existingSecret | default (include "archway.named" (list . "keys")) -}}
{{- end -}}

{{- define "archway.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "archway.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* The pool of a tenant: what tenants say, else `shared`. (list $ "acme") */}}
{{- define "archway.poolOf" -}}
{{- $pool := "shared" -}}
{{- $slug := index . 1 -}}
{{- range (index . 0).Values.tenants -}}
{{- if eq .slug $slug -}}{{- $pool = default "shared" .pool -}}{{- end -}}
{{- end -}}
{{- $pool -}}
{{- end -}}

{{/* A password for trying out, derived from the one that was given: (list $ "postgres"). */}}
{{- define "archway.password" -}}
{{- printf "archway/%s/%s" (index . 1) (index . 0).Values.evaluation.password | sha256sum | trunc 40 -}}
{{- end -}}
