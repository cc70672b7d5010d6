{{/* lockgw.yaml: the keys of the user, and over them those that the chart sets. No secrets. */}}
{{- define "lockgw.config" -}}
{{- $socket := dict "dir" (include "lockgw.socketDir" .) -}}
{{- if eq .Values.mode "daemonset" -}}
{{- $_ := set $socket "group" (.Values.daemonset.group | int64 | toString) -}}
{{- else -}}
{{- /* Who has the volume may use it, whatever user a container runs as. */ -}}
{{- $_ := set $socket "mode" "0666" -}}
{{- end -}}
{{- $http := dict -}}
{{- if .Values.tls.existingSecret -}}
{{- $dir := "/var/run/secrets/lockgw/tls" -}}
{{- $tls := dict "cert_file" (print $dir "/tls.crt") "key_file" (print $dir "/tls.key") "client_ca_file" (print $dir "/ca.crt") -}}
{{- $http = dict "listen" (list ":7420") "tls" $tls -}}
{{- end -}}
{{- $own := dict "socket" $socket "http" $http "state_dir" (include "lockgw.stateDir" .) -}}
{{- if .Values.admin.existingSecret.name -}}
{{- $_ := set $own "admin" (dict "token_file" (print "/var/run/secrets/lockgw/admin/" .Values.admin.existingSecret.key)) -}}
{{- end -}}
{{- if .Values.access.existingSecret.name -}}
{{- $_ := set $own "access" (dict "tokens_file" (print "/var/run/secrets/lockgw/access/" .Values.access.existingSecret.key)) -}}
{{- end -}}
{{- mergeOverwrite (deepCopy .Values.config) $own | toYaml -}}
{{- end -}}

{{/*
A volume of a sidecar can be written by everybody in the pod. In such a directory
the gateway makes one of its own, in which nobody can replace a socket or the journal.
*/}}
{{- define "lockgw.stateDir" -}}
{{- if eq .Values.mode "daemonset" -}}/var/lib/lockgw{{- else -}}/var/lib/lockgw/gateway{{- end -}}
{{- end -}}

{{- define "lockgw.socketDir" -}}
{{- if eq .Values.mode "daemonset" -}}/run/lockgw{{- else -}}/run/lockgw/gateway{{- end -}}
{{- end -}}
