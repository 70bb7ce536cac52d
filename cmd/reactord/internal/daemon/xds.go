package daemon

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxymetrics"
	"github.com/reactord/reactord/cmd/reactord/internal/xds"
	"go.uber.org/zap"
)

// controlPlane is the client of the control plane, if the configuration has one. Its methods may be called from any
// goroutine.
type controlPlane struct {
	daemon *daemon

	following sync.Mutex // one change of the settings at a time; before mu

	mu       sync.Mutex
	wanted   config.XDS  // the settings of the file in force
	settings config.XDS  // that are followed
	client   *xds.Client // nil: there is no control plane
	closed   bool
}

// get is the client, or nil.
func (c *controlPlane) get() *xds.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// first makes the client of the first configuration, and returns the part of the plan that is in force from the
// beginning on: that of the process before this one, or the last good one.
func (c *controlPlane) first(f *config.Config, handed []byte) *plan.Control {
	c.wanted, c.settings = f.XDS, f.XDS
	if !f.XDS.Enabled() {
		return nil
	}
	c.client = c.make(f.XDS)
	return c.client.Restore(handed)
}

func (c *controlPlane) make(settings config.XDS) *xds.Client {
	d := c.daemon
	return xds.New(xds.Config{
		Settings: xds.Settings(settings), Node: d.identity.Node, Servers: d.identity.Servers,
		Transport: d.identity.Transport,
		Apply:     func(ctx context.Context, c *plan.Control) error { return d.planner.Control(ctx, c) },
		Ready:     d.envoyAdmin.SetReadyListeners, Log: d.log.Logger,
	})
}

// leftOut takes what the plan has no room for. The planner calls it.
func (c *controlPlane) leftOut(wrong []*plan.ControlError) {
	if client := c.get(); client != nil {
		client.LeftOut(wrong)
	}
}

// start connects, and returns when the control plane has said something, or has had the time for it.
func (c *controlPlane) start(ctx context.Context) error {
	client := c.get()
	if client == nil {
		return nil
	}
	client.Start()
	select {
	case <-client.Settled():
		return nil
	default:
	}
	c.daemon.log.Info("waiting for the control plane")
	c.mu.Lock()
	forever := c.settings.InitialFetchTimeout == 0
	c.mu.Unlock()
	var late <-chan time.Time
	if forever && len(c.daemon.planner.Plan().Listeners) > 0 {
		late = time.After(fileWaits)
	}
	select {
	case <-client.Settled():
		return nil
	case <-late:
		c.daemon.log.Warn("the control plane has not said anything; serving what the file has")
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fileWaits is how long listeners of the file wait for those of the control plane until the process is ready, if the
// settings have no bound.
const fileWaits = 15 * time.Second

// committed follows the settings of a file that has come into force. The planner calls it, and is not waited for.
func (c *controlPlane) committed(f *config.Config) {
	c.mu.Lock()
	same, client := reflect.DeepEqual(c.wanted, f.XDS), c.client
	c.wanted = f.XDS
	c.mu.Unlock()
	switch {
	case !same:
		c.daemon.background.Go(c.follow)
	case client != nil:
		client.Again()
	}
}

// follow has another client, with the settings of the file, take over from the one before.
func (c *controlPlane) follow() {
	c.following.Lock()
	defer c.following.Unlock()
	c.mu.Lock()
	was, settings := c.client, c.wanted
	if c.closed || reflect.DeepEqual(c.settings, settings) {
		c.mu.Unlock()
		if was != nil { // they have changed back meanwhile
			was.Again()
		}
		return
	}
	c.settings, c.client = settings, nil
	c.mu.Unlock()
	var handed []byte
	if was != nil {
		was.Close()
		handed = was.Handed()
	}
	var next *xds.Client
	var part *plan.Control
	if settings.Enabled() {
		next = c.make(settings)
		part = next.Restore(handed)
	}
	err := c.daemon.planner.Control(context.Background(), part)
	items, rest := plan.ControlErrors(err)
	if rest != nil || next == nil && err != nil {
		c.daemon.log.Error("xds: the plan does not follow new settings", zap.Error(errors.Join(err)))
	}
	if next == nil {
		return
	}
	if len(items) > 0 {
		next.LeftOut(items)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.client = next
	next.Start()
}

// stats is the counters of the client; false: there is none.
func (c *controlPlane) stats() (x proxymetrics.XDS, ok bool) {
	client := c.get()
	if client == nil {
		return x, false
	}
	s := client.Status()
	x = proxymetrics.XDS{
		Connected: s.Connected, Restored: s.Restored, Heard: s.Heard, Failed: s.ErrorAt, Reconnects: s.Reconnects,
		Changes: s.Changes,
	}
	for _, t := range s.Types {
		x.Types = append(x.Types, proxymetrics.XDSType(t))
	}
	return x, true
}

// XDS is what is known of the control plane.
func (d *adminDaemon) XDS() (admin.XDS, error) {
	client := d.xds.get()
	if client == nil {
		return admin.XDS{}, fmt.Errorf("%w: the configuration has no control plane: write xds.servers", admin.ErrNotFound)
	}
	s := client.Status()
	x := admin.XDS{
		Server: s.Server, Connected: s.Connected, Since: known(s.Since),
		LastError: s.LastError, LastFailure: known(s.ErrorAt),
		Node: s.Node, Cluster: s.Cluster, Zone: s.Zone, Heard: known(s.Heard), Restored: s.Restored,
		Reconnects: s.Reconnects, Pushes: s.Pushes, Changes: s.Changes,
	}
	for _, r := range client.Resources() {
		x.Resources = append(x.Resources, admin.XDSResource{
			Type: r.Type, Name: r.Name, Version: r.Version, State: r.State.String(), Since: r.Since.UTC(), Problem: r.Problem,
			InForce: r.InForce,
		})
	}
	return x, nil
}

// known is a time, or nil if there was none.
func known(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}

// handed is what the next process is handed over; nil: nothing.
func (c *controlPlane) handed() []byte {
	if client := c.get(); client != nil {
		return client.Handed()
	}
	return nil
}

// close ends the client: the plan stays as it is. left: another process has taken over, and writes the file.
func (c *controlPlane) close(left bool) {
	c.mu.Lock()
	client := c.client
	c.closed = true
	c.mu.Unlock()
	if client == nil {
		return
	}
	if left {
		client.Leave()
	}
	client.Close()
}
