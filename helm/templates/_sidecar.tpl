{{/*
For the pods of other charts, called with the values of this one:

  initContainers:
    {{- include "lockgw.sidecar" .Subcharts.lockgw | nindent 4 }}
  containers:
    - name: app
      env:
        {{- include "lockgw.sidecar.env" .Subcharts.lockgw | nindent 8 }}
      volumeMounts:
        {{- include "lockgw.sidecar.mounts" .Subcharts.lockgw | nindent 8 }}
  volumes:
    {{- include "lockgw.sidecar.volumes" .Subcharts.lockgw | nindent 4 }}
*/}}

{{/* A native sidecar: it starts before the containers of the pod, and ends after them. */}}
{{- define "lockgw.sidecar" -}}
{{- include "lockgw.check" . -}}
- restartPolicy: Always
  {{- include "lockgw.container" . | nindent 2 }}
{{- end -}}

{{- define "lockgw.sidecar.volumes" -}}
{{ include "lockgw.volumes" . }}
- name: lockgw-sockets
  emptyDir:
    medium: Memory
    sizeLimit: 1Mi
# Outlives the container, so that its locks do.
- name: lockgw-state
  emptyDir:
    sizeLimit: 256Mi
{{- end -}}

{{- define "lockgw.sidecar.env" -}}
- name: LOCKGW_SOCKET
  value: {{ include "lockgw.socketDir" . }}/resp.sock
{{- end -}}

{{- define "lockgw.sidecar.mounts" -}}
- name: lockgw-sockets
  mountPath: /run/lockgw
{{- end -}}

{{/* The labels of a pod whose metrics are to be read. */}}
{{- define "lockgw.sidecar.labels" -}}
lockgw.io/sidecar: {{ .Release.Name | quote }}
{{- end -}}
