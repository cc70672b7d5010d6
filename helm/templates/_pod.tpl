{{/* Metadata of the pods of daemonset and deployment. */}}
{{- define "lockgw.podMetadata" -}}
labels:
  {{- include "lockgw.labels" . | nindent 2 }}
  {{- with .Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  # A changed configuration makes new pods.
  checksum/config: {{ print (include "lockgw.config" .) .Values.backend.url | sha256sum }}
  {{- with .Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* What their pods have in common. */}}
{{- define "lockgw.podSpec" -}}
serviceAccountName: {{ include "lockgw.fullname" . }}
automountServiceAccountToken: false
# A Service called lockgw would set LOCKGW_PORT and the like.
enableServiceLinks: false
terminationGracePeriodSeconds: {{ int64 .Values.terminationGracePeriodSeconds }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - {{- include "lockgw.container" . | nindent 4 }}
{{- end -}}
