package proxy

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// expectFailure compares what a proxy has counted as failed with the line of its only connection in the access log.
func expectFailure(t *testing.T, p *Proxy, text string) {
	t.Helper()
	var line map[string]any
	if err := json.Unmarshal([]byte(text), &line); err != nil {
		t.Fatal(err)
	}
	all := p.Read(stats.Wanted{Failures: true}).Failures
	if line["code"] == "--" {
		if len(all) != 0 {
			t.Errorf("a connection without a fault has failed: %+v", all)
		}
		return
	}
	if len(all) != 1 {
		t.Fatalf("%d failures: %+v", len(all), all)
	}
	f := all[0]
	known := func(field string) any { // "" if it is left out
		if v := line[field]; v != nil {
			return v
		}
		return ""
	}
	for field, got := range map[string]string{
		"listener": f.Listener, "backend": f.Backend, "server": f.Server, "by": f.Reason, "phase": f.Phase,
		"code": f.Code, "tls_cause": f.TLSCause, "why": f.Text,
	} {
		if got != known(field) {
			t.Errorf("the failure has the %s %q, and the line %q", field, got, known(field))
		}
	}
	if f.Count != 1 {
		t.Errorf("%d times", f.Count)
	}
}

// A table counts each kind, allocates nothing for those that it knows, and is bounded: kinds that have not occurred for
// a while make room, and others lose their server.
func TestFailureTable(t *testing.T) {
	var table failureTable
	add := func(server string, at int64) {
		table.add(failureKind{listener: "web", backend: "app", server: server, why: reasonNoServer}, at)
	}
	if table.read.Load() != nil {
		t.Error("an empty table has memory")
	}
	for i := range maxFailures {
		add(fmt.Sprint(i), int64(i))
	}
	if n := testing.AllocsPerRun(100, func() { add("0", 1) }); n != 0 {
		t.Errorf("a known kind allocates %v times", n)
	}
	counted := func(server string) (n uint64) {
		for _, c := range *table.read.Load() {
			if c.kind.server == server {
				n += c.n.Load()
			}
		}
		return n
	}
	if n := counted("0"); n != 102 {
		t.Errorf("the first kind has %d, want 102", n)
	}
	add("new", maxFailures)
	add("newer", maxFailures)
	if counted("new") != 0 || counted("") != 2 || len(table.kinds) != maxFailures+1 {
		t.Errorf("%d kinds; those without room have %d", len(table.kinds), counted(""))
	}
	add("new", failureMemory+maxFailures-2) // all but the last one are old
	if counted("new") != 1 || len(table.kinds) > 3 {
		t.Errorf("%d kinds are left", len(table.kinds))
	}
	for i := range 10 * maxFailures { // of as many listeners, all at the same time
		table.add(failureKind{listener: fmt.Sprint(i), why: reasonNoServer}, failureMemory+maxFailures)
	}
	if n := len(table.kinds); n > maxFailures+int(closeReasonCount) {
		t.Errorf("%d kinds", n)
	}
}

// Ends that an operator or a timeout of idleness wants are no failures, and each other end is somebody's.
func TestExpectedEnds(t *testing.T) {
	for e := range closeReasonCount {
		fault := stats.FaultOf(closeReasons[e].By, closeReasons[e].Phase)
		if e.isExpected() && fault != "" && fault != stats.PolicyFault {
			t.Errorf("%v is expected, and the fault of %s", e, fault)
		}
		if !e.isExpected() && fault == "" {
			t.Errorf("%v is nobody's fault", e)
		}
	}
}
