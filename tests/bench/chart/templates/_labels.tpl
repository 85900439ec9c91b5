{{- define "redis.selector" -}}
app: redis
redis-cr: {{ .Release.Name }}
{{- end }}
{{- define "redis.labels" -}}
{{ include "redis.selector" . }}
app.kubernetes.io/name: redis
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
