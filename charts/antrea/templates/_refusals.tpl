{{/*
Values of what is not available yet: the only thing that each may say, besides nothing (null, 0, an empty text or list),
and why. Without this table they would render, and then stop the programs that read them on every Node, or do nothing.
antrea/config/tests/main/chart.rs compares it with what the programs accept.
*/}}
{{- define "antrea.unavailable" -}}
- because: no other mode is available yet
  only: {trafficEncapMode: encap, trafficEncryptionMode: none, hostNetworkMode: iptables}
- because: trafficEncapMode networkPolicyOnly is not available yet
  only: {podCIDRs: ""}
- because: it is for trafficEncapMode noEncap, which is not available yet
  only: {noSNAT: false}
- because: trafficEncryptionMode wireGuard is not available yet
  only: {wireGuard.port: 51820}
- because: trafficEncryptionMode ipsec is not available yet
  only:
    ipsec.authenticationMode: psk
    ipsec.psk: changeme
    ipsec.csrSigner.autoApprove: true
    ipsec.csrSigner.selfSignedCA: true
    agent.antreaIPsec.resources: {requests: {cpu: 50m}}
    agent.antreaIPsec.securityContext: {capabilities: [NET_ADMIN], privileged: false}
- because: bridging mode is not available yet
  only: {enableBridgingMode: false}
- because: Egress is not available yet
  only:
    egress.exceptCIDRs: []
    egress.maxEgressIPsPerNode: 255
    egress.snatFullyRandomPorts: false
    egress.uniqueMACForSubInterfaces: true
- because: Egress and ServiceExternalIP are not available yet
  only: {agent.clusterPort: 10351, agent.memberlist.gossipVerifyOutgoing: true, agent.memberlist.gossipVerifyIncoming: true}
- because: NodePortLocal is not available yet
  only: {nodePortLocal.enable: false, nodePortLocal.portRange: 61000-62000}
- because: AntreaPolicy is not available yet
  only:
    dnsServerOverride: ""
    fqdnCacheMinTTL: 0
    auditLogging.maxSize: 500
    auditLogging.maxBackups: 3
    auditLogging.maxAge: 28
    auditLogging.compress: true
- because: Multicast is not available yet
  only:
    multicast.enable: false
    multicast.multicastInterfaces: []
    multicast.igmpQueryVersions: [1, 2, 3]
    multicast.igmpQueryInterval: 125s
- because: SecondaryNetwork is not available yet
  only: {secondaryNetwork.ovsBridges: []}
- because: FlowExporter is not available yet
  only:
    flowExporter.enable: false
    flowExporter.flowCollectorAddr: "flow-aggregator/flow-aggregator:14739:grpc"
    flowExporter.flowPollInterval: 5s
    flowExporter.activeFlowExportTimeout: 5s
    flowExporter.idleFlowExportTimeout: 15s
    flowExporter.protocolFilter: []
- because: NodeIPAM is not available yet
  only:
    nodeIPAM.enable: false
    nodeIPAM.clusterCIDRs: []
    nodeIPAM.serviceCIDR: ""
    nodeIPAM.serviceCIDRv6: ""
    nodeIPAM.nodeCIDRMaskSizeIPv4: 24
    nodeIPAM.nodeCIDRMaskSizeIPv6: 64
- because: certificates of one's own are not available yet
  only: {controller.selfSignedCert: true}
- because: clients are known by the certificates and tokens of the cluster alone
  only: {clientCAFile: ""}
- because: cipher suites cannot be chosen yet
  only: {tlsCipherSuites: ""}
- because: admission webhooks are not available yet
  only: {webhooks.labelsMutator.enable: false}
- because: the permissions of 10-antrea.conflist cannot be chosen yet
  only: {cni.configFileMode: "644"}
- because: there are no log files, programs log to their container's log
  only:
    agent.antreaAgent.logFileMaxSize: 100
    agent.antreaAgent.logFileMaxNum: 4
    agent.antreaOVS.logFileMaxSize: 100
    agent.antreaOVS.logFileMaxNum: 4
    controller.antreaController.logFileMaxSize: 100
    controller.antreaController.logFileMaxNum: 4
- because: images with coverage measurement are not available
  only: {testing.coverage: false}
- because: the simulator is not available
  only: {testing.simulator.enable: false}
{{- end -}}

{{/* The same for what AntreaProxy does nothing with, as the other values are. */}}
{{- define "antrea.uselessForProxy" -}}
{{- $proxy := .Values.antreaProxy -}}
{{- $gates := default dict .Values.featureGates -}}
{{- $gateIsOff := eq (toString (get $gates "AntreaProxy")) "false" -}}
{{- if or $gateIsOff (not $proxy.enable) -}}
- because: {{ ternary "feature gate AntreaProxy is false" "antreaProxy.enable is false" $gateIsOff }}
  only:
    packetInRate: 5000
    antreaProxy.proxyAll: false
    antreaProxy.nodePortAddresses: []
    antreaProxy.skipServices: []
    antreaProxy.proxyLoadBalancerIPs: true
    antreaProxy.serviceProxyName: ""
    antreaProxy.defaultLoadBalancerMode: nat
    antreaProxy.disableServiceHealthCheckServer: false
    antreaProxy.serviceHealthCheckServerBindAddress: "0.0.0.0:10256"
    featureGates.LoadBalancerModeDSR: false
    featureGates.PreferSameTrafficDistribution: false
{{- else -}}
{{- if not $proxy.proxyAll }}
- because: it needs antreaProxy.proxyAll
  only: {antreaProxy.nodePortAddresses: [], antreaProxy.serviceHealthCheckServerBindAddress: "0.0.0.0:10256"}
