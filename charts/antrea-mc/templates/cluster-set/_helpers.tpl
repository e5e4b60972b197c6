{{/*
It runs when the controller does. Helm goes on when it is done. Argument: list WEIGHT POLICIES, where policies say when
else the object is deleted.
*/}}
{{- define "antrea-mc.clusterSetHook" -}}
helm.sh/hook: post-install,post-upgrade
helm.sh/hook-weight: {{ index . 0 | quote }}
helm.sh/hook-delete-policy: {{ concat (list "before-hook-creation" "hook-succeeded") (rest .) | join "," }}
{{- end -}}

{{/* A container that runs antctl mc. Argument: list $ NAME FLAGS, where flags are a dict. */}}
{{- define "antrea-mc.antctl" -}}
{{- $root := index . 0 -}}
- name: {{ index . 1 }}
  image: {{ include "antrea-mc.image" $root }}
  imagePullPolicy: {{ $root.Values.image.pullPolicy }}
  command: ["antctl-mc"]
  args:
    - {{ index . 1 }}
    {{- range $flag, $value := index . 2 }}
    - {{ printf "--%s=%s" $flag $value | quote }}
    {{- end }}
  resources:
    requests:
      cpu: "10m"
      memory: "16Mi"
  securityContext:
    {{- include "antrea-mc.securityContext" $root | nindent 4 }}
{{- end -}}

{{- define "antrea-mc.init" -}}
{{- $set := .Values.clusterSet -}}
{{- include "antrea-mc.antctl" (list . "init" (dict "clusterset" $set.clusterSetID "clusterid" $set.clusterID "namespace" (include "antrea-mc.area" .))) -}}
{{- end -}}

{{- define "antrea-mc.join" -}}
{{- $set := .Values.clusterSet -}}
{{- $leader := $set.leaderClusterID -}}
{{- $area := $set.leaderNamespace -}}
{{- if eq .Values.mode "both" -}}
{{- $leader = $leader | default $set.clusterID -}}
{{- $area = $area | default (include "antrea-mc.area" .) -}}
{{- end -}}
{{- include "antrea-mc.antctl" (list . "join" (dict "clusterset" $set.clusterSetID "clusterid" $set.clusterID "namespace" .Release.Namespace "leader-clusterid" $leader "leader-namespace" $area "leader-apiserver" $set.leaderAPIServer "token-secret-name" $set.tokenSecretName)) -}}
{{- end -}}
