{{/* The gateway's container, the same in all modes. */}}
{{- define "lockgw.container" -}}
name: lockgw
image: {{ include "lockgw.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args: [serve, --config=/etc/lockgw/lockgw.yaml]
env:
  - name: LOCKGW_NODE
    valueFrom:
      fieldRef:
        fieldPath: {{ eq .Values.mode "daemonset" | ternary "spec.nodeName" "metadata.name" }}
  - name: LOCKGW_BACKEND_URL
    valueFrom:
      secretKeyRef:
        name: {{ .Values.backend.existingSecret.name | default (print (include "lockgw.fullname" .) "-backend") | quote }}
        key: {{ .Values.backend.existingSecret.key | quote }}
  {{- if .Values.tls.existingSecret }}
  - name: POD_IP # as which Prometheus calls it
    valueFrom:
      fieldRef:
        fieldPath: status.podIP
  - name: LOCKGW_HTTP_ALLOWED_HOSTS
    value: {{ include "lockgw.hosts" . }}
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- if .Values.tls.existingSecret }}
ports:
  - name: lockgw
    containerPort: 7420
{{- end }}
startupProbe:
  {{- include "lockgw.probe" (list . "livez") | nindent 2 }}
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 60
livenessProbe:
  {{- include "lockgw.probe" (list . "livez") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
{{- if eq .Values.mode "deployment" }}
# Another replica may reach the store.
readinessProbe:
  {{- include "lockgw.probe" (list . "readyz") | nindent 2 }}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  {{- include "lockgw.securityContext" . | nindent 2 }}
volumeMounts:
  - {name: lockgw-config, mountPath: /etc/lockgw, readOnly: true}
  - {name: lockgw-sockets, mountPath: /run/lockgw}
  - {name: lockgw-state, mountPath: /var/lib/lockgw}
  {{- if .Values.tls.existingSecret }}
  - {name: lockgw-tls, mountPath: /var/run/secrets/lockgw/tls, readOnly: true}
  {{- end }}
  {{- if .Values.admin.existingSecret.name }}
  - {name: lockgw-admin, mountPath: /var/run/secrets/lockgw/admin, readOnly: true}
  {{- end }}
  {{- if .Values.access.existingSecret.name }}
  - {name: lockgw-access, mountPath: /var/run/secrets/lockgw/access, readOnly: true}
  {{- end }}
  {{- if .Values.backend.tlsSecret }}
  - {name: lockgw-backend, mountPath: /var/run/secrets/lockgw/backend, readOnly: true}
  {{- end }}
{{- end -}}

{{/* Asked on the socket: the kubelet could not reach the loopback address. */}}
{{- define "lockgw.probe" -}}
{{- $socket := print (include "lockgw.socketDir" (index . 0)) "/http.sock" -}}
exec:
  command: [/usr/bin/lockgw-probe, {{ $socket }}, {{ print "/" (index . 1) }}]
{{- end -}}

{{/*
A user of its own, for the user of the gateway is an administrator on its sockets.
Images of others often run as 65532.
*/}}
{{- define "lockgw.securityContext" -}}
runAsUser: 7420
runAsGroup: {{ eq .Values.mode "daemonset" | ternary .Values.daemonset.group 7420 | int }}
{{ include "lockgw.restricted" . }}
{{- end -}}

{{/* What the restricted pod security standard asks of a container. */}}
{{- define "lockgw.restricted" -}}
runAsNonRoot: true
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* The names under which requests may come in. */}}
{{- define "lockgw.hosts" -}}
{{- $name := include "lockgw.fullname" . -}}
{{- $ns := .Release.Namespace -}}
{{- $hosts := list "$(POD_IP)" $name (print $name "." $ns) (print $name "." $ns ".svc") (print $name "." $ns ".svc.cluster.local") (include "lockgw.serverName" .) -}}
{{- concat $hosts (dig "http" "allowed_hosts" list .Values.config) | uniq | join "," | quote -}}
{{- end -}}

{{/* All volumes but that of the sockets and of the state. */}}
{{- define "lockgw.volumes" -}}
- name: lockgw-config
  configMap:
    name: {{ include "lockgw.fullname" . }}
{{- with .Values.tls.existingSecret }}
- name: lockgw-tls
  secret:
    secretName: {{ . | quote }}
{{- end }}
{{- with .Values.admin.existingSecret.name }}
- name: lockgw-admin
  secret:
    secretName: {{ . | quote }}
{{- end }}
{{- with .Values.access.existingSecret.name }}
- name: lockgw-access
  secret:
    secretName: {{ . | quote }}
{{- end }}
{{- with .Values.backend.tlsSecret }}
- name: lockgw-backend
  secret:
    secretName: {{ . | quote }}
{{- end }}
{{- end -}}
