// Package conformance is Kubernetes' own end-to-end suite with its network specs alone, run by Kubernetes' own
// framework. Beside what the suite prints for people, it writes a line of JSON for each spec as it ends.
package conformance

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	conformancetestdata "k8s.io/kubernetes/test/conformance/testdata"
	"k8s.io/kubernetes/test/e2e"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	manifests "k8s.io/kubernetes/test/e2e/testing-manifests"
	"k8s.io/kubernetes/test/fixtures"

	// The labels that specs are selected by.
	_ "k8s.io/kubernetes/test/e2e/feature"
	// How the framework says what it sees of Nodes, Pods and metrics.
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/metrics/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	_ "k8s.io/kubernetes/test/utils/format"
	// The specs; it brings those of test/e2e/common/network with it.
	_ "k8s.io/kubernetes/test/e2e/network"
)

// results is the file that lines are appended to; every process of a parallel run has it.
var results = flag.String("results", "", "File that gets a line of JSON for each spec.")

// result is a line about a spec. The first line of a run has Planned alone.
type result struct {
	// How many specs are going to run.
	Planned int `json:"planned,omitempty"`
	// The full name of the spec.
	Spec string `json:"spec,omitempty"`
	// Ginkgo's word: passed, failed, skipped, timedout, panicked, interrupted, aborted.
	State string `json:"state,omitempty"`
	// How long it took.
	Seconds float64 `json:"seconds,omitempty"`
	// Why it did not pass.
	Reason string `json:"reason,omitempty"`
}

// sctp is the label of the specs that send packets of SCTP. Those that only name it in a policy do not have it.
const sctp = "Feature:SCTPConnectivity"

// skipWhatCannotRun has specs report that they cannot run when what they need of the kernel is missing: the Nodes of a
// lab have the kernel of the machine that this runs on.
func skipWhatCannotRun() {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, syscall.IPPROTO_SCTP)
	if err == nil {
		syscall.Close(socket)
		return
	}
	ginkgo.BeforeEach(func() {
		if slices.Contains(ginkgo.CurrentSpecReport().Labels(), sctp) {
			ginkgo.Skip("the kernel has no SCTP: " + err.Error())
		}
	})
}

// report has ginkgo tell of the specs from now on.
func report() {
	ginkgo.ReportBeforeSuite(func(report ginkgo.Report) {
		write(result{Planned: report.PreRunStats.SpecsThatWillRun})
	})
	ginkgo.ReportAfterEach(func(report ginkgo.SpecReport) {
		// Specs that were not asked for are reported, too: skipped, without a reason.
		if report.State == types.SpecStateSkipped && report.Failure.Message == "" {
			return
		}
		write(result{
			Spec:    report.FullText(),
			State:   report.State.String(),
			Seconds: report.RunTime.Seconds(),
			Reason:  strings.TrimSpace(report.Failure.Message),
		})
	})
}

// write appends a line at once: a short write to a file opened for appending is not torn by other processes.
func write(line result) {
	if *results == "" {
		return
	}
	bytes, err := json.Marshal(line)
	framework.ExpectNoError(err, "a result cannot be written as JSON")
	file, err := os.OpenFile(*results, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	framework.ExpectNoError(err, "the file of results cannot be opened")
	defer file.Close()
	_, err = file.Write(append(bytes, '\n'))
	framework.ExpectNoError(err, "the file of results cannot be written")
}

func TestMain(m *testing.M) {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	// What specs read from Kubernetes' source tree is in the binary.
	testfiles.AddFileSource(manifests.GetE2ETestingManifestsFS())
	testfiles.AddFileSource(fixtures.GetTestFixturesFS())
	testfiles.AddFileSource(conformancetestdata.GetConformanceTestdataFS())
	framework.AfterReadingAllFlags(&framework.TestContext)
	// Not earlier: the framework has gone through all specs without running any, which ginkgo reports as passed, and
	// it has left behind what was registered until then for after each spec.
	report()
	skipWhatCannotRun()
	os.Exit(m.Run())
}

func TestNetwork(t *testing.T) {
	e2e.RunE2ETests(t)
}
