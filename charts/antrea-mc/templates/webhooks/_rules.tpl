{{/*
A webhook of one kind. Argument: dict with name, path, group, version, resources (with their subresources), operations,
namespaces (where; without it, everywhere), failure (what happens without the controller), and only (conditions in CEL by
their names: where one does not hold, the controller is not asked).
*/}}
{{- define "antrea-mc.webhook" -}}
- name: {{ .name }}
  admissionReviewVersions: ["v1"]
  sideEffects: None
  # What others rely on is not changed without the controller. What users write it looks at again when it is back, and
  # says in the status what is wrong.
  failurePolicy: {{ .failure | default "Fail" }}
  timeoutSeconds: 5
  clientConfig:
    {{- include "antrea-mc.clientConfig" (list .root .path) | nindent 4 }}
  {{- with .namespaces }}
  namespaceSelector:
    matchExpressions:
      - key: kubernetes.io/metadata.name
        operator: In
        values: {{ toJson . }}
  {{- end }}
  {{- with .only }}
  matchConditions:
    {{- range $name, $holds := . }}
    - name: {{ $name }}
      expression: {{ $holds | quote }}
    {{- end }}
  {{- end }}
  rules:
    - apiGroups: [{{ .group | default (quote "") }}]
      apiVersions: [{{ .version }}]
      resources: {{ toJson .resources }}
      operations: {{ toJson .operations }}
      scope: {{ .scope | default "Namespaced" }}
{{- end -}}

{{/*
Requests for tokens by the ServiceAccounts of a Common Area, which members have. Kubelets ask for those of Pods, that of the
controller among them, and must never wait for the controller.
*/}}
{{- define "antrea-mc.tokenRequests" -}}
{{- $members := "request.userInfo.username.startsWith('system:serviceaccount:' + request.namespace + ':')" -}}
{{- toJson (dict "group" "" "version" "v1" "resources" (list "serviceaccounts/token") "operations" (list "CREATE") "namespaces" (include "antrea-mc.areas" . | fromJsonArray) "only" (dict "by-a-serviceaccount-of-the-area" $members)) -}}
{{- end -}}

{{/*
What the agent of a Gateway's Node writes into its status every 2 s. It may: its token says of which Node it is (Kubernetes
1.30 and later; the controller is asked about others).
*/}}
{{- define "antrea-mc.ownReport" -}}
{{- $node := "authentication.kubernetes.io/node-name" -}}
{{- $agent := printf "system:serviceaccount:%s:antrea-agent" (.Values.controller.member.agentNamespace | default "kube-system") -}}
{{- printf "has(request.subResource) && request.subResource == 'status' && request.userInfo.username == '%s' && has(request.userInfo.extra) && '%s' in request.userInfo.extra && request.userInfo.extra['%s'] == [request.name]" $agent $node $node -}}
{{- end -}}

{{/* What is validated, as a JSON object by the names of webhooks, which are those of their kinds unless `kind` says another. */}}
{{- define "antrea-mc.validated" -}}
{{- $antrea := "multicluster.crd.antrea.io" -}}
{{- $mcs := "multicluster.x-k8s.io" -}}
{{- $own := list .Release.Namespace -}}
{{- $areas := include "antrea-mc.areas" . | fromJsonArray -}}
{{- $others := printf "request.userInfo.username != 'system:serviceaccount:%s:antrea-mc-controller'" .Release.Namespace -}}
{{- $write := list "CREATE" "UPDATE" -}}
{{- $all := append $write "DELETE" -}}
{{- $kinds := dict -}}
{{- /* What is being deleted waits for its finalizers, which somebody may have to take off without the controller. */ -}}
{{- $stays := dict "not-being-deleted" "request.operation != 'UPDATE' || !has(oldObject.metadata.deletionTimestamp)" -}}
{{- $sets := dict "kind" "clusterset" "group" $antrea "version" "v1alpha2" "resources" (list "clustersets" "clustersets/status") "only" $stays -}}
{{- if ne .Values.mode "member" -}}
{{- $_ := set $kinds "clusterset" (merge (dict "operations" $all "namespaces" $areas) $sets) -}}
{{- $in := dict "group" $antrea "version" "v1alpha1" "operations" $all "namespaces" $areas -}}
{{- $_ := set $kinds "memberclusterannounce" (merge (dict "resources" (list "memberclusterannounces" "memberclusterannounces/status")) $in) -}}
{{- /* The leader's own writes, two for each export, are allowed whatever they are. */ -}}
{{- $_ := set $in "only" (dict "not-by-the-leader" $others) -}}
{{- $_ := set $kinds "resourceexport" (merge (dict "resources" (list "resourceexports" "resourceexports/status")) $in) -}}
{{- $_ := set $kinds "resourceimport" (merge (dict "resources" (list "resourceimports" "resourceimports/status")) $in) -}}
{{- $_ := set $kinds "tokenrequest" (include "antrea-mc.tokenRequests" . | fromJson) -}}
{{- end -}}
{{- if ne .Values.mode "leader" -}}
{{- $_ := set $kinds "clusterset-member" (merge (dict "operations" $write "namespaces" $own) $sets) -}}
{{- $in := dict "group" $antrea "version" "v1alpha1" "operations" $write -}}
{{- $reports := dict "not-of-the-agent-on-its-node" (printf "!(%s)" (include "antrea-mc.ownReport" .)) -}}
{{- $_ := set $kinds "gateway" (merge (dict "resources" (list "gateways" "gateways/status") "namespaces" $own "only" $reports) $in) -}}
{{- $_ := set $kinds "clusterinfoimport" (merge (dict "resources" (list "clusterinfoimports" "clusterinfoimports/status") "namespaces" $own) $in) -}}
{{- $_ := set $kinds "labelidentity" (merge (dict "resources" (list "labelidentities") "scope" "Cluster") $in) -}}
{{- $in := dict "group" $mcs "version" "v1beta1" "operations" $write "failure" "Ignore" -}}
{{- $_ := set $kinds "serviceexport" (merge (dict "resources" (list "serviceexports")) $in) -}}
{{- /* The member's own, one for each Service that it imports, are made of what its leader has merged. */ -}}
{{- $_ := set $kinds "serviceimport" (merge (dict "resources" (list "serviceimports") "only" (dict "not-by-the-member" $others)) $in) -}}
{{- end -}}
{{- toJson $kinds -}}
{{- end -}}
