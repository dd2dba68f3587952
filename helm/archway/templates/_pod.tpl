{{/* What pods have in common. */}}

{{/* Of a pod's spec: nobody's token, no root, no variables of other Services. */}}
{{- define "archway.pod" -}}
serviceAccountName: {{ include "archway.serviceAccount" . | quote }}
{{ include "archway.podSecurity" . }}
{{- end -}}
{{- define "archway.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- with .Values.podSecurity.user }}
  runAsUser: {{ int64 . }}
  runAsGroup: {{ int64 . }}
  {{- end }}
  {{- with .Values.podSecurity.fsGroup }}
  # Volumes of Secrets are root's: by this group, and no other, they are read.
  fsGroup: {{ int64 . }}
  fsGroupChangePolicy: OnRootMismatch
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{/* Of a container: the restricted profile of Pod Security, and a root file system that can't be written. */}}
{{- define "archway.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{/* Archway's own container: (list $ "gateway"). */}}
{{- define "archway.archway" -}}
{{- $ctx := index . 0 -}}
name: {{ index . 1 }}
image: {{ include "archway.image" (list $ctx.Values.image $ctx.Chart.AppVersion) | quote }}
imagePullPolicy: {{ $ctx.Values.image.pullPolicy }}
# Why it ended stands in the pod's status, too, by its last lines.
terminationMessagePolicy: FallbackToLogsOnError
{{ include "archway.container" $ctx }}
{{- end -}}

{{/* Which nodes, and before whom: of pods that run for a while, or alone, no more is said. (settings of gateways or of a pool) */}}
{{- define "archway.nodes" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Where a pod may run: (list $ settings "gateway" ""), settings being those of gateways or of a pool. */}}
{{- define "archway.scheduling" -}}
{{- $settings := index . 1 -}}
{{- $selector := include "archway.selector" (list (index . 0) (index . 2) (index . 3)) | fromYaml -}}
{{- include "archway.nodes" $settings }}
{{- with $settings.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  {{- if $settings.topologySpreadConstraints }}
  {{- range $settings.topologySpreadConstraints }}
  - {{ toYaml . | nindent 4 | trim }}
    {{- if not .labelSelector }}
    labelSelector:
      matchLabels:
        {{- toYaml $selector | nindent 8 }}
    {{- end }}
  {{- end }}
  {{- else }}
  # Of one version at a time: pods that are on their way out don't count.
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- toYaml $selector | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
  {{- end }}
{{- end -}}

{{/* How many pods, under an autoscaler as many as there are: were the number left out of what had one before, Kubernetes would fall back to 1 until
     the autoscaler counts again. Who renders without a cluster (`helm template`, Argo CD) leaves it out, and keeps the number by other means (README.md). Without an autoscaler it is as the values say.
     (list $ "gateway" settings) */}}
{{- define "archway.replicas" -}}
{{- $settings := index . 2 -}}
{{- if $settings.autoscaling.enabled -}}
{{- $live := lookup "apps/v1" "Deployment" (index . 0).Release.Namespace (include "archway.named" (list (index . 0) (index . 1))) -}}
{{- if $live }}
replicas: {{ int64 (dig "spec" "replicas" 1 $live) }}
{{- end }}
{{- else }}
replicas: {{ int64 $settings.replicas }}
{{- end }}
{{- end -}}

{{/* How a pod ends: the time before the signal, that of Archway's drain, and ten seconds for what is written last. */}}
{{- define "archway.grace" -}}
terminationGracePeriodSeconds: {{ add (include "archway.drained" .) 10 }}
{{- end -}}
{{- define "archway.drained" -}}
{{- add .preStopSeconds .delaySeconds .timeoutSeconds -}}
{{- end -}}
{{- define "archway.preStop" -}}
{{- if .preStopSeconds }}
lifecycle:
  preStop:
    sleep:
      seconds: {{ int64 .preStopSeconds }}
{{- end }}
{{- end -}}

{{/* How the pods of a Deployment are replaced: as was said, else all that there are go on until a new one serves. (settings) */}}
{{- define "archway.strategy" -}}
strategy:
  {{- with .strategy }}
  {{- ternary . (omit . "rollingUpdate") (not (empty .rollingUpdate)) | toYaml | nindent 2 }}
  {{- else }}
  type: RollingUpdate
  rollingUpdate: {maxUnavailable: 0, maxSurge: 1}
  {{- end }}
{{- end -}}

{{/* Annotations by which pods are replaced when what they read changes: what the chart makes for them, by templates, and what is the
     operator's and stands in restartOn. (list $ (dict name template) spec), the spec of the pod being text. */}}
{{- define "archway.checksums" -}}
{{- $ctx := index . 0 -}}
{{- range $name, $template := index . 1 }}
{{- with include (print $ctx.Template.BasePath $template) $ctx | trim }}
checksum/{{ $name }}: {{ . | sha256sum }}
{{- end }}
{{- end }}
{{- with $ctx.Values.restartOn }}
{{- $said := dict }}
{{- range $name := include "archway.reads" (fromYaml (index $ 2)) | splitList "," }}
{{- if hasKey $ctx.Values.restartOn $name }}{{ $_ := set $said $name (get $ctx.Values.restartOn $name) }}{{ end }}
{{- end }}
{{- with $said }}
checksum/existing: {{ toJson . | sha256sum }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The Secrets and ConfigMaps that a pod reads, by name, each with a comma behind it. (any part of a manifest) */}}
{{- define "archway.reads" -}}
{{- if kindIs "map" . -}}
{{- range $field, $value := . -}}
{{- if and (has $field (list "secret" "configMap" "secretKeyRef" "configMapKeyRef")) (kindIs "map" $value) -}}
{{- $value.secretName | default $value.name -}},
{{- else -}}
{{- include "archway.reads" $value -}}
{{- end -}}
{{- end -}}
{{- else if kindIs "slice" . -}}
{{- range . -}}{{- include "archway.reads" . -}}{{- end -}}
{{- end -}}
{{- end -}}

{{/* One key of a Secret or ConfigMap as a file: (list "secret" name key file). */}}
{{- define "archway.secretVolume" -}}
- name: {{ index . 0 }}
  secret:
    secretName: {{ index . 1 | quote }}
    defaultMode: 0440
    items:
      {{- range index . 2 }}
      - key: {{ index . 0 | quote }}
        path: {{ index . 1 | quote }}
      {{- end }}
{{- end -}}
{{- define "archway.configVolume" -}}
- name: {{ index . 0 }}
  configMap:
    name: {{ index . 1 | quote }}
    items:
      {{- range index . 2 }}
      - key: {{ index . 0 | quote }}
        path: {{ index . 1 | quote }}
      {{- end }}
{{- end -}}
