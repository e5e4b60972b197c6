{{/* Values that only one role has a use for, by the role that has none; what each may say then, besides nothing. */}}
{{- define "antrea-mc.useless" -}}
{{- if eq .Values.mode "leader" -}}
- because: it is for members, and mode is leader
  only:
    controller.serviceCIDR: ""
    controller.podCIDRs: []
    controller.gatewayIPPrecedence: private
    controller.endpointIPType: ClusterIP
    controller.member.agentNamespace: kube-system
    controller.member.tokenSecret: ""
    controller.member.tokenLifetime: 168h
    controller.member.excludedNamespaces: [kube-system, kube-public, kube-node-lease]
    clusterSet.leaderClusterID: ""
    clusterSet.leaderAPIServer: ""
    clusterSet.leaderNamespace: ""
    clusterSet.tokenSecretName: ""
{{- else if eq .Values.mode "member" -}}
- because: it is for leaders, and mode is member
  only:
    commonArea.namespace: ""
    controller.leader.namespaces: []
    controller.leader.memberLease: 5m
    controller.leader.memberSilence: 30s
    controller.leader.memberTokenLifetime: 168h
    controller.leader.memberLimits.exports: 2000
    controller.leader.memberLimits.labelIdentities: 5000
    controller.leader.memberLimits.bytes: 16Mi
    controller.leader.memberLimits.objectBytes: 1Mi
    controller.leader.memberLimits.endpointPorts: 100000
    memberCredentials: []
{{- else if not .Values.clusterSet.tokenSecretName -}}
- because: this cluster joins its own ClusterSet only with clusterSet.tokenSecretName
  only:
    clusterSet.leaderClusterID: ""
    clusterSet.leaderAPIServer: ""
    clusterSet.leaderNamespace: ""
{{- end }}
{{- if not .Values.clusterSet.create }}
- because: it needs clusterSet.create
  only:
    clusterSet.clusterSetID: ""
    clusterSet.clusterID: ""
    clusterSet.leaderClusterID: ""
    clusterSet.leaderAPIServer: ""
    clusterSet.leaderNamespace: ""
    clusterSet.tokenSecretName: ""
{{- end }}
{{- end -}}

{{/* Keys of clusterSet that have to be set, as a JSON array. */}}
{{- define "antrea-mc.neededForClusterSet" -}}
{{- $needed := list -}}
{{- if .Values.clusterSet.create -}}
{{- $needed = list "clusterSetID" "clusterID" -}}
{{- if eq .Values.mode "member" -}}
{{- $needed = concat $needed (list "leaderClusterID" "leaderAPIServer" "leaderNamespace" "tokenSecretName") -}}
{{- else if .Values.clusterSet.tokenSecretName -}}
{{- $needed = append $needed "leaderAPIServer" -}}
{{- end -}}
{{- end -}}
{{- toJson $needed -}}
{{- end -}}

{{/* Problems of memberCredentials, as a JSON array. IDs that are dash-prefix pairs are refused as antctl mc does. */}}
{{- define "antrea-mc.credentialProblems" -}}
{{- $problems := list -}}
{{- $areas := include "antrea-mc.areas" . | fromJsonArray -}}
{{- $names := dict -}}
{{- $ids := dict -}}
{{- range $index, $one := ternary list .Values.memberCredentials (eq .Values.mode "member") -}}
{{- $at := printf "memberCredentials[%d]" $index -}}
{{- $area := $one.namespace | default (include "antrea-mc.area" $) -}}
{{- if not (has $area $areas) -}}
{{- $problems = append $problems (printf "%s.namespace: %s is not a Common Area; add it to controller.leader.namespaces" $at $area) -}}
{{- end -}}
{{- $name := printf "%s/%s" $area $one.name -}}
{{- if hasKey $names $name -}}
{{- $problems = append $problems (printf "%s.name: %s is there twice; choose another" $at $one.name) -}}
{{- end -}}
{{- $_ := set $names $name true -}}
{{- $id := printf "%s/%s" $area $one.clusterID -}}
{{- range $other := keys $ids | sortAlpha -}}
{{- if eq $other $id -}}
{{- $problems = append $problems (printf "%s.clusterID: %s is there twice; give each cluster an ID of its own" $at $one.clusterID) -}}
{{- else if or (hasPrefix (printf "%s-" $other) $id) (hasPrefix (printf "%s-" $id) $other) -}}
{{- $problems = append $problems (printf "%s.clusterID: %s and %s cannot be told apart in names of objects; rename one of the two" $at $one.clusterID (base $other)) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $ids $id true -}}
{{- end -}}
{{- toJson $problems -}}
{{- end -}}

{{/* Fails with a line for each value that is refused: all of them at once. */}}
{{- define "antrea-mc.refusals" -}}
{{- $problems := list -}}
{{- range $role := default list (include "antrea-mc.useless" . | fromYamlArray) -}}
{{- range $path, $only := $role.only -}}
{{- $value := $.Values -}}
{{- range splitList "." $path }}{{ $value = index (default dict $value) . }}{{ end -}}
{{- if and (not (empty $value)) (ne (toJson $value) (toJson $only)) -}}
{{- $problems = append $problems (printf "%s: %s; leave it at %s" $path $role.because (toJson $only)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $key := include "antrea-mc.neededForClusterSet" . | fromJsonArray -}}
{{- if not (get $.Values.clusterSet $key) -}}
{{- $problems = append $problems (printf "clusterSet.%s: clusterSet.create needs it in mode %s; set it" $key $.Values.mode) -}}
{{- end -}}
{{- end -}}
{{- $areas := include "antrea-mc.areas" . | fromJsonArray -}}
{{- if and (eq .Values.mode "both") (has .Release.Namespace $areas) -}}
{{- $problems = append $problems (printf "commonArea.namespace: %s is the Namespace of the member, and a Namespace has one ClusterSet; choose another" .Release.Namespace) -}}
{{- end -}}
{{- $secret := .Values.controller.member.tokenSecret -}}
{{- $joined := .Values.clusterSet.tokenSecretName -}}
{{- if and $secret $joined (ne $secret $joined) -}}
{{- $problems = append $problems (printf "clusterSet.tokenSecretName: the controller may read Secret %s alone, which controller.member.tokenSecret names; name the same" $secret) -}}
{{- end -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.controller.leaderElection.leaderElect) -}}
{{- $problems = append $problems "controller.leaderElection.leaderElect: several replicas would write the same objects; set it to true, or replicas to 1" -}}
{{- end -}}
{{- $ports := list (int .Values.controller.webhook.port) -}}
{{- range $key, $address := dict "health.healthProbeBindAddress" .Values.controller.health.healthProbeBindAddress "metrics.bindAddress" .Values.controller.metrics.bindAddress -}}
{{- $port := include "antrea-mc.port" $address | int -}}
{{- if has $port $ports -}}
{{- $problems = append $problems (printf "controller.%s: port %d is taken by another listener of the controller; choose another" $key $port) -}}
{{- end -}}
{{- if $port }}{{ $ports = append $ports $port }}{{ end -}}
{{- end -}}
{{- $problems = concat $problems (include "antrea-mc.credentialProblems" . | fromJsonArray) -}}
{{- with $problems }}{{ fail (join "\n" .) }}{{ end -}}
{{- end -}}
