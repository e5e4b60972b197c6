{{/* Labels of every object. */}}
{{- define "antrea.labels" -}}
app: antrea
app.kubernetes.io/name: antrea
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{/*
An image reference. Argument: dict "root" $ "image" (agentImage or controllerImage).
The deprecated `image` wins where it says something.
*/}}
{{- define "antrea.image" -}}
{{- $old := .root.Values.image -}}
{{- $repository := $old.repository | default .image.repository -}}
{{- $tag := $old.tag | default .image.tag | default .root.Chart.AppVersion -}}
{{- printf "%s:%s" $repository $tag | quote -}}
{{- end -}}

{{- define "antrea.agentImage" -}}
{{- include "antrea.image" (dict "root" . "image" .Values.agentImage) -}}
{{- end -}}

{{- define "antrea.controllerImage" -}}
{{- include "antrea.image" (dict "root" . "image" .Values.controllerImage) -}}
{{- end -}}

{{- define "antrea.agentImagePullPolicy" -}}
{{- .Values.image.pullPolicy | default .Values.agentImage.pullPolicy -}}
{{- end -}}

{{- define "antrea.controllerImagePullPolicy" -}}
{{- .Values.image.pullPolicy | default .Values.controllerImage.pullPolicy -}}
{{- end -}}

{{/* What the programs call themselves: their Pod and the Node it is on. */}}
{{- define "antrea.identityEnv" -}}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
{{- end -}}

{{/* Environment variables from a map, in the order of their names. */}}
{{- define "antrea.extraEnv" -}}
{{- range $name, $value := . }}
- name: {{ $name | quote }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{/*
A container's securityContext: a read-only root, and no capabilities but those that the values name. Argument: the map of
the values. A privileged container has all capabilities and no seccomp profile, whatever is said of them.
*/}}
{{- define "antrea.securityContext" -}}
privileged: {{ .privileged }}
readOnlyRootFilesystem: true
{{- if not .privileged }}
{{- /* Kubernetes refuses the two of them together. */}}
{{- if not (has "CAP_SYS_ADMIN" .capabilities) }}
allowPrivilegeEscalation: false
{{- end }}
seccompProfile:
  type: RuntimeDefault
capabilities:
  drop: ["ALL"]
  {{- with .capabilities }}
  add:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* The securityContext of a container that does nothing which an ordinary user could not. */}}
{{- define "antrea.unprivilegedSecurityContext" -}}
runAsUser: {{ . }}
runAsGroup: {{ . }}
runAsNonRoot: true
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* Log verbosity as a flag; nothing at 0. */}}
{{- define "antrea.verbosityFlag" -}}
{{- with int .Values.logVerbosity }}
- "-v={{ . }}"
{{- end }}
{{- end -}}

{{/*
The feature gates of one program that the user set, as a JSON object. Argument: dict "root" $ "names" (those it knows).
*/}}
{{- define "antrea.featureGates" -}}
{{- $gates := dict -}}
{{- range $name, $on := .root.Values.featureGates -}}
{{- if has $name $.names }}{{ $_ := set $gates $name $on }}{{ end -}}
{{- end -}}
{{- toJson $gates -}}
{{- end -}}

{{- define "antrea.agentFeatureGates" -}}
{{- $names := list "AllAlpha" "AllBeta" "AntreaIPAM" "AntreaNodeConfig" "AntreaPolicy" "AntreaProxy" "BGPPolicy" "CleanupStaleUDPSvcConntrack" "Egress" "EgressSeparateSubnet" "EgressTrafficShaping" "EndpointSlice" "ExternalNode" "FlowExporter" "IPsecCertAuth" "L7NetworkPolicy" "LoadBalancerModeDSR" "Multicast" "Multicluster" "NFTablesHostNetworkMode" "NetworkPolicyStats" "NodeLatencyMonitor" "NodeNetworkPolicy" "NodePortLocal" "PacketCapture" "PreferSameTrafficDistribution" "SecondaryNetwork" "ServiceExternalIP" "ServiceTrafficDistribution" "SupportBundleCollection" "TopologyAwareHints" "Traceflow" "TrafficControl" -}}
{{- include "antrea.featureGates" (dict "root" . "names" $names) -}}
{{- end -}}

{{- define "antrea.controllerFeatureGates" -}}
{{- $names := list "AdminNetworkPolicy" "AllAlpha" "AllBeta" "AntreaIPAM" "AntreaPolicy" "ClusterNetworkPolicy" "Egress" "ExternalNode" "IPsecCertAuth" "L7NetworkPolicy" "Multicast" "Multicluster" "NetworkPolicyStats" "NodeIPAM" "ServiceExternalIP" "SupportBundleCollection" "Traceflow" -}}
{{- include "antrea.featureGates" (dict "root" . "names" $names) -}}
{{- end -}}

{{/* The APIServices of antrea-controller, as a JSON array. */}}
{{- define "antrea.apiServices" -}}
["v1alpha1.stats.antrea.io", "v1beta1.system.antrea.io", "v1beta2.controlplane.antrea.io"]
{{- end -}}
