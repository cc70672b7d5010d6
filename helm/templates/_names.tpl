{{- define "lockgw.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The labels by which the pods are selected. Under an alias the chart has that name. */}}
{{- define "lockgw.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "lockgw.labels" -}}
{{ include "lockgw.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "lockgw.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The name by which clients check the gateway's certificate. */}}
{{- define "lockgw.serverName" -}}
{{- .Values.tls.serverName | default (printf "%s.%s.svc" (include "lockgw.fullname" .) .Release.Namespace) -}}
{{- end -}}

{{/*
The ports of the store, as JSON: those that are set, or the usual ones of the scheme and
those that the URL names. A Sentinel or a member of a cluster names others by itself.
*/}}
{{- define "lockgw.storePorts" -}}
{{- $url := .Values.backend.url | default "redis:" -}}
{{- $scheme := $url | splitList ":" | first -}}
{{- $usual := dict
  "memory" (list)
  "postgres" (list 5432) "postgresql" (list 5432)
  "etcd" (list 2379)
  "mysql" (list 3306)
  "zookeeper" (list 2181)
  "redis+sentinel" (list 6379 26379) "rediss+sentinel" (list 6379 26379)
-}}
{{- $ports := list 6379 -}}
{{- if hasKey $usual $scheme -}}
{{- $ports = get $usual $scheme -}}
{{- end -}}
{{- $hosts := $url | trimPrefix (print $scheme "://") | regexFind "^[^/?#]*" | splitList "@" | last -}}
{{- range $host := splitList "," $hosts -}}
{{- with regexFind ":[0-9]+$" $host -}}
{{- $ports = append $ports (trimPrefix ":" . | int) | uniq -}}
{{- end -}}
{{- end -}}
{{- .Values.networkPolicy.storePorts | default $ports | toJson -}}
{{- end -}}
