package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/source/fetch"
	"golang.org/x/net/dns/dnsmessage"
)

// parallelQuestions limits how many targets of SRV records are looked up at a time.
const parallelQuestions = 8

// shortest is the shortest time between two lookups, whatever the settings.
const shortest = 10 * time.Millisecond

// DNS discovers the addresses of a name, or the targets of its SRV records, whose priority and weight become the
// server's. Weights above 1000 are scaled down within their priority, and 0, which means a very small chance, becomes
// 1.
type DNS struct {
	stats
	fetch.Jitter
	cfg      config.DNS
	resolver asker
	origin   string
	lastGood map[question]answer // last good answers; used by lookup only
}

// asker answers questions. That a name or a record does not exist is errNoName or errEmpty. Its method may be called
// from any goroutine.
type asker interface {
	ask(ctx context.Context, q question) (answer, error)
}

// NewDNS returns the source for a name.
func NewDNS(cfg config.DNS, resolver config.Resolver) *DNS { return newDNS(cfg, newResolver(resolver)) }

func newDNS(cfg config.DNS, resolver asker) *DNS {
	return &DNS{
		cfg: cfg, resolver: resolver, lastGood: map[question]answer{},
		origin: "dns " + strings.TrimSuffix(cfg.Name, "."),
	}
}

// Name returns "dns NAME".
func (d *DNS) Name() string { return d.origin }

// Run looks up the name, and again when its TTL expires.
func (d *DNS) Run(ctx context.Context, report Report) { d.poller().run(ctx, report) }

func (d *DNS) poller() *poller {
	pace := fetch.Pace{Jitter: d.Jitter, First: max(d.cfg.MinInterval, shortest)}
	return &poller{stats: &d.stats, Pace: pace, attempt: d.lookup}
}

// lookup asks all questions of a round.
func (d *DNS) lookup(ctx context.Context) outcome {
	r := round{source: d, answered: map[question]answer{}, ttl: maxTTL}
	var servers []plan.Server
	name := strings.ToLower(strings.TrimSuffix(d.cfg.Name, ".")) + "."
	if d.cfg.Type == config.DNSSRV {
		servers = r.services(ctx, name)
	} else {
		for _, ip := range r.addresses(ctx, name, d.cfg.Type) {
			a := serveraddr.IP(netip.AddrPortFrom(ip, uint16(d.cfg.Port)))
			servers = append(servers, plan.Server{
				Name: a.String(), Address: a, Weight: d.cfg.Weight, Priority: d.cfg.Priority, Locality: d.cfg.Locality,
				Origin: d.origin,
			})
		}
	}
	if ctx.Err() != nil {
		return outcome{err: ctx.Err()}
	}
	d.lastGood = r.answered // forgets what is no longer asked
	f := outcome{servers: unique(servers), err: joined(r.errs), next: d.interval(r.ttl)}
	if len(servers) > maxServers {
		f.servers, f.err = nil, fmt.Errorf("%s: %w", d.origin, errTooMany)
	}
	return f
}

// interval returns the time until the next lookup, slightly more than the TTL: before its end, a caching server would
// give the same answer.
func (d *DNS) interval(ttl time.Duration) time.Duration {
	longest := max(d.cfg.MaxInterval, shortest)
	t := max(ttl, d.cfg.MinInterval, shortest)
	if t += d.UpTo(t); t > longest {
		return longest - d.UpTo(longest)
	}
	return t
}

// round is a lookup: its questions and their answers.
type round struct {
	source *DNS

	mu       sync.Mutex
	answered map[question]answer // in this round, or last known
	errs     []error
	ttl      time.Duration // shortest of all answers
}

// ask returns the answer to a question. On failure it records the error and returns the last good answer, or an empty
// one. A missing record, returned as none, is not a failure: another question for the same name may have an answer.
func (r *round) ask(ctx context.Context, q question) (a answer, none error) {
	a, err := r.source.resolver.ask(ctx, q)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.ttl = min(r.ttl, a.ttl)
		r.answered[q] = a
		return a, nil
	case errors.Is(err, errEmpty), errors.Is(err, errNoName):
		return answer{}, err
	}
	return r.failed(q, err), nil
}

