{{/*
Values that stand for what is not available yet and that no configuration file carries: the programs never see them,
so the chart refuses them. Everything else that is not available is refused by the program that reads it.
*/}}
{{- define "antrea.refusals" -}}
{{- $values := .Values -}}
{{- if $values.agent.antreaSysctlInit.enable -}}
{{- fail "agent.antreaSysctlInit.enable: the init container for sysctls is not available yet; leave it false" -}}
{{- end -}}
{{- if $values.webhooks.labelsMutator.enable -}}
{{- fail "webhooks.labelsMutator.enable: admission webhooks are not available yet; leave it false" -}}
{{- end -}}
{{- if $values.testing.coverage -}}
{{- fail "testing.coverage: images with coverage measurement are not available; leave it false" -}}
{{- end -}}
{{- if $values.testing.simulator.enable -}}
{{- fail "testing.simulator.enable: the simulator is not available; leave it false" -}}
{{- end -}}
{{- if ne $values.cni.configFileMode "644" -}}
{{- fail "cni.configFileMode: the permissions of 10-antrea.conflist cannot be chosen yet; leave it \"644\"" -}}
{{- end -}}
{{- range $path, $container := dict "agent.antreaAgent" $values.agent.antreaAgent "agent.antreaOVS" $values.agent.antreaOVS "controller.antreaController" $values.controller.antreaController -}}
{{- if or (ne (int $container.logFileMaxSize) 100) (ne (int $container.logFileMaxNum) 4) -}}
{{- fail (printf "%s.logFileMaxSize, logFileMaxNum: there are no log files, programs log to their container's log; leave 100 and 4" $path) -}}
{{- end -}}
{{- end -}}
{{- end -}}
