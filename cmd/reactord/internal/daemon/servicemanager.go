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

// serviceManager notifies the service manager, feeds its watchdog, and stores sockets in it. Errors are logged. Without
// a service manager, nothing happens.
type serviceManager struct {
	log    *zap.Logger
	stored []upgrade.Socket // in the service manager; used by the planner's goroutine only

	feeding sync.WaitGroup
	unwatch context.CancelFunc // stops feeding; nil before it has begun
}

// ready notifies that the process serves a plan.
func (m *serviceManager) ready(p *plan.Plan) {
	m.note(upgrade.Ready(fmt.Sprintf("serving: %d listeners, %d backends", len(p.Listeners), len(p.Backends))))
}

// reloading notifies that a reload begins.
func (m *serviceManager) reloading() { m.note(upgrade.Reloading()) }

// draining notifies that the process ends, and blocks until ctx is done.
func (m *serviceManager) draining(ctx context.Context) { m.note(upgrade.Draining(ctx)) }

// handOver notifies that another process is now the main one, and stops feeding the watchdog.
func (m *serviceManager) handOver(pid int) {
	m.unwatch()
	m.note(upgrade.MainProcess(pid))
}

// feedWatchdog starts to feed the watchdog as long as all loops answer.
func (m *serviceManager) feedWatchdog(loops []*reactor.Loop) {
	ctx, cancel := context.WithCancel(context.Background())
	m.unwatch = cancel
	m.feeding.Go(func() { m.note(upgrade.Watch(ctx, loops, m.log)) })
}

// store stores exactly these sockets in the service manager, and closes them.
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

// note logs an error of a notification.
func (m *serviceManager) note(err error) {
	if err != nil {
		m.log.Warn("cannot notify the service manager", zap.Error(err))
	}
}
