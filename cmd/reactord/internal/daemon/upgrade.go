package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/daemon/upgrade"
	"github.com/reactord/reactord/cmd/reactord/internal/host/memory"
	"github.com/reactord/reactord/cmd/reactord/internal/loader"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"go.uber.org/zap"
)

// upgrade starts the program again, and returns the pid of the new process when that serves. Then this process drains.
// If the new process fails, this one serves as before.
func (d *daemon) upgrade(ctx context.Context) (pid int, err error) {
	defer func() {
		if err != nil {
			d.log.Error("upgrade failed: this process serves as before", zap.Error(err))
		}
	}()
	if d.configuration.loader.Path() == "-" {
		return 0, fmt.Errorf("%w: %w", admin.ErrConflict, loader.ErrStandardInput)
	}
	if p := d.lifecycle.phase(); p != serving && p != reloading {
		return 0, fmt.Errorf("%w: the process is %v", admin.ErrConflict, p)
	}
	sockets, err := d.allSockets()
	defer closeSockets(sockets)
	if err != nil {
		return 0, err
	}
	d.log.Info("upgrading", zap.Int("sockets", len(sockets)))
	s, err := d.inherited.program.Start(ctx, d.inherited.forSuccessor(sockets), d.predecessors.list(), d.record())
	if errors.Is(err, upgrade.ErrUpgrading) || errors.Is(err, upgrade.ErrUpgraded) {
		err = fmt.Errorf("%w: %w", admin.ErrConflict, err)
	}
	if err != nil {
		return 0, err
	}
	d.handOver(s)
	return s.PID, nil
}

// sockets returns copies of the listening sockets of the proxy. The caller closes them.
func (d *daemon) sockets() (all []upgrade.Socket, err error) {
	listening, err := d.proxy.ListenSockets()
	if err != nil {
		return nil, err
	}
	for _, s := range listening {
		all = append(all, upgrade.Socket{Name: upgrade.ListenerName(s.Key), FD: s.FD})
	}
	return all, nil
}

// allSockets returns copies of all listening sockets. The caller closes them, also after an error.
func (d *daemon) allSockets() ([]upgrade.Socket, error) {
	all, err := d.sockets()
	if err != nil {
		return nil, err
	}
	more, err := d.endpoints.sockets(d.configuration.loader.Config())
	return append(all, more...), err
}

// successor is the process that has taken over.
type successor struct {
	*upgrade.Successor
	requests net.Listener // for its requests; nil if that failed
}

// handOver ends the upgrade: a successor accepts connections, and this process retires.
func (d *daemon) handOver(s *upgrade.Successor) {
	d.lifecycle.manager.handOver(s.PID)
	d.connectionsMove()
	requests, err := s.Confirm(d.proxy.HandOver)
	if err != nil {
		d.log.Warn("the new process cannot show the connections of this one", zap.Error(err))
	}
	d.log.Info("upgraded: the new process accepts connections", zap.Int("successor", s.PID))
	if d.lifecycle.phase() > reloading { // a drain was requested meanwhile, which is for the successor, too
		s.Terminate()
	}
	d.successors <- successor{s, requests}
}

// takeOver reports to the predecessor and the service manager that this process serves.
func (d *daemon) takeOver() {
	p := d.planner.Plan()
	d.inherited.discard(p)
	d.inherited.given.Ready(p.Upgrade.Timeout)
	all := d.inherited.given.Predecessors()
	d.predecessors.adopt(all)
	d.lifecycle.manager.feedWatchdog(d.proxy.Loops())
	if p.Upgrade.MoveConnections {
		if len(all) != 0 {
			d.connectionsMove()
		}
		for _, old := range all {
			d.takeConnections(old)
		}
	}
	d.proxy.TakesAll()
}

// movingTime is about as long as many connections take to move.
const movingTime = 10 * time.Second

// connectionsMove postpones the garbage collector, because a connection that moves stands still while it has the CPU.
func (d *daemon) connectionsMove() {
	memory.PostponeCollector(int64(d.planner.Plan().Limits.Memory), movingTime)
}

// takeConnections takes the connections of an old process. A version that does not hand them over keeps them.
func (d *daemon) takeConnections(old *upgrade.Predecessor) {
	for i := range d.proxy.Channels(d.predecessors.loops) {
		fd, err := old.DialConnections(i, len(d.proxy.Loops()))
		if err != nil {
			d.log.Warn("the old process keeps its connections", zap.Int("predecessor", old.PID), zap.Error(err))
			return
		}
		d.proxy.TakeOver(fd, i)
	}
}
