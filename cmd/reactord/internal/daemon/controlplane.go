package daemon

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/envoy"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/planner"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"go.uber.org/zap"
)

// controlPlane runs the client of the control plane, if the configuration has one. Its methods may be called from any
// goroutine.
type controlPlane struct {
	log               *zap.Logger
	identity          *envoy.Identity
	planner           *planner.Planner
	setReadyListeners func([]xds.ReadyListener)

	followers sync.WaitGroup
	following sync.Mutex // one change of the settings at a time; before mu

	mu       sync.Mutex
	wanted   config.XDS  // the settings of the file in force
	settings config.XDS  // of client
	client   *xds.Client // nil without a control plane
	closed   bool
}

// get returns the client, or nil.
func (c *controlPlane) get() *xds.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// first makes the client of the first configuration. It returns the first part of the control plane: that of the
// predecessor, or the last good one.
func (c *controlPlane) first(f *config.Config, handed []byte) *plan.Control {
	c.wanted, c.settings = f.XDS, f.XDS
	if !f.XDS.Enabled() {
		return nil
	}
	c.client = c.newClient(f.XDS)
	return c.client.Restore(handed)
}

// newClient returns a client that has not connected yet.
func (c *controlPlane) newClient(settings config.XDS) *xds.Client {
	return xds.New(xds.Config{
		Settings: xds.Settings(settings), Node: c.identity.Node, Servers: c.identity.Servers,
		Transport: c.identity.Transport,
		Apply:     func(ctx context.Context, part *plan.Control) error { return c.planner.Control(ctx, part) },
		Ready:     c.setReadyListeners, Log: c.log,
	})
}

// leftOut receives the items that the plan omits. The planner calls it.
func (c *controlPlane) leftOut(wrong []*plan.ControlError) {
	if client := c.get(); client != nil {
		client.LeftOut(wrong)
	}
}

// start connects, and returns when the control plane has answered, or after the time that it has for this.
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
	c.log.Info("waiting for the control plane")
	c.mu.Lock()
	unbounded := c.settings.InitialFetchTimeout == 0
	c.mu.Unlock()
	var late <-chan time.Time
	if unbounded && len(c.planner.Plan().Listeners) > 0 {
		late = time.After(controlPlaneWait)
	}
	select {
	case <-client.Settled():
		return nil
	case <-late:
		c.log.Warn("no answer from the control plane: serving the listeners of the file")
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// controlPlaneWait bounds how long a process with listeners in its file waits for those of the control plane before it
// is ready, if the settings have no bound.
const controlPlaneWait = 15 * time.Second

// committed applies the settings of a file that has taken effect. It does not block: the planner calls it.
func (c *controlPlane) committed(f *config.Config) {
	c.mu.Lock()
	same, client := reflect.DeepEqual(c.wanted, f.XDS), c.client
	c.wanted = f.XDS
	c.mu.Unlock()
	switch {
	case !same:
		c.followers.Go(c.replaceClient)
	case client != nil:
		client.Again()
	}
}

// replaceClient replaces the client if the settings of the file have changed.
func (c *controlPlane) replaceClient() {
	c.following.Lock()
	defer c.following.Unlock()
	c.mu.Lock()
	was, settings := c.client, c.wanted
	if c.closed || reflect.DeepEqual(c.settings, settings) {
		c.mu.Unlock()
		if was != nil { // the settings have changed back meanwhile
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
		next = c.newClient(settings)
		part = next.Restore(handed)
	}
	err := c.planner.Control(context.Background(), part)
	items, rest := plan.ControlErrors(err)
	if rest != nil || next == nil && err != nil {
		c.log.Error("xds: cannot apply new settings", zap.Error(errors.Join(err)))
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

// stats returns a reading of the client, and whether there is one.
func (c *controlPlane) stats() (x stats.ControlPlane, ok bool) {
	client := c.get()
	if client == nil {
		return x, false
	}
	return client.Status(), true
}

// handoverState returns the client's state for the successor, or nil.
func (c *controlPlane) handoverState() []byte {
	if client := c.get(); client != nil {
		return client.Handed()
	}
	return nil
}

// close ends the client. replaced reports whether a successor has taken over, and writes the last-good file.
func (c *controlPlane) close(replaced bool) {
	c.mu.Lock()
	client := c.client
	c.closed = true
	c.mu.Unlock()
	if client == nil {
		return
	}
	if replaced {
		client.Leave()
	}
	client.Close()
}

// wait waits until no client is being replaced. The planner is closed.
func (c *controlPlane) wait() { c.followers.Wait() }
