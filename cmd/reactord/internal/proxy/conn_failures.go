package proxy

import (
	"slices"
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/accesslog"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/tlscause"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// failureTable counts the connections of a loop that have failed, by listener, backend, server and reason. Only the
// loop adds; any goroutine reads. What has not failed costs nothing. The zero value is empty.
//
// It has room for [maxFailures] kinds: a kind that has not occurred for [failureMemory] makes room for a new one. If
// there is none, a failure is counted without its backend and server.
type failureTable struct {
	kinds map[failureKind]*failureCount
	read  atomic.Pointer[[]*failureCount] // all of kinds, for readers; a new slice after each change
}

const (
	maxFailures   = 256
	failureMemory = int64(10 * 60 * 1e9) // ns
)

// failureKind identifies failures. It has names, not objects, which a plan may remove.
type failureKind struct {
	listener, backend, server string
	why                       closeReason
	code                      [2]byte
	cause                     tlscause.Cause
}

// failureCount is how often a kind has occurred.
type failureCount struct {
	kind failureKind
	n    atomic.Uint64
	last int64 // the loop's time when it occurred last
}

// add counts a failure.
func (t *failureTable) add(k failureKind, now int64) {
	c := t.kinds[k]
	if c == nil {
		if len(t.kinds) >= maxFailures && !t.makeRoom(now) {
			k.backend, k.server = "", ""
			c = t.kinds[k]
		}
		if c == nil && len(t.kinds) >= maxFailures+int(closeReasonCount) {
			return // so many listeners fail at the same time that the counters of each have to do
		}
		if c == nil {
			c = t.insert(k)
		}
	}
	c.last = now
	c.n.Add(1)
}

func (t *failureTable) insert(k failureKind) *failureCount {
	c := &failureCount{kind: k}
	if t.kinds == nil {
		t.kinds = map[failureKind]*failureCount{}
	}
	t.kinds[k] = c
	t.publish()
	return c
}

// makeRoom forgets kinds that have not occurred for a while, and reports whether there were some.
func (t *failureTable) makeRoom(now int64) bool {
	before := len(t.kinds)
	for k, c := range t.kinds {
		if now-c.last >= failureMemory {
			delete(t.kinds, k)
		}
	}
	if len(t.kinds) == before {
		return false
	}
	t.publish()
	return len(t.kinds) < maxFailures
}

func (t *failureTable) publish() {
	all := make([]*failureCount, 0, len(t.kinds))
	for _, c := range t.kinds {
		all = append(all, c)
	}
	t.read.Store(&all)
}

// readFailures returns what has failed on all loops, in no order.
func (p *Proxy) readFailures() (all []stats.Failure) {
	index := map[failureKind]int{}
	for _, w := range p.workers {
		counts := w.failures.read.Load()
		if counts == nil {
			continue
		}
		for _, c := range *counts {
			i, ok := index[c.kind]
			if !ok {
				i = len(all)
				index[c.kind] = i
				all = append(all, c.kind.describe())
			}
			all[i].Count += c.n.Load()
		}
	}
	return slices.Clip(all)
}

// readRejections appends what the listeners have rejected when it was accepted.
func readRejections(all []stats.Failure, listeners []stats.Listener) []stats.Failure {
	for i := range listeners {
		for _, c := range listeners[i].Rejected {
			if c.Count == 0 {
				continue
			}
			all = append(all, stats.Failure{
				Listener: listeners[i].Name, Reason: c.Reason, Phase: "accept", Code: "PR",
				Fault: stats.FaultOf(c.Reason, "accept"), Text: rejectionTextOf(c.Reason), Count: c.Count,
			})
		}
	}
	return all
}

func rejectionTextOf(reason string) string {
	for v, r := range rejectionReasons {
		if r == reason {
			return rejectionTexts[v]
		}
	}
	return ""
}

func (k failureKind) describe() stats.Failure {
	end := closeReasons[k.why]
	f := stats.Failure{
		Listener: k.listener, Backend: k.backend, Server: k.server, Reason: end.By, Phase: end.Phase,
		Code: string(k.code[:]), TLSCause: k.cause.String(), Fault: stats.FaultOf(end.By, end.Phase), Text: end.Why,
	}
	if f.Code == codeAwaitsServer {
		f.Fault, f.Text = stats.ServerFault, "the server has not answered in time"
	}
	return f
}

// countFailure counts the end of an association that has failed. It is called while its server is still known.
func (a *association) countFailure(end accesslog.End) {
	k := failureKind{listener: a.listener.name(), why: a.why, code: [2]byte{end.Code[0], end.Code[1]}}
	if a.backend != nil {
		k.backend = a.backend.upstream.Name
	}
	if a.server != nil {
		k.server = a.server.Name()
	}
	if a.why.isOfTLS() {
		k.cause = a.cause
	}
	a.worker().failures.add(k, a.loop().Now())
}

// isExpected reports whether nobody has to mend the cause of an end, unless the server was silent for too long.
func (e closeReason) isExpected() bool {
	switch e {
	case reasonNormal, reasonIdle, reasonHalfClosed, reasonLifetime, reasonDrain, reasonAdmin, reasonKilled, reasonMoved:
		return true
	}
	return false
}

// isOfTLS reports whether an end has a cause in TLS.
func (e closeReason) isOfTLS() bool {
	switch e {
	case reasonBadHello, reasonBadPreamble, reasonClientTLS, reasonClientTLSTimeout,
		reasonServerTLS, reasonServerTLSTimeout, reasonServerTLSClient,
		reasonClientCut, reasonServerCut, reasonClientTLSData, reasonServerTLSData:
		return true
	}
	return false
}
