{{/* How Prometheus reads the metrics of one gateway. */}}
{{- define "lockgw.monitorEndpoint" -}}
scheme: https
path: /metrics
tlsConfig:
  serverName: {{ include "lockgw.serverName" . | quote }}
  ca:
    secret: {name: {{ .Values.tls.clientSecret | quote }}, key: ca.crt}
  cert:
    secret: {name: {{ .Values.tls.clientSecret | quote }}, key: tls.crt}
  keySecret: {name: {{ .Values.tls.clientSecret | quote }}, key: tls.key}
{{- end -}}
