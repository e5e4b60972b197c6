{{/*
Has the Node's kernel load Open vSwitch's module; then puts the CNI plugin, the plugins chained behind it and their
configuration where the container runtime looks.
*/}}
{{- define "antrea.installCNIContainer" -}}
{{- $container := .Values.agent.installCNI -}}
- name: install-cni
  image: {{ include "antrea.agentImage" . }}
  imagePullPolicy: {{ include "antrea.agentImagePullPolicy" . }}
  command:
    - antrea-cni
    - install
    - --bin-dir
    - /host/opt/cni/bin
    - --conf-file
    - /etc/antrea/antrea-cni.conflist
    - --conf-dir
    - /host/etc/cni/net.d
    {{- if not .Values.agent.dontLoadKernelModules }}
    - --datapath
    - {{ .Values.ovs.datapathType }}
    {{- end }}
    {{- range .Values.cni.skipBinaries }}
    - --skip
    - {{ . | quote }}
    {{- end }}
  {{- with $container.extraEnv }}
  env:
    {{- include "antrea.extraEnv" . | trim | nindent 4 }}
  {{- end }}
  resources:
    {{- toYaml $container.resources | nindent 4 }}
  securityContext:
    {{- include "antrea.securityContext" $container.securityContext | nindent 4 }}
  volumeMounts:
    - name: antrea-config
      mountPath: /etc/antrea/antrea-cni.conflist
      subPath: antrea-cni.conflist
      readOnly: true
    - name: host-cni-bin
      mountPath: /host/opt/cni/bin
    - name: host-cni-conf
      mountPath: /host/etc/cni/net.d
{{- end -}}

{{/*
Keeps Nodes whose distributions filter strictly by the reverse path from doing so on Antrea's interfaces. Mounted elsewhere,
the Node's sysctls can be written without privileges.
*/}}
{{- define "antrea.sysctlContainer" -}}
{{- $container := .Values.agent.antreaSysctlInit -}}
- name: antrea-sysctl-init
  image: {{ include "antrea.agentImage" . }}
  imagePullPolicy: {{ include "antrea.agentImagePullPolicy" . }}
  command:
    - antrea-cni
    - sysctls
    - --gateway
    - {{ .Values.hostGateway | quote }}
    - --file
    - /host/etc/sysctl.d/99-zzzz-antrea.conf
    - --sysctls
    - /host/proc/sys/net/ipv4/conf
  {{- with $container.extraEnv }}
  env:
    {{- include "antrea.extraEnv" . | trim | nindent 4 }}
  {{- end }}
  resources:
    {{- toYaml $container.resources | nindent 4 }}
  securityContext:
    {{- include "antrea.securityContext" $container.securityContext | nindent 4 }}
  volumeMounts:
    - name: host-etc-sysctl
      mountPath: /host/etc/sysctl.d
    - name: host-sysctls
      mountPath: /host/proc/sys/net/ipv4/conf
{{- end -}}

