package daemon

import (
	"context"
	"fmt"
	"sync"

	"github.com/reactord/reactord/cmd/reactord/internal/daemon/upgrade"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
)

// serviceManager tells the service manager about this process, feeds its watchdog, and has it keep sockets. What cannot
// be told is logged. Without a service manager, nothing happens.
type serviceManager struct {
	log    *zap.Logger
	stored []upgrade.Socket // that it keeps. Only the planner's goroutine uses it

	feeding sync.WaitGroup
	unwatch context.CancelFunc // ends the feeding; nil before it has begun
}

// ready tells that the process serves a plan.
func (m *serviceManager) ready(p *plan.Plan) {
	m.note(upgrade.Ready(fmt.Sprintf("serving: %d listeners, %d backends", len(p.Listeners), len(p.Backends))))
}

// reloading tells that a reload begins.
func (m *serviceManager) reloading() { m.note(upgrade.Reloading()) }

// draining tells that the process ends, and blocks until ctx is done.
func (m *serviceManager) draining(ctx context.Context) { m.note(upgrade.Draining(ctx)) }

// handOver tells that another process is the main one from now on, and stops feeding the watchdog.
func (m *serviceManager) handOver(pid int) {
	m.unwatch()
	m.note(upgrade.MainProcess(pid))
}

// feedWatchdog begins to feed the watchdog while all loops answer.
func (m *serviceManager) feedWatchdog(loops []*reactor.Loop) {
	ctx, cancel := context.WithCancel(context.Background())
	m.unwatch = cancel
	m.feeding.Go(func() { m.note(upgrade.Watch(ctx, loops, m.log)) })
}

// store has the service manager keep exactly these sockets, which it closes then.
func (m *serviceManager) store(sockets []upgrade.Socket) {
	m.note(upgrade.Store(m.stored, sockets))
	m.stored = sockets
	closeSockets(sockets)
}

// close stops feeding the watchdog.
func (m *serviceManager) close() {
	if m.unwatch != nil {
		m.unwatch()
	}
	m.feeding.Wait()
}

// note logs that the service manager could not be told something.
func (m *serviceManager) note(err error) {
	if err != nil {
		m.log.Warn("cannot notify the service manager", zap.Error(err))
	}
}
