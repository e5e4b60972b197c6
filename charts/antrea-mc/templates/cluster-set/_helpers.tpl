{{/* It runs when the controller does. Helm goes on when it is done. Argument: list WEIGHT POLICIES. */}}
{{- define "antrea-mc.clusterSetHook" -}}
{{- include "antrea-mc.hook" (concat (list "post-install,post-upgrade") .) -}}
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
