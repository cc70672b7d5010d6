{{/* Checks that need several values at once, which the schema cannot express. */}}
{{- define "lockgw.check" -}}
{{- if not (or .Values.backend.url .Values.backend.existingSecret.name) -}}
{{- fail "backend.url or backend.existingSecret.name is needed: the store that all gateways share, such as redis://redis:6379" -}}
{{- end -}}
{{- if and .Values.backend.url .Values.backend.existingSecret.name -}}
{{- fail "backend.url and backend.existingSecret.name are both set: keep one" -}}
{{- end -}}
{{- if and (hasPrefix "memory:" .Values.backend.url) (eq .Values.mode "deployment") (gt (int .Values.deployment.replicas) 1) -}}
{{- fail "backend.url memory:// is a store of its own in each replica: name a shared one, or set deployment.replicas to 1" -}}
{{- end -}}
{{- if and (eq .Values.mode "deployment") (not .Values.tls.existingSecret) -}}
{{- fail "a deployment is reached over the network, which needs tls.existingSecret: a Secret with tls.crt, tls.key and ca.crt" -}}
{{- end -}}
{{- if and (or .Values.metrics.podMonitor.enabled .Values.metrics.serviceMonitor.enabled) (not (and .Values.tls.existingSecret .Values.tls.clientSecret)) -}}
{{- fail "metrics are read over the network, which needs tls.existingSecret and tls.clientSecret" -}}
{{- end -}}
{{- if and (eq .Values.mode "sidecar") .Values.metrics.serviceMonitor.enabled -}}
{{- fail "sidecars have no Service: use metrics.podMonitor" -}}
{{- end -}}
{{- range .Values.extraEnv -}}
{{- /* A variable counts for more than lockgw.yaml, and of two with one name the second. */ -}}
{{- if regexMatch "^(LOCKGW_(NODE|STATE_DIR|BACKEND_URL(_FILE)?|SOCKET_(DIR|MODE|GROUP)|HTTP_(LISTEN|ALLOWED_HOSTS|TLS_.*)|ADMIN_TOKEN_FILE|ACCESS_TOKENS_FILE)|POD_IP)$" .name -}}
{{- fail (printf "extraEnv: the chart sets itself what %s is for; use backend, tls, admin, access and config" .name) -}}
{{- end -}}
{{- end -}}
{{- range $label := keys (include "lockgw.labels" . | fromYaml) -}}
{{- if hasKey ($.Values.podLabels | default dict) $label -}}
{{- fail (printf "podLabels: %s is the chart's, and its pods are found by such labels" $label) -}}
{{- end -}}
{{- end -}}
{{- $stop := dig "timeout" "20s" (.Values.config.shutdown | default dict) | toString -}}
{{- if and (ne .Values.mode "sidecar") (gt (add (include "lockgw.seconds" $stop) 5) (int64 .Values.terminationGracePeriodSeconds)) -}}
{{- fail (printf "terminationGracePeriodSeconds is %d, and a stop may take config.shutdown.timeout, %s: give it 5 s more than that" (int64 .Values.terminationGracePeriodSeconds) $stop) -}}
{{- end -}}
{{- end -}}

{{/* How many seconds a duration such as 1m30s or 90 has; parts of a second are left out. */}}
{{- define "lockgw.seconds" -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9]+(\\.[0-9]+)?([a-zµ]+|$)" . -1 -}}
{{- $each := dict "d" 86400 "h" 3600 "m" 60 "s" 1 "" 1 -}}
{{- $sum = addf $sum (mulf (regexFind "^[0-9.]+" . | float64) (get $each (regexFind "[a-zµ]*$" .) | default 0)) -}}
{{- end -}}
{{- $sum | int64 -}}
{{- end -}}
