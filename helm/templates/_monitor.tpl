{{/* How Prometheus reads the metrics of one gateway. */}}
{{- define "lockgw.monitorEndpoint" -}}
scheme: https
path: /metrics
tlsConfig:
  serverName: {{ include "lockgw.serverName" . }}
  ca:
    secret: {name: {{ .Values.tls.clientSecret }}, key: ca.crt}
  cert:
    secret: {name: {{ .Values.tls.clientSecret }}, key: tls.crt}
  keySecret: {name: {{ .Values.tls.clientSecret }}, key: tls.key}
{{- end -}}
