// Package main is every Kubernetes program of the lab that runs for long, in one binary, chosen by the name it is started
// under: one link instead of eight, and one file to cache. kubectl is a program of its own: it is started thousands of
// times, and the start of this one takes three times as long.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coredns/coredns/coremain"
	// The plugins of CoreDNS that clusters and Kubernetes' own specs use: the full set brings the SDKs of four clouds.
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/file"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/loop"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
	_ "github.com/coredns/coredns/plugin/rewrite"
	_ "github.com/coredns/coredns/plugin/template"
	_ "github.com/coredns/coredns/plugin/whoami"
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	helm "helm.sh/helm/v4/pkg/cmd"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// programs maps the name a program is called by to its main function, which returns the exit code.
var programs = map[string]func() int{
	"coredns":                 func() int { coremain.Run(); return 0 },
	"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
	"helm":                    runHelm,
	"kube-apiserver":          component(apiserver.NewAPIServerCommand),
	"kube-controller-manager": component(controllermanager.NewControllerManagerCommand),
	"kube-proxy":              component(proxy.NewProxyCommand),
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kubelet":                 func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
}

func component(newCommand func() *cobra.Command) func() int {
	return func() int { return cli.Run(newCommand()) }
}

func runHelm() int {
	command, err := helm.NewRootCmd(os.Stdout, os.Args[1:], helm.SetupLogging)
	if err != nil {
		fmt.Fprintln(os.Stderr, "helm:", err)
		return 1
	}
	if err := command.Execute(); err != nil {
		return 1
	}
	return 0
}

func main() {
	name := filepath.Base(os.Args[0])
	run, known := programs[name]
	if !known {
		names := slices.Sorted(maps.Keys(programs))
		fmt.Fprintf(os.Stderr, "no program %q in here; link this file to one of: %s\n", name, strings.Join(names, ", "))
		os.Exit(2)
	}
	os.Exit(run())
}