{{/* The agent. Probes ask its API on the Node's loopback, which no firewall of the Node filters. */}}
{{- define "antrea.agentContainer" -}}
{{- $container := .Values.agent.antreaAgent -}}
- name: antrea-agent
  image: {{ include "antrea.agentImage" . }}
  imagePullPolicy: {{ include "antrea.agentImagePullPolicy" . }}
  command: ["antrea-agent"]
  args:
    - --config
    - /etc/antrea/antrea-agent.conf
    {{- include "antrea.verbosityFlag" . | nindent 4 }}
    {{- with $container.extraArgs }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  env:
    {{- include "antrea.identityEnv" . | nindent 4 }}
    # Where antctl finds the agent.
    - name: ANTREA_AGENT_API_PORT
      value: {{ .Values.agent.apiPort | quote }}
    # Of glibc: calls that block move work to other threads, each of which would keep memory of its own.
    - name: MALLOC_ARENA_MAX
      value: "2"
    {{- include "antrea.extraEnv" $container.extraEnv | nindent 4 }}
  resources:
    {{- toYaml $container.resources | nindent 4 }}
  securityContext:
    {{- include "antrea.securityContext" $container.securityContext | nindent 4 }}
  ports:
    - name: api
      containerPort: {{ .Values.agent.apiPort }}
      protocol: TCP
  livenessProbe:
    httpGet:
      host: localhost
      path: /livez
      port: api
      scheme: HTTPS
    initialDelaySeconds: 10
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 5
  readinessProbe:
    httpGet:
      host: localhost
      path: /readyz
      port: api
      scheme: HTTPS
    periodSeconds: 2
    timeoutSeconds: 5
    # A controller that moves to another Node may be away for over a minute: agents do not become unready by that, or a
    # rolling update of them would be taken for finished, or stuck.
    failureThreshold: 40
  volumeMounts:
    - name: antrea-config
      mountPath: /etc/antrea/antrea-agent.conf
      subPath: antrea-agent.conf
      readOnly: true
    - name: service-account
      mountPath: /var/run/secrets/kubernetes.io/serviceaccount
      readOnly: true
    {{- if .Values.controllerTokenAudience }}
    - name: controller-token
      mountPath: /var/run/secrets/antrea.io/controller
      readOnly: true
    {{- end }}
    # The CNI socket, and state that outlives the Pod but not a reboot of the Node.
    - name: host-var-run-antrea
      mountPath: /var/run/antrea
    - name: host-var-run-antrea
      mountPath: /var/run/openvswitch
      subPath: openvswitch
    # Addresses given to Pods, as the host-local plugin stores them.
    - name: host-var-run-antrea
      mountPath: /var/lib/cni
      subPath: cni
    - name: host-var-log-antrea
      mountPath: /var/log/antrea
    # The container runtime names a Pod's network namespace by a path below one of these two. Those that it creates while
    # the agent runs have to become visible in here.
    - name: host-proc
      mountPath: /host/proc
      readOnly: true
    - name: host-var-run-netns
      mountPath: /host/var/run/netns
      readOnly: true
      mountPropagation: HostToContainer
    - name: xtables-lock
      mountPath: /run/xtables.lock
    {{- with $container.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* Open vSwitch: ovsdb-server and ovs-vswitchd below one supervisor, which creates the database when there is none. */}}
{{- define "antrea.ovsContainer" -}}
{{- $container := .Values.agent.antreaOVS -}}
{{- $netdev := eq .Values.ovs.datapathType "netdev" -}}
- name: antrea-ovs
  image: {{ include "antrea.agentImage" . }}
  imagePullPolicy: {{ include "antrea.agentImagePullPolicy" . }}
  command: ["antrea-agent", "start-ovs"]
  args:
    - --datapath
    - {{ .Values.ovs.datapathType }}
    {{- if .Values.ovs.hwOffload }}
    - --hw-offload
    - "true"
    {{- end }}
    {{- with $container.extraArgs }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $container.extraEnv }}
  env:
    {{- include "antrea.extraEnv" . | trim | nindent 4 }}
  {{- end }}
  resources:
    {{- toYaml $container.resources | nindent 4 }}
  securityContext:
    {{- if $netdev }}
    # /dev/net/tun, for the bridges' own interfaces.
    {{- include "antrea.securityContext" (dict "privileged" true "capabilities" list) | nindent 4 }}
    {{- else }}
    {{- include "antrea.securityContext" $container.securityContext | nindent 4 }}
    {{- end }}
  # A daemon that ends is noticed by the supervisor; one that hangs, by this.
  livenessProbe:
    exec:
      command:
        - /bin/sh
        - -c
        - >-
          ovs-appctl --timeout=5 -t /var/run/openvswitch/ovsdb-server.ctl version &&
          ovs-appctl --timeout=5 -t /var/run/openvswitch/ovs-vswitchd.ctl version
    initialDelaySeconds: 5
    periodSeconds: 10
    timeoutSeconds: 10
    failureThreshold: 5
  volumeMounts:
    - name: host-var-run-antrea
      mountPath: /var/run/openvswitch
      subPath: openvswitch
    - name: host-var-log-antrea
      mountPath: /var/log/openvswitch
      subPath: openvswitch
    # ovsdb-server keeps what it was told at run time in an unnamed file.
    - name: ovs-tmp
      mountPath: /tmp
{{- end -}}
