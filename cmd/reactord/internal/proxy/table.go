package proxy

import (
	"net/netip"
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
)

// table is a plan as the loops use it. It does not change, and all loops share it.
type table struct {
	plan      *plan.Plan
	listeners []*sharedListener // in the order of the plan
	byKey     map[plan.ListenerKey]*sharedListener
	backends  map[string]*upstream.Backend
}

// sharedListener is what the loops share of a listener. It lives as long as plans have its key, and until its last
// connection has ended.
type sharedListener struct {
	key       plan.ListenerKey
	address   netip.AddrPort // that the sockets have
	settings  atomic.Pointer[settings]
	stats     listenerStats
	admission admission
	loops     []*listener // by index of the worker; fixed
}

// settings are what a plan says of a listener. They do not change: those of the next plan are others. A connection uses
// those that were in force when it was accepted.
type settings struct {
	*plan.Listener
	backend *upstream.Backend
	reject  bool // connections beyond the limits are reset
}

func newSettings(l *plan.Listener, b *upstream.Backend) *settings {
	return &settings{Listener: l, backend: b, reject: l.OnLimit == "reject"}
}
