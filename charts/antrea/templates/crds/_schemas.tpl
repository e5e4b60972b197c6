{{/*
Parts of schemas that several CRDs share. CRDs are templates, not files below crds/: so they are upgraded with the chart.
They survive its removal, and with them every object that users made.
*/}}
{{- define "antrea.crd.metadata" -}}
labels:
  {{- include "antrea.labels" . | nindent 2 }}
annotations:
  helm.sh/resource-policy: keep
{{- end -}}

{{- define "antrea.crd.ip" -}}
type: string
oneOf:
  - format: ipv4
  - format: ipv6
{{- end -}}

{{- define "antrea.crd.cidr" -}}
type: string
format: cidr
{{- end -}}

{{- define "antrea.crd.port" -}}
type: integer
minimum: 1
maximum: 65535
{{- end -}}

{{- define "antrea.crd.byte" -}}
type: integer
minimum: 0
maximum: 255
{{- end -}}

{{- define "antrea.crd.uint16" -}}
type: integer
minimum: 0
maximum: 65535
{{- end -}}

{{/* The value of a label; empty is one. */}}
{{- define "antrea.crd.labelValue" -}}
type: string
pattern: "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"
{{- end -}}

{{- define "antrea.crd.selectorOperator" -}}
type: string
enum: [In, NotIn, Exists, DoesNotExist]
{{- end -}}

{{/* A label selector whose values are checked. */}}
{{- define "antrea.crd.labelSelector" -}}
type: object
properties:
  matchExpressions:
    {{- include "antrea.crd.matchExpressions" . | nindent 4 }}
  matchLabels:
    type: object
    additionalProperties:
      {{- include "antrea.crd.labelValue" . | nindent 6 }}
{{- end -}}

{{/* A label selector whose matchLabels may be anything: the API is as permissive as upstream's. */}}
{{- define "antrea.crd.labelSelectorAnyLabels" -}}
type: object
properties:
  matchExpressions:
    {{- include "antrea.crd.matchExpressions" . | nindent 4 }}
  matchLabels:
    x-kubernetes-preserve-unknown-fields: true
{{- end -}}

{{- define "antrea.crd.matchExpressions" -}}
type: array
items:
  type: object
  properties:
    key:
      type: string
    operator:
      {{- include "antrea.crd.selectorOperator" . | nindent 6 }}
    values:
      type: array
      items:
        {{- include "antrea.crd.labelValue" . | nindent 8 }}
{{- end -}}

{{/* A label selector without any check, as Group has it. */}}
{{- define "antrea.crd.labelSelectorUnchecked" -}}
type: object
properties:
  matchExpressions:
    type: array
    items:
      type: object
      properties:
        key:
          type: string
        operator:
          {{- include "antrea.crd.selectorOperator" . | nindent 10 }}
        values:
          type: array
          items:
            type: string
  matchLabels:
    x-kubernetes-preserve-unknown-fields: true
{{- end -}}

{{- define "antrea.crd.ipBlock" -}}
type: object
properties:
  cidr:
    {{- include "antrea.crd.cidr" . | nindent 4 }}
  except:
    type: array
    items:
      {{- include "antrea.crd.cidr" . | nindent 6 }}
{{- end -}}

{{/* A name and a Namespace, neither of which has to be there. */}}
{{- define "antrea.crd.namespacedName" -}}
type: object
properties:
  name:
    type: string
  namespace:
    type: string
{{- end -}}

{{- define "antrea.crd.requiredNamespacedName" -}}
{{ include "antrea.crd.namespacedName" . }}
required: [name, namespace]
{{- end -}}

{{/* core/v1 ObjectReference. */}}
{{- define "antrea.crd.objectReference" -}}
type: object
properties:
  kind:
    type: string
  namespace:
    type: string
  name:
    type: string
  uid:
    type: string
  apiVersion:
    type: string
  resourceVersion:
    type: string
  fieldPath:
    type: string
{{- end -}}

{{/* status.conditions. */}}
{{- define "antrea.crd.conditions" -}}
type: array
items:
  type: object
  properties:
    type:
      type: string
    status:
      type: string
    lastTransitionTime:
      type: string
    reason:
      type: string
    message:
      type: string
{{- end -}}

{{/* What antrea-agent and antrea-controller say of their health. Argument: the list of condition types. */}}
{{- define "antrea.crd.healthConditions" -}}
type: array
items:
  type: object
  required: [type, status, lastHeartbeatTime]
  properties:
    type:
      type: string
      enum: {{ . | toJson }}
    status:
      type: string
      enum: ["True", "False", "Unknown"]
    lastHeartbeatTime:
      type: string
      format: date-time
    reason:
      type: string
    message:
      type: string
{{- end -}}

{{- define "antrea.crd.networkPolicyControllerInfo" -}}
type: object
properties:
  networkPolicyNum:
    type: integer
    format: int32
  addressGroupNum:
    type: integer
    format: int32
  appliedToGroupNum:
    type: integer
    format: int32
{{- end -}}

{{/* Addresses given as a CIDR, or as the first and the last. */}}
{{- define "antrea.crd.ipRanges" -}}
type: array
items:
  type: object
  oneOf:
    - required: [cidr]
    - required: [start, end]
  properties:
    cidr:
      {{- include "antrea.crd.cidr" . | nindent 6 }}
    start:
      {{- include "antrea.crd.ip" . | nindent 6 }}
    end:
      {{- include "antrea.crd.ip" . | nindent 6 }}
{{- end -}}

{{- define "antrea.crd.vlan" -}}
type: integer
minimum: 0
maximum: 4094
{{- end -}}

{{/* Where a program puts files: a URL, and the key by which an SSH server is recognised. Argument: the URL's pattern or "". */}}
{{- define "antrea.crd.fileServer" -}}
type: object
properties:
  url:
    type: string
    {{- with . }}
    pattern: {{ . | squote }}
    {{- end }}
  hostPublicKey:
    type: string
    format: byte
{{- end -}}

{{- define "antrea.crd.ageColumn" -}}
- name: Age
  type: date
  jsonPath: .metadata.creationTimestamp
{{- end -}}

{{- define "antrea.crd.usageColumns" -}}
- name: Total
  type: integer
  description: How many addresses there are.
  jsonPath: .status.usage.total
- name: Used
  type: integer
  description: How many of them are given out.
  jsonPath: .status.usage.used
{{ include "antrea.crd.ageColumn" . }}
{{- end -}}
