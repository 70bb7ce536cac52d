package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/source/fetch"
)

// Source finds servers.
type Source interface {
	// Name describes the source for people: "dns NAME", "file PATH" or the URL.
	Name() string
	// Run looks for servers until ctx is done. It may be called once.
	Run(ctx context.Context, report Report)
	// Stats returns the counters of the source.
	Stats() Stats
}

// Report receives what a source has found, on the goroutine of [Source.Run].
//
// Servers have unique addresses, by which they are sorted, and unique names. The callee keeps them. A nil slice means
// that nothing is known, and the last report stays in force; an empty slice that is not nil means that there are no
// servers.
//
// err is what went wrong, or nil. With an error, servers are those still known: from the answers that succeeded, and
// from the last good ones for those that did not.
type Report func(servers []plan.Server, err error)

// maxServers limits the servers of a source.
const maxServers = 10000

// errTooMany reports a source beyond maxServers.
var errTooMany = errors.New("more than 10000 servers")

// Delays between two attempts of Kubernetes after failures.
const (
	minBackOff = time.Second
	maxBackOff = 30 * time.Second
)

// outcome is the result of an attempt.
type outcome struct {
	servers []plan.Server // as in Report
	err     error
	next    time.Duration // time to the next attempt, after an error at most; 0: back-off only
}

// poller makes the attempts of a source, and decides when to make the next one.
type poller struct {
	*stats
	fetch.Pace
	attempt  func(context.Context) outcome
	reporter reporter
}

// run makes attempts until ctx is done.
func (p *poller) run(ctx context.Context, report Report) {
	p.reporter.report = report
	for next := p.poll(ctx); fetch.Sleep(ctx, next); next = p.poll(ctx) {
	}
}

// poll makes an attempt, and reports what has changed. It returns the time until the next one.
func (p *poller) poll(ctx context.Context) (next time.Duration) {
	f := p.attempt(ctx)
	if ctx.Err() != nil {
		return 0 // cancelled, not failed
	}
	p.note(f)
	p.reporter.reportChange(f.servers, f.err)
	return p.Next(f.err, f.next)
}

// reporter passes on what differs from the last report.
type reporter struct {
	report  Report
	servers []plan.Server
	err     string
	began   bool
}

func (r *reporter) reportChange(servers []plan.Server, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if r.began && text == r.err && (servers == nil || slices.Equal(servers, r.servers)) {
		return
	}
	r.began, r.err = true, text
	if servers != nil {
		r.servers = servers
	}
	r.report(slices.Clone(servers), err)
}

// maxErrors limits the errors reported together.
const maxErrors = 10

// joined joins errors in the order of their texts, so that the same errors yield the same text.
func joined(errs []error) error {
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	if more := len(errs) - maxErrors; more > 0 {
		errs = append(errs[:maxErrors], fmt.Errorf("and %d more errors", more))
	}
	return errors.Join(errs...)
}

// unique sorts servers by address, and keeps one for each address: the one with the lowest priority, or else the
// largest weight. A repeated name is replaced by the address.
func unique(servers []plan.Server) []plan.Server {
	slices.SortFunc(servers, func(a, b plan.Server) int {
		return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.Weight, a.Weight),
			cmp.Compare(a.Name, b.Name))
	})
	servers = slices.CompactFunc(servers, func(a, b plan.Server) bool { return a.Address == b.Address })
	names := make(map[string]bool, len(servers))
	for i := range servers {
		s := &servers[i]
		if names[s.Name] {
			s.Name = s.Address.String()
		}
		names[s.Name] = true
	}
	return servers
}
