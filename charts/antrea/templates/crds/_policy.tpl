{{/* Parts of the two policy kinds, ClusterNetworkPolicy and NetworkPolicy. */}}

{{- define "antrea.crd.policyColumns" -}}
- name: Tier
  type: string
  description: The Tier of the policy.
  jsonPath: .spec.tier
- name: Priority
  type: number
  format: float
  description: Policies of a Tier with a lower number are asked first.
  jsonPath: .spec.priority
- name: Desired Nodes
  type: number
  format: int32
  description: How many Nodes have to enforce the policy.
  jsonPath: .status.desiredNodesRealized
- name: Current Nodes
  type: number
  format: int32
  description: How many Nodes enforce it.
  jsonPath: .status.currentNodesRealized
{{ include "antrea.crd.ageColumn" . }}
{{- end -}}

{{- define "antrea.crd.policyStatus" -}}
type: object
properties:
  phase:
    type: string
  observedGeneration:
    type: integer
  currentNodesRealized:
    type: integer
  desiredNodesRealized:
    type: integer
  conditions:
    {{- include "antrea.crd.conditions" . | nindent 4 }}
{{- end -}}

{{- define "antrea.crd.policyPriority" -}}
type: number
format: float
minimum: 1.0
maximum: 10000.0
{{- end -}}

{{- define "antrea.crd.policyAction" -}}
type: string
enum: [Allow, Drop, Reject, Pass]
{{- end -}}

{{- define "antrea.crd.policyPorts" -}}
type: array
items:
  type: object
  properties:
    protocol:
      type: string
      enum: [TCP, UDP, SCTP]
    port:
      x-kubernetes-int-or-string: true
    endPort:
      type: integer
    sourcePort:
      type: integer
    sourceEndPort:
      type: integer
{{- end -}}

{{/*
Protocols without ports. Argument: the IGMP types that the direction can match. To Pods go queries (17); from Pods come
reports of version 1 (18), 2 (22) and 3 (34), any of them when no type is given.
*/}}
{{- define "antrea.crd.policyProtocols" -}}
type: array
items:
  type: object
  oneOf:
    - required: [icmp]
    - required: [igmp]
  properties:
    icmp:
      type: object
      properties:
        icmpType:
          {{- include "antrea.crd.byte" . | nindent 10 }}
        icmpCode:
          {{- include "antrea.crd.byte" . | nindent 10 }}
    igmp:
      type: object
      properties:
        igmpType:
          type: integer
          enum: {{ . | toJson }}
        groupAddress:
          {{- include "antrea.crd.ip" . | nindent 10 }}
{{- end -}}

{{- define "antrea.crd.policyL7Protocols" -}}
type: array
items:
  type: object
  oneOf:
    - required: [http]
    - required: [tls]
  properties:
    http:
      type: object
      properties:
        host:
          type: string
        method:
          type: string
          enum: [GET, POST, PUT, HEAD, DELETE, TRACE, OPTIONS, CONNECT, PATCH]
        path:
          type: string
    tls:
      type: object
      properties:
        sni:
          type: string
{{- end -}}

{{/* What a rule of either direction and kind has: protocols, action, name, logging. Argument: the IGMP types. */}}
{{- define "antrea.crd.policyRuleCommon" -}}
action:
  {{- include "antrea.crd.policyAction" . | nindent 2 }}
ports:
  {{- include "antrea.crd.policyPorts" . | nindent 2 }}
protocols:
  {{- include "antrea.crd.policyProtocols" . | nindent 2 }}
l7Protocols:
  {{- include "antrea.crd.policyL7Protocols" . | nindent 2 }}
name:
  type: string
enableLogging:
  type: boolean
logLabel:
  type: string
  pattern: "^(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?$"
{{- end -}}

{{/* Other Namespaces seen from that of the Pod that the rule is applied to. */}}
{{- define "antrea.crd.peerNamespaces" -}}
type: object
minProperties: 1
maxProperties: 1
properties:
  match:
    type: string
    enum: [Self]
  sameLabels:
    type: array
    items:
      type: string
{{- end -}}

{{- define "antrea.crd.scope" -}}
type: string
enum: [Cluster, ClusterSet]
{{- end -}}

{{/* The peers that both directions of a ClusterNetworkPolicy may name. */}}
{{- define "antrea.crd.clusterPolicyPeer" -}}
podSelector:
  {{- include "antrea.crd.labelSelector" . | nindent 2 }}
namespaceSelector:
  {{- include "antrea.crd.labelSelector" . | nindent 2 }}
namespaces:
  {{- include "antrea.crd.peerNamespaces" . | nindent 2 }}
ipBlock:
  {{- include "antrea.crd.ipBlock" . | nindent 2 }}
group:
  type: string
serviceAccount:
  {{- include "antrea.crd.requiredNamespacedName" . | nindent 2 }}
nodeSelector:
  {{- include "antrea.crd.labelSelector" . | nindent 2 }}
{{- end -}}

{{/* The peers that both directions of a NetworkPolicy may name. */}}
{{- define "antrea.crd.namespacedPolicyPeer" -}}
podSelector:
  {{- include "antrea.crd.labelSelector" . | nindent 2 }}
namespaceSelector:
  {{- include "antrea.crd.labelSelector" . | nindent 2 }}
externalEntitySelector:
  {{- include "antrea.crd.labelSelector" . | nindent 2 }}
ipBlock:
  {{- include "antrea.crd.ipBlock" . | nindent 2 }}
nodeSelector:
  {{- include "antrea.crd.labelSelector" . | nindent 2 }}
group:
  type: string
{{- end -}}

{{/* What every rule of a ClusterNetworkPolicy may be applied to. */}}
{{- define "antrea.crd.clusterPolicyAppliedTo" -}}
podSelector:
  {{- include "antrea.crd.labelSelector" . | nindent 2 }}
namespaceSelector:
  {{- include "antrea.crd.labelSelector" . | nindent 2 }}
group:
  type: string
serviceAccount:
  {{- include "antrea.crd.requiredNamespacedName" . | nindent 2 }}
{{- end -}}

{{/* What every rule of a NetworkPolicy may be applied to. */}}
{{- define "antrea.crd.namespacedPolicyAppliedTo" -}}
podSelector:
  {{- include "antrea.crd.labelSelector" . | nindent 2 }}
group:
  type: string
{{- end -}}
