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
{{- end -}}
