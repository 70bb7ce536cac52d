package plan

import (
	"context"
	"errors"
	"net"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Control is the part of a control plane: listeners and backends beside those of the file. A name or an address that
// the file has belongs to the file. What it refers to is not changed any more.
type Control struct {
	Listeners []config.Listener // with every setting; they refer to Backends of the same Control only
	Backends  []config.Backend  // likewise, without Servers, Files and HTTP; DNS finds further servers
	// Servers are the servers of Backends, by name.
	Servers map[string][]Server
	// RouteKeys is what the TLS settings of a listener's routes hold, by the name of the listener and the index of the
	// route. nil: TLS does not end here for this route.
	RouteKeys map[string][]*certs.Server
	// Keys is what the TLS settings of Backends hold, by name.
	Keys map[string]*certs.Client
	// Origin is who says it, for people: "xds SERVER".
	Origin string
}

// ControlError is what is wrong with one item of a [Control]: a listener or a backend.
type ControlError struct {
	Listener string // its name, or ""
	Backend  string // its name, or ""
	Err      error
}

// Error says what is wrong with which item.
func (e *ControlError) Error() string {
	if e.Listener != "" {
		return "listener " + e.Listener + ": " + e.Err.Error()
	}
	return "backend " + e.Backend + ": " + e.Err.Error()
}

// Unwrap is the reason.
func (e *ControlError) Unwrap() error { return e.Err }

// Control replaces the part of the control plane. It returns when that is in force, or why it is not: then the part
// before stays. What concerns one listener or backend is a [ControlError], joined with others, so that the caller can
// leave that item out and try again. nil removes the part. When ctx is done it returns earlier; the change continues.
func (p *Planner) Control(ctx context.Context, c *Control) error {
	done := make(chan error, 1)
	if !p.tell(func() { p.controls = append(p.controls, controlling{c, done}) }) {
		return net.ErrClosed
	}
	return p.await(ctx, done)
}

// controlling is a part of the control plane on its way.
type controlling struct {
	control *Control
	done    chan error
}

var errControl = errors.New("not yet")
