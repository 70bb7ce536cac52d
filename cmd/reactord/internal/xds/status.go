package xds

import (
	"net/netip"
	"sort"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/xds/ads"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/stream"
	"go.uber.org/zap"
)

// ReadyListener is a listener that asks whether the process is ready.
type ReadyListener struct {
	Name    string
	Address netip.AddrPort
	Path    string
}

// Status is a reading of a client. Times are zero if there was none.
type Status struct {
	Server    string // the one that is connected, or was last
	Connected bool
	Since     time.Time // of Connected
	LastError string    // of the connection; "": there was none since it was connected last
	ErrorAt   time.Time
	Node      string
	Cluster   string
	Zone      string
	// Heard is when the control plane was heard of last, if only by a sign of life: the age of the configuration counts
	// from it. Before it has said what is in force, it was never heard of.
	Heard      time.Time
	Restored   bool   // what is in force is from the last good file, or from the process before this one
	Reconnects uint64 // attempts after the first
	Pushes     uint64 // responses, of all types
	Changes    uint64 // plans that they have made
	Types      []TypeStatus
}

// TypeStatus is a reading of one type of resources.
type TypeStatus struct {
	Type     string
	Version  string // that the control plane has said last for all of them; may be empty
	Accepted time.Time
	Refused  time.Time
	Pushes   uint64
	Refusals uint64         // of pushes
	States   map[string]int // resources, by state
}

// ResourceStatus is a reading of one resource.
type ResourceStatus struct {
	Type    string
	Name    string
	Version string
	State   State
	Since   time.Time
	Problem string // why it is not accepted, or what people should know although it is
	InForce bool   // some content of it is
}

// notes is what is remembered for a [Status].
type notes struct {
	versionsOf string // the server that has sent what is held; "": none, or it is not known
	began      time.Time
	state      stream.State
	since      time.Time
	connected  bool
	lastErr    error
	errAt      time.Time
	lastGood   time.Time // when the control plane was heard of last that has said what is in force
	stream     Stream    // nil: there is none
	restored   bool
	attempts   uint64
	pushes     uint64
	changes    uint64
	types      [kinds]TypeStatus
}

// report takes the state of the stream.
func (c *Client) report(s stream.State) {
	c.mu.Lock()
	n := &c.status
	n.state = s
	if s.Phase == stream.Connecting {
		n.attempts++
	}
	if is := s.Phase == stream.Connected; is != n.connected || n.since.IsZero() {
		n.connected, n.since = is, time.Now()
	}
	var news bool
	switch {
	case s.Phase == stream.Connected:
		n.lastErr = nil
	case s.Err != nil:
		news = n.lastErr == nil || n.lastErr.Error() != s.Err.Error()
		n.lastErr, n.errAt = s.Err, time.Now()
	}
	c.mu.Unlock()
	switch {
	case s.Phase == stream.Connected:
		c.log.Info("xds: connected", zap.String("server", s.Server))
	case news:
		c.log.Warn("xds: no stream; what is in force stays", zap.String("server", s.Server), zap.Error(s.Err),
			zap.Duration("wait", s.Wait))
	}
}

func (n *notes) pushed(u *ads.Update, now time.Time) {
	n.pushes++
	n.lastGood = now
	if k, ok := kindOf(u.Type); ok {
		n.types[k].Pushes++
		n.types[k].Version = u.Version
	}
}

// heardOf notes when a stream has heard of its server, if it has said something. It may be nil.
func (n *notes) heardOf(s Stream) {
	if s, ok := s.(interface{ Heard() time.Time }); ok && n.pushes > 0 && s.Heard().After(n.lastGood) {
		n.lastGood = s.Heard()
	}
}

func (n *notes) answered(u *ads.Update, good bool, now time.Time) {
	k, ok := kindOf(u.Type)
	switch t := &n.types[k]; {
	case !ok:
	case good:
		t.Accepted = now
	default:
		t.Refused = now
		t.Refusals++
	}
}

func (n *notes) applied(time.Time) {
	n.changes++
}

// Status is a reading of what the client knows.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &c.status
	n.heardOf(n.stream)
	s := Status{
		Server: n.state.Server, Connected: n.connected, Since: n.since,
		ErrorAt: n.errAt, Heard: n.lastGood, Restored: n.restored, Pushes: n.pushes, Changes: n.changes,
		Reconnects: max(n.attempts, 1) - 1,
	}
	if n.lastErr != nil {
		s.LastError = n.lastErr.Error()
	}
	id := c.cfg.Node
	s.Node, s.Cluster, s.Zone = id.GetId(), id.GetCluster(), id.GetLocality().GetZone()
	for k := range c.book.all {
		t := n.types[k]
		t.Type, t.States = kindNames[k], map[string]int{}
		for _, r := range c.book.all[k] {
			t.States[r.state.String()]++
		}
		s.Types = append(s.Types, t)
	}
	return s
}

// Resources is a reading of all resources, by type and name.
func (c *Client) Resources() (all []ResourceStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.book.each(func(r *resource) {
		one := ResourceStatus{
			Type: kindNames[r.kind], Name: r.name, Version: r.version, State: r.state, Since: r.since, Problem: r.problem,
			InForce: r.used != nil,
		}
		if one.Since.IsZero() { // it has come since the plan followed last
			one.State, one.Problem = r.judge()
			one.Since = now
		}
		all = append(all, one)
	})
	sort.Slice(all, func(i, j int) bool { // slices.SortFunc would be compiled for this type: 30 KB
		if all[i].Type != all[j].Type {
			return all[i].Type < all[j].Type
		}
		return all[i].Name < all[j].Name
	})
	return all
}
