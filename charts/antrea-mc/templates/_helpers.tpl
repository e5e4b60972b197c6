{{/* Labels of every object. */}}
{{- define "antrea-mc.labels" -}}
app: antrea
app.kubernetes.io/name: antrea-mc
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{/* Labels by which the controller finds what its certificates vouch in. */}}
{{- define "antrea-mc.servedLabels" -}}
{{ include "antrea-mc.labels" . }}
served-by: antrea-mc-controller
{{- end -}}

{{- define "antrea-mc.image" -}}
{{- $tag := .Values.image.tag | default (printf "v%s" .Chart.AppVersion) -}}
{{- printf "%s:%s" .Values.image.repository $tag | quote -}}
{{- end -}}

{{/* The Common Area of values without further ones. */}}
{{- define "antrea-mc.area" -}}
{{- .Values.commonArea.namespace | default (ternary "antrea-multicluster" .Release.Namespace (eq .Values.mode "both")) -}}
{{- end -}}

{{/* Namespaces of all Common Areas, as a JSON array; of a member, none. */}}
{{- define "antrea-mc.areas" -}}
{{- $areas := list -}}
{{- if ne .Values.mode "member" -}}
{{- $areas = concat (list (include "antrea-mc.area" .)) .Values.controller.leader.namespaces | uniq -}}
{{- end -}}
{{- toJson $areas -}}
{{- end -}}

{{/*
The name of an object without Namespace. That of a leader begins with its Namespace, as upstream's does: manifests of a
leader and of a member may be applied to one cluster.
*/}}
{{- define "antrea-mc.clusterName" -}}
{{- $root := index . 0 -}}
{{- ternary (printf "%s-%s" $root.Release.Namespace (index . 1)) (index . 1) (eq $root.Values.mode "leader") -}}
{{- end -}}

{{/*
The Secret with a member's token, the one that the controller may read: that of the values, or at an upgrade the one that the
ClusterSet names. An API server that does not know the kind yet cannot be asked for one, and helm template asks nobody.
*/}}
{{- define "antrea-mc.tokenSecret" -}}
{{- $name := .Values.controller.member.tokenSecret | default .Values.clusterSet.tokenSecretName -}}
{{- if .Capabilities.APIVersions.Has "multicluster.crd.antrea.io/v1alpha2/ClusterSet" -}}
{{- range (lookup "multicluster.crd.antrea.io/v1alpha2" "ClusterSet" .Release.Namespace "").items -}}
{{- $leader := first (dig "spec" "leaders" (list) .) | default (dict) -}}
{{- if $leader.server }}{{ $name = $name | default $leader.secret }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $name | default "antrea-mc-leader-token" -}}
{{- end -}}

{{- define "antrea-mc.config" -}}
{{- tpl (.Files.Get "conf/controller_manager_config.yaml") . | trim -}}
{{- end -}}

{{/* Where the API server finds a webhook. Argument: list $ PATH. The controller adds caBundle. */}}
{{- define "antrea-mc.clientConfig" -}}
service:
  name: antrea-mc-webhook-service
  namespace: {{ (index . 0).Release.Namespace }}
  path: {{ index . 1 }}
{{- end -}}

{{/* The port of ADDRESS:PORT, as a number. */}}
{{- define "antrea-mc.port" -}}
{{- splitList ":" . | last -}}
{{- end -}}

{{/* The address of ADDRESS:PORT without brackets; nothing where it is any. */}}
{{- define "antrea-mc.host" -}}
{{- $host := . | trimSuffix (printf ":%s" (splitList ":" . | last)) | trimAll "[]" -}}
{{- if not (has $host (list "0.0.0.0" "::")) }}{{ $host }}{{ end -}}
{{- end -}}

{{/* What a container of ours may do: nothing that needs rights on its Node. */}}
{{- define "antrea-mc.securityContext" -}}
runAsUser: 65532
runAsGroup: 65532
runAsNonRoot: true
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/*
What makes an object a hook. Argument: list EVENTS WEIGHT POLICIES, where policies say when else the object is deleted than
before the next of its kind, and when all hooks have succeeded.
*/}}
{{- define "antrea-mc.hook" -}}
helm.sh/hook: {{ index . 0 }}
helm.sh/hook-weight: {{ index . 1 | quote }}
helm.sh/hook-delete-policy: {{ concat (list "before-hook-creation" "hook-succeeded") (rest . | rest) | join "," }}
{{- end -}}

{{/* A container that runs antctl mc. Argument: list $ NAME FLAGS, where flags are a dict; those that are true have no value. */}}
{{- define "antrea-mc.antctl" -}}
{{- $root := index . 0 -}}
- name: {{ index . 1 }}
  image: {{ include "antrea-mc.image" $root }}
  imagePullPolicy: {{ $root.Values.image.pullPolicy }}
  command: ["antctl-mc"]
  args:
    - {{ index . 1 }}
    {{- range $flag, $value := index . 2 }}
    {{- if kindIs "bool" $value }}
    - {{ printf "--%s" $flag | quote }}
    {{- else }}
    - {{ printf "--%s=%s" $flag $value | quote }}
    {{- end }}
    {{- end }}
  resources:
    requests:
      cpu: "10m"
      memory: "16Mi"
  securityContext:
    {{- include "antrea-mc.securityContext" $root | nindent 4 }}
{{- end -}}

{{/* Where Pods run, and how important they are. */}}
{{- define "antrea-mc.scheduling" -}}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