- because: there is no such server without antreaProxy.proxyAll
  only: {antreaProxy.disableServiceHealthCheckServer: false}
- because: it is for traffic from outside the cluster, which needs antreaProxy.proxyAll
  only: {featureGates.LoadBalancerModeDSR: false}
{{- else if $proxy.disableServiceHealthCheckServer }}
- because: antreaProxy.disableServiceHealthCheckServer is true
  only: {antreaProxy.serviceHealthCheckServerBindAddress: "0.0.0.0:10256"}
{{- end }}
{{- if not (get $gates "LoadBalancerModeDSR") }}
- because: it needs featureGates.LoadBalancerModeDSR
  only: {antreaProxy.defaultLoadBalancerMode: nat}
{{- end }}
{{- end }}
{{- end -}}

{{/* The same for what antrea-controller does, where there is to be none. */}}
{{- define "antrea.uselessWithoutController" -}}
{{- if not .Values.controller.enable -}}
- because: controller.enable is false
  only: {controller.apiNodePort: 0, newPodsWithoutController: isolate, featureGates.NetworkPolicyStats: false}
{{- end }}
{{- end -}}

{{/* The same for Multi-cluster. */}}
{{- define "antrea.uselessForMulticluster" -}}
{{- $gates := default dict .Values.featureGates -}}
{{- if not (get $gates "Multicluster") }}
- because: it needs featureGates.Multicluster
  only:
    multicluster.enableGateway: false
    multicluster.namespace: ""
    multicluster.enableStretchedNetworkPolicy: false
    multicluster.enablePodToPodConnectivity: false
    multicluster.trafficEncryptionMode: none
    multicluster.wireGuard.port: 51821
{{- else }}
- because: network policies between clusters are not available yet
  only: {multicluster.enableStretchedNetworkPolicy: false}
- because: encryption between clusters is not available yet
  only: {multicluster.trafficEncryptionMode: none, multicluster.wireGuard.port: 51821}
{{- if not .Values.multicluster.enableGateway }}
- because: it needs multicluster.enableGateway
  only: {multicluster.enablePodToPodConnectivity: false}
{{- else if or (eq (toString (get $gates "AntreaProxy")) "false") (not .Values.antreaProxy.enable) }}
- because: it needs AntreaProxy, which is off
  only: {multicluster.enableGateway: false}
{{- end }}
{{- end }}
{{- end -}}

{{/* Fails with a line for each value that is refused: all of them at once. */}}
{{- define "antrea.refusals" -}}
{{- $problems := list -}}
{{- range $feature := concat (include "antrea.unavailable" . | fromYamlArray) (include "antrea.uselessForProxy" . | fromYamlArray) (include "antrea.uselessWithoutController" . | fromYamlArray) (include "antrea.uselessForMulticluster" . | fromYamlArray) -}}
{{- range $path, $only := $feature.only -}}
{{- $value := $.Values -}}
{{- range splitList "." $path }}{{ $value = index (default dict $value) . }}{{ end -}}
{{- $says := and (or (kindIs "bool" $value) (not (empty $value))) (ne (toJson $value) (toJson $only)) -}}
{{- if $says }}{{ $problems = append $problems (printf "%s: %s; leave it at %s" $path $feature.because (toJson $only)) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $locked := list "EndpointSlice" "ServiceTrafficDistribution" "TopologyAwareHints" -}}
{{- $available := concat $locked (list "AntreaProxy" "CleanupStaleUDPSvcConntrack" "LoadBalancerModeDSR" "Multicluster" "NetworkPolicyStats" "PreferSameTrafficDistribution") -}}
{{- range $gate, $on := .Values.featureGates -}}
{{- if and $on (not (has $gate $available)) }}{{ $problems = append $problems (printf "featureGates.%s: it is not available yet; leave it out, or set it to false" $gate) }}{{ end -}}
{{- if and (not $on) (has $gate $locked) }}{{ $problems = append $problems (printf "featureGates.%s: the feature is always on; leave it out, or set it to true" $gate) }}{{ end -}}
{{- end -}}
{{- if eq (toString .Values.tunnelType) "stt" -}}
{{- $problems = append $problems "tunnelType: Open vSwitch dropped STT; choose geneve, vxlan or gre" -}}
{{- end -}}
{{- if and (eq (toString .Values.tunnelType) "gre") (int .Values.tunnelPort) -}}
{{- $problems = append $problems "tunnelPort: GRE has no ports; leave it at 0" -}}
{{- end -}}
{{- if eq .Values.hostGateway .Values.ovs.bridgeName -}}
{{- $problems = append $problems (printf "hostGateway: the bridge has the name %s already (ovs.bridgeName); choose another" .Values.hostGateway) -}}
{{- end -}}
{{- if and .Values.controller.enable (eq (int .Values.agent.apiPort) (int .Values.controller.apiPort)) -}}
{{- $problems = append $problems (printf "agent.apiPort: the controller has port %d of the same Node (controller.apiPort); choose another" (int .Values.agent.apiPort)) -}}
{{- end -}}
{{- with $problems }}{{ fail (join "\n" .) }}{{ end -}}
{{- end -}}
