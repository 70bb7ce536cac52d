package admin

import (
	"context"
	"errors"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/reactor"
)

// Daemon is what the API asks and tells. Its methods are called from any goroutine, several at a time. They return
// soon, or when ctx is done; no method makes a loop wait. Errors that match [ErrNotFound], [ErrConflict] and
// [ErrUnsupported] are answered with 404, 409 and 501, other errors with 422 where the request can be wrong, and their
// text is for people.
type Daemon interface {
	Status() Status
	Plan() Plan
	Config() []byte // the same as a configuration file
	Listeners() []stats.Listener
	Backends() []stats.Backend
	Servers() []stats.Server
	Discovery() []Source
	XDS() (stats.ControlPlane, error) // the error matches ErrNotFound if there is no control plane
	Loops() []*reactor.Loop
	LoopConnections() []int // open ones, of each loop
	// Events is what has happened since the event with the number, as far as it is remembered.
	Events(after uint64) []Event

	// SetServer overrides settings of a server: its name, or its address. ResetServer ends the override.
	SetServer(ctx context.Context, backend, server string, change ServerChange) error
	ResetServer(ctx context.Context, backend, server string) error

	// Connections is up to limit connections that match f, and where the next page begins: "" if there is none. after
	// is "" or what a call has returned as next; if it is anything else, the error matches ErrNotFound.
	Connections(ctx context.Context, f *Filter, after string, limit int) (page []Connection, next string, err error)
	// CloseConnections closes connections that match f, and returns how many.
	CloseConnections(ctx context.Context, f *Filter) (int, error)
	// CloseConnection closes one.
	CloseConnection(ctx context.Context, id string) error

	// Reload reads the file again. An error of the plan joins one *config.Error for each thing that is wrong, where it
	// has a place.
	Reload(ctx context.Context) (Reload, error)
	// Drain begins to drain the process, and returns. If held is set, the process is not ready any more, and nothing
	// else, until another call.
	Drain(held bool) error
	// Undrain undoes that while connections are accepted. Its error matches [ErrConflict] when they are not.
	Undrain() error
	// ReopenAccessLog opens the file of the access log anew, and has the old processes of upgrades do so.
	ReopenAccessLog()
	// Upgrade starts the program anew, and returns when the new process has taken over: its id.
	Upgrade(ctx context.Context) (pid int, err error)
}

// The errors of a [Daemon].
var (
	ErrNotFound    = errors.New("not found")
	ErrConflict    = errors.New("not possible now")
	ErrUnsupported = errors.New("not supported")
)
