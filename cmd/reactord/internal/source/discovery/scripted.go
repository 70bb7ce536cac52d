package discovery

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/source/fetch"
)

// ErrUnanswered reports that a source gets no answer.
var ErrUnanswered error = noAnswer{}

// Scripted finds what it is told. It looks when a source of the same settings would, on a clock of its caller, and
// keeps what that would keep. Its methods are called on one thread.
type Scripted struct {
	poller  poller
	watches bool
	found   []plan.Server
	err     error
	ttl     time.Duration
}

// NewScripted returns a source of these settings that finds nothing yet. Records in DNS have the time to live ttl.
// Random parts of intervals come from random; nil: that of the process.
func NewScripted(f config.Finder, ttl time.Duration, random *rand.Rand, report Report) *Scripted {
	s := &Scripted{ttl: ttl}
	j := fetch.Jitter{Random: random}
	every := func(interval time.Duration, next func() time.Duration) {
		pace := fetch.Pace{Jitter: j, First: interval}
		s.poller = poller{stats: new(stats), Pace: pace, attempt: func(context.Context) outcome {
			out := outcome{err: s.err, next: next()}
			if out.err == nil {
				out.servers = unique(append([]plan.Server{}, s.found...))
			}
			return out
		}}
	}
	switch f := f.(type) {
	case *config.DNS:
		d := newDNS(*f, s)
		d.Jitter = j
		s.poller = *d.poller()
	case *config.FileDiscovery:
		every(FileInterval, func() time.Duration { return FileInterval })
	case *config.HTTPDiscovery:
		every(f.Interval, func() time.Duration { return j.Around(f.Interval) })
	default: // it watches
		s.watches = true
		every(minBackOff, func() time.Duration { return maxBackOff })
	}
	s.poller.reporter.report = report
	return s
}

// Watches reports whether the source learns of a change at once: [Scripted.Poll] is called then.
func (s *Scripted) Watches() bool { return s.watches }

// Set sets what the source finds from now on: servers, or an error. Records in DNS have addresses, and those of
// services also ports, weights and priorities; all else is as in the settings.
func (s *Scripted) Set(found []plan.Server, err error) { s.found, s.err = found, err }

// Poll looks, reports what has changed, and returns the time until the source looks again.
func (s *Scripted) Poll() time.Duration { return s.poller.poll(context.Background()) }

// ask answers as a DNS server.
func (s *Scripted) ask(_ context.Context, q question) (answer, error) {
	if s.err != nil {
		return answer{}, fmt.Errorf("%v: %w", q, s.err)
	}
	a := answer{ttl: s.ttl}
	for i := range s.found {
		at := s.found[i].Address.AddrPort()
		switch {
		case q.kind == dnsmessage.TypeSRV:
			a.services = append(a.services, service{
				target: at.Addr().String() + ".", port: at.Port(), weight: uint16(s.found[i].Weight),
				priority: uint16(s.found[i].Priority), addresses: []netip.Addr{at.Addr()},
			})
		case at.Addr().Is4() == (q.kind == dnsmessage.TypeA):
			a.addresses = append(a.addresses, at.Addr())
		}
	}
	if len(a.services)+len(a.addresses) == 0 {
		return answer{}, errEmpty
	}
	return a, nil
}
