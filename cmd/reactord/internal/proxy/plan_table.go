package proxy

import (
	"net/netip"
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/host/unixsocket"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/udp"
	"github.com/reactord/reactord/cmd/reactord/internal/sets"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
)

// table is a plan as the loops use it. It does not change, and all loops share it.
type table struct {
	plan         *plan.Plan
	listeners    []*sharedListener // in the order of the plan
	byKey        map[plan.ListenerKey]*sharedListener
	backends     map[string]*upstream.Backend
	tickets      *certs.Tickets
	sets         *sets.Directory
	prefixRates  *limit.Prefixes // of Limits.SourceRate, if that is a limit
	sourceCounts sourceCount     // of Limits.SourceConnections
}

// sharedListener is the part of a listener that the loops share. It lives as long as plans have its key, and until its
// last connection has ended.
type sharedListener struct {
	key       plan.ListenerKey
	address   netip.AddrPort    // that the sockets have
	path      string            // that a unix socket has
	file      *unixsocket.File  // of a unix socket that has one; see accept_files.go
	made      bool              // the file was made by this process
	access    unixsocket.Access // that the file has
	settings  atomic.Pointer[settings]
	stats     listenerStats
	admission limit.Admission
	rate      limit.Bucket
	bytes     sharedBytes
	loops     []*listener // by index of the worker; fixed
	given     int         // of its sockets, so many were given to the process
}

func (p *Proxy) newSharedListener(key plan.ListenerKey, address netip.AddrPort, path string) *sharedListener {
	s := &sharedListener{key: key, address: address, path: path}
	s.admission.Init(p.budget)
	return s
}

// settings are those of a listener in a plan. They are immutable: the next plan has other ones. A connection uses
// those that were in force when it was accepted.
type settings struct {
	*plan.Listener
	router       *router
	needsOpening bool            // a connection has to be opened before its backend is known
	termination  *tlsTermination // of the listener itself; routes may have others
	terminations tlsTerminations // where TLS ends: of the listener and of its routes
	reject       bool            // connections beyond the limits are reset
	udp          *udp.Settings   // of a listener of UDP
	rate         limit.Rate
	processRate  limit.Rate
	byteLimits   *byteLimits        // if bytes are limited
	prefixRates  [2]*limit.Prefixes // of the process and of the listener, if they have limits
	sourceCounts [2]sourceCount     // the same of open connections
	allow, deny  *addressSet        // nil if not written
	keepAlive    *config.KeepAlive  // with clients; nil: as with servers
	trusted      *addressSet        // of whom connections begin with a PROXY header; nil if none does
}

func newSettings(l *plan.Listener, next *table, before *settings) (*settings, error) {
	var known tlsTerminations
	if before != nil {
		known = before.terminations
	}
	ends := next.termination(l.Keys, &l.TLS, known)
	r, err := newRouter(l, next, ends, known)
	if err != nil {
		return nil, err
	}
	s := &settings{
		Listener:     l,
		router:       r,
		termination:  ends,
		terminations: newTerminations(ends, r.routes),
		reject:       l.OnLimit == config.RejectOnLimit,
		udp:          udpSettings(l, before),
		rate:         limit.NewRate(l.Rate),
		processRate:  limit.NewRate(next.plan.Limits.Rate),
		byteLimits:   newByteLimits(&l.Bandwidth),
		allow:        networks(l.Allow, next.sets),
		deny:         networks(l.Deny, next.sets),
		keepAlive:    clientKeepAlive(&l.Socket.KeepAlive),
		trusted:      networks(l.ProxyProtocol.Trusted, next.sets),
	}
	s.prefixRates[0] = next.prefixRates
	var prefixes *limit.Prefixes
	var counts sourceCount
	if before != nil {
		prefixes, counts = before.prefixRates[1], before.sourceCounts[1]
	}
	s.prefixRates[1] = prefixes.Renew(l.SourceRate)
	s.sourceCounts = [2]sourceCount{next.sourceCounts, counts.renew(l.SourceConnections)}
	s.needsOpening = s.expectsHeader() || s.hasPreamble() || s.termination != nil || len(l.Routes) != 0 ||
		len(r.fallback) == 0
	return s, nil
}

// allowed reports whether clients of an address may connect: they are in the networks that may, if there are any, and
// not in those that may not.
func (s *settings) allowed(ip netip.Addr) bool {
	return (s.allow == nil || s.allow.Contains(ip)) && (s.deny == nil || !s.deny.Contains(ip))
}

// admitted reports whether a socket of an address may be accepted: as allowed, unless a PROXY header is to tell the
// client's address. Then that one counts.
func (s *settings) admitted(ip netip.Addr) bool { return s.trusted != nil || s.allowed(ip) }
