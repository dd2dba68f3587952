{{/* What runs in a gateway's pod, and what it is told. */}}

{{- define "archway.gateway.spec" -}}
{{- $gateway := .Values.gateway -}}
{{ include "archway.pod" . }}
{{- include "archway.scheduling" (list . $gateway "gateway" "") | trim | nindent 0 }}
{{ include "archway.grace" $gateway.drain }}
{{- if eq .Values.migrations.mode "init" }}
initContainers:
  # Gateways that start at once wait for each other on an advisory lock; all but the first find nothing to do.
  - {{ include "archway.migrate" . | nindent 4 | trim }}
{{- end }}
containers:
  - {{ include "archway.archway" (list . "gateway") | nindent 4 | trim }}
    args: [gateway]
    env:
      {{- include "archway.gateway.env" . | trim | nindent 6 }}
    ports:
      - {name: http, containerPort: 8080}
      - {name: admin, containerPort: 9090}
    # Probes ask the admin port: the other one answers to its own names alone.
    startupProbe:
      httpGet: {path: /healthz, port: admin}
      periodSeconds: 2
      failureThreshold: 30
    livenessProbe:
      httpGet: {path: /healthz, port: admin}
      timeoutSeconds: 3
    readinessProbe:
      httpGet: {path: /readyz, port: admin}
      periodSeconds: 5
      timeoutSeconds: 3
    {{- with include "archway.preStop" $gateway.drain | trim }}
    {{- . | nindent 4 }}
    {{- end }}
    resources:
      {{- toYaml $gateway.resources | nindent 6 }}
    volumeMounts:
      - {name: credentials, mountPath: /etc/archway/credentials, readOnly: true}
      {{- if .Values.workerTls.existingSecret }}
      - {name: worker-ca, mountPath: /etc/archway/worker-ca, readOnly: true}
      {{- end }}
      {{- with include "archway.database.mount" (list . "gateway") | trim }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- if $gateway.consoleTokenSecret }}
      - {name: console-token, mountPath: /etc/archway/console, readOnly: true}
      {{- end }}
      {{- if $gateway.consoleOidcSecret }}
      - {name: console-oidc, mountPath: /etc/archway/console-oidc, readOnly: true}
      {{- end }}
      {{- if $gateway.oidc.issuers }}
      - {name: issuers, mountPath: /etc/archway/issuers, readOnly: true}
      {{- end }}
      {{- if $gateway.oidc.caConfigMap }}
      - {name: oidc-ca, mountPath: /etc/archway/oidc-ca, readOnly: true}
      {{- end }}
      {{- with $gateway.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
volumes:
  {{- $keys := .Values.credentials.keys }}
  {{- $items := list (list $keys.rootSecret "secret") (list $keys.passKey "pass.key") }}
  {{- include "archway.secretVolume" (list "credentials" (include "archway.credentialsSecret" .) $items) | nindent 2 }}
  {{- with .Values.workerTls }}
  {{- if .existingSecret }}
  {{- include "archway.secretVolume" (list "worker-ca" .existingSecret (list (list .keys.authority "ca.crt"))) | nindent 2 }}
  {{- end }}
  {{- end }}
  {{- with include "archway.database.ca.volume" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with include "archway.database.volume" (list . "gateway") }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- if eq .Values.migrations.mode "init" }}
  {{- with include "archway.migrate.volumes" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- end }}
  {{- with $gateway.consoleTokenSecret }}
  {{- include "archway.secretVolume" (list "console-token" . (list (list "token" "token"))) | nindent 2 }}
  {{- end }}
  {{- with $gateway.consoleOidcSecret }}
  - name: console-oidc
    secret:
      secretName: {{ . | quote }}
      defaultMode: 0440
      # A public client has no secret.
      optional: true
      items:
        - {key: oidc.yaml, path: oidc.yaml}
        - {key: client-secret, path: client-secret}
  {{- end }}
  {{- if $gateway.oidc.issuers }}
  {{- include "archway.configVolume" (list "issuers" (include "archway.named" (list . "issuers")) (list (list "issuers.yaml" "issuers.yaml"))) | nindent 2 }}
  {{- end }}
  {{- with $gateway.oidc.caConfigMap }}
  - name: oidc-ca
    configMap:
      name: {{ .name | quote }}
  {{- end }}
  {{- with $gateway.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "archway.gateway.env" -}}
{{- $gateway := .Values.gateway -}}
{{- include "archway.env.log" . }}
{{- include "archway.env" (list
  (list "ARCHWAY_LISTEN" (printf "%s:8080" .Values.listenAddress))
  (list "ARCHWAY_ADMIN_LISTEN" (printf "%s:9090" .Values.listenAddress))
  (list "ARCHWAY_SECRET_FILE" "/etc/archway/credentials/secret")
  (list "ARCHWAY_PASS_KEY_FILE" "/etc/archway/credentials/pass.key")
  (list "ARCHWAY_ALLOWED_HOSTS" (include "archway.gateway.hosts" .))
  (list "ARCHWAY_ALLOWED_ORIGINS" $gateway.allowedOrigins)
  (list "ARCHWAY_TRUSTED_PROXIES" $gateway.trustedProxies)
  (list "ARCHWAY_KEY_GRACE" $gateway.keyGraceSeconds)
  (list "ARCHWAY_RESOURCE" $gateway.oidc.resource)
  (list "ARCHWAY_ISSUERS_FILE" (ternary "/etc/archway/issuers/issuers.yaml" "" (not (empty $gateway.oidc.issuers))))
  (list "ARCHWAY_LIMITS_WHEN_DOWN" .Values.limits.whenDown)
  (list "ARCHWAY_LIMITS_TIMEOUT" .Values.limits.timeoutMs)
  (list "ARCHWAY_GATEWAY_SERVICE" (printf "%s.%s.svc" (include "archway.named" (list . "gateways")) .Release.Namespace))
  (list "ARCHWAY_TENANT_CALLS" $gateway.tenantCalls)
  (list "ARCHWAY_WORKERS" (include "archway.gateway.workers" .))
  (list "ARCHWAY_WORKER_CA_FILE" (ternary "/etc/archway/worker-ca/ca.crt" "" (not (empty .Values.workerTls.existingSecret))))
  (list "ARCHWAY_POOL" $gateway.pool)
  (list "ARCHWAY_CALL_DEADLINE" $gateway.callDeadlineSeconds)
  (list "ARCHWAY_TENANT_METRICS" $gateway.tenantMetrics)
  (list "ARCHWAY_CONSOLE" (ternary true "" $gateway.console))
  (list "ARCHWAY_CONSOLE_TOKEN_FILE" (ternary "/etc/archway/console/token" "" (not (empty $gateway.consoleTokenSecret))))
  (list "ARCHWAY_CONSOLE_OIDC_FILE" (ternary "/etc/archway/console-oidc/oidc.yaml" "" (not (empty $gateway.consoleOidcSecret))))
  (list "ARCHWAY_DATABASE_CONNECTIONS" .Values.database.connections.gateway)) }}
{{- include "archway.env.drain" $gateway.drain }}
{{ include "archway.env.podName" "ARCHWAY_GATEWAY_NAME" }}
{{ include "archway.database.env" (list . "gateway") }}
{{- if .Values.evaluation.valkey.enabled }}
{{ include "archway.env.secret" (list "ARCHWAY_LIMITS_URL" (include "archway.named" (list . "evaluation")) "limits-url") }}
{{- else if .Values.limits.existingSecret }}
{{ include "archway.env.secret" (list "ARCHWAY_LIMITS_URL" .Values.limits.existingSecret .Values.limits.key) }}
{{- end }}
{{- if .Values.otlp.endpoint }}
{{- include "archway.env" (list (list "ARCHWAY_TRACE_RATE" .Values.otlp.traceRate)) }}
{{- end }}
{{- include "archway.env.otlp" (list . "ARCHWAY_GATEWAY_NAME" .Values.otlp.gatewayName) }}
{{- with $gateway.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Names that it answers to: those that were said, those of the routes to it, and its Service's. */}}
{{- define "archway.gateway.hosts" -}}
{{- $service := include "archway.named" (list . "gateway") -}}
{{- $hosts := .Values.gateway.allowedHosts -}}
{{- if .Values.ingress.enabled -}}
{{- $hosts = append $hosts .Values.ingress.host -}}
{{- range .Values.ingress.extraHosts -}}{{- $hosts = append $hosts .host -}}{{- end -}}
{{- end -}}
{{- if .Values.httpRoute.enabled -}}{{- $hosts = concat $hosts .Values.httpRoute.hostnames -}}{{- end -}}
{{- $inside := printf "%s.%s" $service .Release.Namespace -}}
{{- concat $hosts (list $service $inside (printf "%s.svc" $inside) (printf "%s.svc.%s" $inside .Values.clusterDomain)) | uniq | join "," -}}
{{- end -}}

{{/* Its workers, a name with an address for each, by pool. */}}
{{- define "archway.gateway.workers" -}}
{{- $workers := list -}}
{{- range $pool := keys .Values.workerPools | sortAlpha -}}
{{- $service := include "archway.named" (list $ (printf "worker-%s" $pool)) -}}
{{- $workers = append $workers (printf "%s=http://%s.%s.svc:7000" $pool $service $.Release.Namespace) -}}
{{- end -}}
{{- join "," $workers -}}
{{- end -}}
