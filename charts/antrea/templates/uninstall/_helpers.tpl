{{/*
Annotations of an object that exists during `helm uninstall` only. Argument: its weight, a string; lower ones come first.
Helm deletes the objects of all weights after the last hook has succeeded, and only then those of the release: while
Nodes are cleaned up, their agents still run.
*/}}
{{- define "antrea.uninstallHook" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{/* How long the cleanup of all Nodes may take, in seconds. */}}
{{- define "antrea.uninstallTimeout" -}}120{{- end -}}