// failed records an error, and returns the last good answer. The caller holds the lock.
func (r *round) failed(q question, err error) answer {
	r.errs = append(r.errs, err)
	known, ok := r.source.lastGood[q]
	if ok {
		r.answered[q] = known
	}
	return known
}

// preferred keeps the first family with addresses, if one is preferred.
func preferred(kind config.DNSType, answers []answer) []answer {
	switch kind {
	case config.DNSAAAAOrA:
		slices.Reverse(answers)
	case config.DNSAOrAAAA:
	default:
		return answers
	}
	if len(answers[0].addresses) > 0 {
		return answers[:1]
	}
	return answers
}

// addresses returns the addresses of a name: of type "A", "AAAA", one of both, or else both.
func (r *round) addresses(ctx context.Context, name string, kind config.DNSType) []netip.Addr {
	questions := []question{{name, dnsmessage.TypeA}, {name, dnsmessage.TypeAAAA}}
	switch kind {
	case config.DNSA:
		questions = questions[:1]
	case config.DNSAAAA:
		questions = questions[1:]
	}
	answers, none := make([]answer, len(questions)), make([]error, len(questions))
	var asking sync.WaitGroup
	for i, q := range questions {
		asking.Go(func() { answers[i], none[i] = r.ask(ctx, q) })
	}
	asking.Wait()
	var out []netip.Addr
	for _, a := range preferred(kind, answers) {
		out = append(out, a.addresses...)
	}
	if len(out) != 0 {
		return out // one family of addresses is enough
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	for i, q := range questions {
		if none[i] != nil {
			err = cmp.Or(err, none[i])
			if known, ok := r.source.lastGood[q]; ok {
				r.answered[q] = known
				out = append(out, known.addresses...)
			}
		}
	}
	if err != nil {
		r.errs = append(r.errs, err)
	}
	return out
}

// services returns the servers of a name's SRV records.
func (r *round) services(ctx context.Context, name string) []plan.Server {
	q := question{name, dnsmessage.TypeSRV}
	a, none := r.ask(ctx, q)
	if none != nil {
		r.mu.Lock()
		a = r.failed(q, none)
		r.mu.Unlock()
	}
	targets := r.targets(ctx, a.services)
	heaviest := map[uint16]int{} // largest weight of each priority
	for _, s := range a.services {
		heaviest[s.priority] = max(heaviest[s.priority], int(s.weight))
	}
	var servers []plan.Server
	for i, s := range a.services {
		for _, ip := range targets[i] {
			at := serveraddr.IP(netip.AddrPortFrom(ip, s.port))
			server := plan.Server{
				Name: at.String(), Address: at, Weight: weight(int(s.weight), heaviest[s.priority]),
				Priority: int(s.priority) + r.source.cfg.Priority, Locality: r.source.cfg.Locality,
				Origin: r.source.origin,
			}
			if len(targets[i]) == 1 {
				server.Name = net.JoinHostPort(strings.TrimSuffix(s.target, "."), strconv.Itoa(int(s.port)))
			}
			servers = append(servers, server)
		}
	}
	return servers
}

// weight converts the weight of an SRV record to that of a server.
func weight(w, heaviest int) int {
	if heaviest > maxWeight {
		w = w * maxWeight / heaviest
	}
	return max(w, 1)
}

// maxWeight is the largest weight of a server.
const maxWeight = 1000

// targets returns the addresses of each service's target: those that came with the answer, or else looked up, once
// for each name.
func (r *round) targets(ctx context.Context, services []service) [][]netip.Addr {
	found := map[string]*[]netip.Addr{}
	room := make(chan struct{}, parallelQuestions)
	var asking sync.WaitGroup
	for _, s := range services {
		if len(s.addresses) != 0 || found[s.target] != nil {
			continue
		}
		into := new([]netip.Addr)
		found[s.target] = into
		room <- struct{}{}
		asking.Go(func() {
			defer func() { <-room }()
			*into = r.addresses(ctx, s.target, "ip")
		})
	}
	asking.Wait()
	out := make([][]netip.Addr, len(services))
	for i, s := range services {
		if out[i] = s.addresses; len(out[i]) == 0 {
			out[i] = *found[s.target]
		}
	}
	return out
}
