{{/* Tenants as `archway apply` wants them. */}}

{{/* The variable of a tenant's key: slugs have no underscore, so no two are alike. (list "acme" 0) */}}
{{- define "archway.keyVariable" -}}
{{- printf "TENANT_KEY_%s_%d" (index . 0 | upper | replace "-" "_") (int (index . 1)) -}}
{{- end -}}

{{/* All keys with their variables: [{variable, secret}]. */}}
{{- define "archway.tenantKeys" -}}
{{- $found := list -}}
{{- range $tenant := .Values.tenants -}}
{{- range $index, $key := $tenant.keys -}}
{{- $found = append $found (dict "variable" (include "archway.keyVariable" (list $tenant.slug $index)) "secret" $key.secret) -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* The file: as in the values, with `from_env` instead of each key's Secret. Each tenant has a pool: `archway apply` leaves a missing one
     unchanged, so calls would go to another pool's workers than those with the tenant's repositories. */}}
{{- define "archway.tenantsFile" -}}
{{- $tenants := list -}}
{{- range $tenant := .Values.tenants -}}
{{- $entry := merge (dict "pool" (include "archway.poolOf" (list $ $tenant.slug))) (omit $tenant "keys") -}}
{{- if hasKey $tenant "keys" -}}
{{- $keys := list -}}
{{- range $index, $key := $tenant.keys -}}
{{- $variable := include "archway.keyVariable" (list $tenant.slug $index) -}}
{{- $keys = append $keys (merge (dict "from_env" $variable) (omit $key "secret")) -}}
{{- end -}}
{{- $entry = merge (dict "keys" $keys) $entry -}}
{{- end -}}
{{- $tenants = append $tenants $entry -}}
{{- end -}}
{{- dict "tenants" $tenants | toYaml -}}
{{- end -}}

{{/* The Secret that `helm test` reads a key from, as {name, key}: what was said, else the first key; nothing if there is none. */}}
{{- define "archway.testSecret" -}}
{{- $secret := .Values.test.secret -}}
{{- if not $secret -}}
{{- with include "archway.tenantKeys" . | fromJsonArray -}}
{{- $secret = (first .).secret -}}
{{- end -}}
{{- end -}}
{{- with $secret -}}{{- toJson . -}}{{- end -}}
{{- end -}}
