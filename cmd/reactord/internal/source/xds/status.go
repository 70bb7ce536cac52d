package xds

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/ads"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/stream"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"go.uber.org/zap"
)

// ReadyListener is a listener by which a platform probes whether the process is ready.
type ReadyListener struct {
	Name    string
	Address netip.AddrPort
	Path    string
}

// notes records the history for status readings.
type notes struct {
	versionsOf string // server that sent what is held, or "" if unknown
	began      time.Time
	state      stream.State
	since      time.Time
	connected  bool
	lastErr    error
	errAt      time.Time
	lastGood   time.Time // last contact with the control plane whose configuration is in force
	stream     Stream    // nil without a stream
	restored   bool
	attempts   uint64
	pushes     uint64
	changes    uint64
	types      [kinds]stats.ResourceType
}

// report handles a state of the stream.
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
		c.log.Warn("xds: no connection, current configuration stays in force", zap.String("server", s.Server),
			zap.Error(s.Err), zap.Duration("wait", s.Wait))
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

// heardOf records when a stream last heard from its server, once that has sent something. s may be nil.
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

func (n *notes) applied() {
	n.changes++
}

// Status reads the state of the client. See [Client.Resources] for resources.
func (c *Client) Status() stats.ControlPlane {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := &c.status
	n.heardOf(n.stream)
	s := stats.ControlPlane{
		Server: n.state.Server, Connected: n.connected, Since: n.since.UTC(),
		LastFailure: n.errAt.UTC(), Heard: n.lastGood.UTC(), Restored: n.restored, Pushes: n.pushes, Changes: n.changes,
		Reconnects: max(n.attempts, 1) - 1,
	}
	if n.lastErr != nil {
		s.LastError = n.lastErr.Error()
	}
	id := c.cfg.Node
	s.Node, s.Cluster, s.Zone = id.GetId(), id.GetCluster(), id.GetLocality().GetZone()
	for k := range c.resources.all {
		t := n.types[k]
		t.Type, t.States = kindNames[k], map[string]int{}
		for _, r := range c.resources.all[k] {
			t.States[r.state.String()]++
		}
		s.Types = append(s.Types, t)
	}
	return s
}

// Resources reads all resources, by type and name.
func (c *Client) Resources() (all []stats.Resource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now().UTC()
	c.resources.each(func(r *resource) {
		one := stats.Resource{
			Type: kindNames[r.kind], Name: r.name, Version: r.version, State: r.state.String(), Since: r.since.UTC(),
			Problem: r.problem, InForce: r.used != nil,
		}
		if one.Since.IsZero() { // received since the last plan
			state, problem := r.judge()
			one.State, one.Problem, one.Since = state.String(), problem, now
		}
		all = append(all, one)
	})
	slices.SortFunc(all, func(a, b stats.Resource) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	return all
}
