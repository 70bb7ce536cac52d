package daemon

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/daemon/upgrade"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"go.uber.org/zap"
)

// predecessors has the old processes of upgrades whose connections have not ended, the last one first. This process
// calls their admin API, each on its own channel. The methods may be called from any goroutine.
type predecessors struct {
	log   *zap.Logger
	loops int // of the last one; 0: unknown
	mu    sync.Mutex
	all   []*predecessor
}

// predecessor is an old process.
type predecessor struct {
	*upgrade.Predecessor
	client *admin.Client
}

// answerTimeout bounds the wait for an old process, which may be stopped.
const answerTimeout = 2 * time.Second

// adopt adds processes, and removes them when they end.
func (p *predecessors) adopt(found []*upgrade.Predecessor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range found {
		next := &predecessor{f, admin.NewPrivateClient(f.Dial)}
		p.all = append(p.all, next)
		go p.awaitEnd(next)
	}
}

// awaitEnd removes a process when it has ended.
func (p *predecessors) awaitEnd(old *predecessor) {
	<-old.Gone()
	old.client.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.all, old); i >= 0 { // else this process has left it
		p.all = slices.Delete(p.all, i, i+1)
		p.log.Info("old process ended", zap.Int("predecessor", old.PID))
	}
}

// alive returns the processes that are still running.
func (p *predecessors) alive() []*predecessor {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// list returns the processes for a successor.
func (p *predecessors) list() (all []*upgrade.Predecessor) {
	for _, old := range p.alive() {
		all = append(all, old.Predecessor)
	}
	return all
}

// leave leaves the processes to a successor.
func (p *predecessors) leave() {
	p.mu.Lock()
	all := p.all
	p.all = nil
	p.mu.Unlock()
	for _, old := range all {
		old.Close()
	}
}

// ask calls an endpoint of all processes at the same time, and returns their answers and errors in order.
func ask[In, Out any](ctx context.Context, all []*predecessor, e admin.Endpoint[In, Out], in In) ([]Out, []error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	answers, errs := make([]Out, len(all)), make([]error, len(all))
	var asking sync.WaitGroup
	for i, old := range all {
		asking.Go(func() {
			out, _, err := e.Call(ctx, old.client, in)
			if err != nil {
				err = fmt.Errorf("process %d: %w", old.PID, err)
			}
			answers[i], errs[i] = out, err
		})
	}
	asking.Wait()
	return answers, errs
}

// broadcast calls an endpoint of all processes, and logs errors.
func broadcast[In, Out any](p *predecessors, e admin.Endpoint[In, Out], in In) {
	_, errs := ask(context.Background(), p.alive(), e, in)
	for _, err := range errs {
		if err != nil {
			p.log.Warn("request to an old process failed", zap.String("request", e.Name), zap.Error(err))
		}
	}
}

// reopen reopens the access log of each process.
func (p *predecessors) reopen() { broadcast(p, admin.PostReopen, admin.None{}) }

// closeServer resets the old processes' connections to a server that is down, which they do not check. It does not
// block.
func (p *predecessors) closeServer(backend string, server serveraddr.Addr) {
	if len(p.alive()) > 0 {
		go broadcast(p, admin.CloseConnections, admin.CloseQuery{
			Filter: admin.Filter{Backend: backend, Server: server.String()},
		})
	}
}

// endGrace is the extra time for processes that reset their connections at the same time as this one.
const endGrace = 2 * time.Second

// end drains the processes, and returns when they have ended, or after a timeout. When ctx is done they reset their
// connections.
func (p *predecessors) end(ctx context.Context, timeout time.Duration) {
	all := p.alive()
	if len(all) == 0 {
		return
	}
	broadcast(p, admin.PostDrain, admin.DrainQuery{})
	limit := time.NewTimer(timeout + endGrace)
	defer limit.Stop()
	hurry := ctx.Done()
	for _, old := range all {
		for ended := false; !ended; {
			select {
			case <-old.Gone():
				ended = true
			case <-hurry:
				hurry = nil
				broadcast(p, admin.PostDrain, admin.DrainQuery{})
				limit.Reset(endGrace)
			case <-limit.C:
				p.log.Warn("old process is still running", zap.Int("predecessor", old.PID))
				return
			}
		}
	}
}

// statuses returns the status of each process, or the error of reading it.
func (p *predecessors) statuses() (found []admin.Predecessor) {
	all := p.alive()
	answers, errs := ask(context.Background(), all, admin.GetStatus, admin.None{})
	for i, old := range all {
		s := admin.Predecessor{PID: old.PID}
		if err := errs[i]; err != nil {
			s.Error = err.Error()
		} else {
			a := &answers[i]
			s.Version, s.Revision, s.Connections = a.Version, a.Revision, a.Connections
			if a.Drain != nil {
				s.Elapsed, s.Left = a.Drain.Elapsed, a.Drain.Left
			}
			if a.Handover != nil {
				s.Moved, s.Staying = a.Handover.Moved, a.Handover.Staying
			}
		}
		found = append(found, s)
	}
	return found
}

// stats returns a reading of the processes for the metrics.
func (p *predecessors) stats() (out stats.Predecessors) {
	out.Staying = proxy.StayReasons()
	for _, s := range p.statuses() {
		out.Processes++
		out.Connections += s.Connections
		out.Oldest = max(out.Oldest, s.Elapsed.Duration())
		for _, n := range s.Staying {
			for i := range out.Staying { // an older version may have others
				if out.Staying[i].Reason == n.Reason {
					out.Staying[i].Count += n.Count
				}
			}
		}
	}
	return out
}

// remoteID returns the id of a connection, or of a page, of an old process: the process's own id for it, and the pid.
func remoteID(id string, pid int) string { return id + "@" + strconv.Itoa(pid) }

// splitID splits a [remoteID]. The pid of this process is 0.
func splitID(id string) (_ string, pid int, err error) {
	own, process, remote := strings.Cut(id, "@")
	if remote {
		pid, err = strconv.Atoi(process)
	}
	return own, pid, err
}

// process returns the old process with an id.
func (p *predecessors) process(pid int) (*predecessor, error) {
	for _, old := range p.alive() {
		if old.PID == pid {
			return old, nil
		}
	}
	return nil, fmt.Errorf("%w: process %d: it has ended", admin.ErrNotFound, pid)
}

// errPage reports an invalid position for the next page of a list.
func errPage(after string) error {
	return fmt.Errorf("%w: page %q: after is the value next of the page before", admin.ErrNotFound, after)
}
