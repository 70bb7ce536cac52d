package admin

import (
	"context"
	"errors"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/reactor"
)

// Daemon is what the API reads and controls. Its methods are called from any goroutine, concurrently. They return
// soon, or when ctx is done, and never make a loop wait. Errors that match [ErrNotFound], [ErrConflict] and
// [ErrUnsupported] are answered with 404, 409 and 501, and others with 422 where the request can be wrong. Their text
// is for people.
type Daemon interface {
	Status() Status
	// Reading returns one reading of all that the page shows.
	Reading() Reading
	History() stats.History
	Plan() Plan
	Config() []byte // as a configuration file
	Listeners() []stats.Listener
	Backends() []stats.Backend
	// Explain returns what would happen to a connection of a client now.
	Explain(ctx context.Context, q *ExplanationQuery) (stats.Explanation, error)
	Servers() []stats.Server
	Discovery() []stats.Source
	Sets() []stats.Set
	// SetEntries returns the entries that were added to a set. The error matches ErrNotFound if there is no such set,
	// here and below.
	SetEntries(set string) ([]SetEntry, error)
	AddSetEntry(ctx context.Context, set string, c SetAddition) (SetEntry, error)
	RemoveSetEntry(ctx context.Context, set, entry string) error
	// MatchSets returns the entries by which a value is in a set, or in any if that is "".
	MatchSets(set, value string) ([]SetMatch, error)
	XDS() (stats.ControlPlane, error) // ErrNotFound without a control plane
	Loops() []*reactor.Loop
	LoopStats() []stats.Loop // in the order of Loops
	// Events returns the remembered events after the one with the number.
	Events(after uint64) []Event

	// PauseBackend pauses a backend for a time. ResumeBackend ends the pause, if there is one.
	PauseBackend(ctx context.Context, backend string, length time.Duration) error
	ResumeBackend(ctx context.Context, backend string) error
	// SetServer overrides settings of a server, given by name or address. ResetServer ends the override.
	// by is who asks, for people, or "".
	SetServer(ctx context.Context, backend, server string, change ServerChange, by string) error
	ResetServer(ctx context.Context, backend, server string) error
	// AddServer adds a server to a backend. RemoveServer removes one, given by name or address.
	AddServer(ctx context.Context, backend string, s *NewServer, by string) error
	RemoveServer(ctx context.Context, backend, server, by string) error
	// DrainServers drains servers by a rule. UndrainServers ends that.
	DrainServers(ctx context.Context, d *DrainedServers, by string) error
	UndrainServers(ctx context.Context, d *DrainedServers) error
	// Overrides returns all that these methods have set.
	Overrides() Overrides
	// ClearOverrides ends overrides and drains of a backend, or all if that is "", and returns their number.
	ClearOverrides(ctx context.Context, backend string) (int, error)

	// Connections returns up to limit connections that match f, and the start of the next page, or "". after is "" or
	// such a start; for anything else, the error matches ErrNotFound. With tcp, it asks the kernel about each.
	Connections(
		ctx context.Context, f *Filter, after string, limit int, tcp bool,
	) (page []Connection, next string, err error)
	// Sources returns the sources of clients that take the most.
	Sources(ctx context.Context, q *SourceQuery) (stats.ClientSources, error)
	// CloseConnections closes connections that match f, and returns their number.
	CloseConnections(ctx context.Context, f *Filter) (int, error)
	// CloseConnection closes one connection.
	CloseConnection(ctx context.Context, id string) error

	// Reload reads the file again. An error of the plan joins one *config.Error for each mistake that has a place.
	Reload(ctx context.Context) (Reload, error)
	// Drain starts draining the process, and returns. With held, it only reports not ready, until another call.
	Drain(held bool) error
	// Undrain undoes a drain while connections are still accepted. Later, its error matches [ErrConflict].
	Undrain() error
	// ReopenAccessLog reopens the file of the access log, here and in the old processes of upgrades.
	ReopenAccessLog()
	// Upgrade starts the program again, and returns the id of the new process once it has taken over.
	Upgrade(ctx context.Context) (pid int, err error)
}

// Errors of a [Daemon].
var (
	ErrNotFound    = errors.New("not found")
	ErrConflict    = errors.New("not possible now")
	ErrUnsupported = errors.New("not supported")
)
