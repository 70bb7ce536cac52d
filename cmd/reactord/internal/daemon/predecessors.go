package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/proxymetrics"
	"github.com/reactord/reactord/cmd/reactord/internal/upgrade"
	"go.uber.org/zap"
)

// predecessors is the old processes of upgrades whose connections have not ended, the last one first. This process asks
// them by the admin API, each on a channel of its own. The methods may be called from any goroutine.
type predecessors struct {
	log *zap.Logger
	mu  sync.Mutex
	all []*predecessor
}

// predecessor is an old process.
type predecessor struct {
	*upgrade.Predecessor
	client *admin.Client
}

// askTime bounds how long an old process may take to answer: it may be stopped.
const askTime = 2 * time.Second

// adopt begins to follow processes.
func (p *predecessors) adopt(found []*upgrade.Predecessor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range found {
		next := &predecessor{f, admin.NewPrivateClient(f.Dial)}
		p.all = append(p.all, next)
		go p.follow(next)
	}
}

// follow forgets a process when it has ended.
func (p *predecessors) follow(old *predecessor) {
	<-old.Gone()
	old.client.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.all, old); i >= 0 { // else this process has left it
		p.all = slices.Delete(p.all, i, i+1)
		p.log.Info("an old process has ended", zap.Int("predecessor", old.PID))
	}
}

// now returns the processes that have not ended.
func (p *predecessors) now() []*predecessor {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// list returns them for a successor.
func (p *predecessors) list() (all []*upgrade.Predecessor) {
	for _, old := range p.now() {
		all = append(all, old.Predecessor)
	}
	return all
}

// leave leaves them to a successor.
func (p *predecessors) leave() {
	p.mu.Lock()
	all := p.all
	p.all = nil
	p.mu.Unlock()
	for _, old := range all {
		old.Close()
	}
}

// ask asks all processes at a time, and returns their answers and errors in order.
func ask[In, Out any](ctx context.Context, all []*predecessor, e admin.Endpoint[In, Out], in In) ([]Out, []error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
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

// tell asks all processes, and logs who does not answer.
func tell[In, Out any](p *predecessors, e admin.Endpoint[In, Out], in In) {
	_, errs := ask(context.Background(), p.now(), e, in)
	for _, err := range errs {
		if err != nil {
			p.log.Warn("an old process does not do what it is told", zap.String("request", e.Name), zap.Error(err))
		}
	}
}

// reopen has them open the access log anew.
func (p *predecessors) reopen() { tell(p, admin.PostReopen, admin.None{}) }

// closeServer has them reset the connections to a server that is down: they do not check it. It does not block.
func (p *predecessors) closeServer(backend string, server netip.AddrPort) {
	if len(p.now()) > 0 {
		go tell(p, admin.CloseConnections, admin.CloseQuery{
			Filter: admin.Filter{Backend: backend, Server: server.String()},
		})
	}
}

// endGrace is for processes that reset their connections at the same time as this one.
const endGrace = 2 * time.Second

// end has them drain, and returns when they have ended, or after a timeout. When ctx is done they reset their
// connections.
func (p *predecessors) end(ctx context.Context, timeout time.Duration) {
	all := p.now()
	if len(all) == 0 {
		return
	}
	tell(p, admin.PostDrain, admin.DrainQuery{})
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
				tell(p, admin.PostDrain, admin.DrainQuery{})
				limit.Reset(endGrace)
			case <-limit.C:
				p.log.Warn("an old process has not ended", zap.Int("predecessor", old.PID))
				return
			}
		}
	}
}

// statuses returns how they are.
func (p *predecessors) statuses() (found []admin.Predecessor) {
	all := p.now()
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
		}
		found = append(found, s)
	}
	return found
}

// stats is a reading of them for the metrics.
func (p *predecessors) stats() (n, connections int, oldest time.Duration) {
	for _, s := range p.statuses() {
		n++
		connections += s.Connections
		oldest = max(oldest, s.Elapsed.Duration())
	}
	return n, connections, oldest
}

// remoteID is the id of a connection, or of a page, of an old process: what the process calls it, and the process.
func remoteID(id string, pid int) string { return id + "@" + strconv.Itoa(pid) }

// local splits a [remoteID]; pid 0: it is one of this process.
func local(id string) (_ string, pid int, err error) {
	own, process, remote := strings.Cut(id, "@")
	if remote {
		pid, err = strconv.Atoi(process)
	}
	return own, pid, err
}

// process returns the old process of an id.
func (p *predecessors) process(pid int) (*predecessor, error) {
	for _, old := range p.now() {
		if old.PID == pid {
			return old, nil
		}
	}
	return nil, fmt.Errorf("%w: process %d: it has ended", admin.ErrNotFound, pid)
}

// errPage is the error of a place to continue a list that is none.
func errPage(after string) error {
	return fmt.Errorf("%w: page %q: after is the value next of the page before", admin.ErrNotFound, after)
}

// Connections is a page of connections: the newest of this process first, then those of the process before it, and so
// on.
func (d *adminDaemon) Connections(
	ctx context.Context, f *admin.Filter, after string, limit int,
) (page []admin.Connection, next string, err error) {
	after, pid, err := local(after)
	if err != nil {
		return nil, "", errPage(after)
	}
	all := d.older.now()
	if pid == 0 {
		if f.PID == 0 || f.PID == os.Getpid() {
			if page, next, err = d.ownConnections(ctx, f, after, limit); err != nil || next != "" {
				return page, next, err
			}
		}
		after = ""
	} else {
		from := slices.IndexFunc(all, func(old *predecessor) bool { return old.PID == pid })
		if from < 0 {
			return nil, "", fmt.Errorf("%w: process %d has ended meanwhile: begin with the first page", admin.ErrNotFound, pid)
		}
		all = all[from:]
	}
	for _, old := range all {
		if f.PID != 0 && f.PID != old.PID {
			continue
		}
		q := admin.ConnectionQuery{Filter: *f, Limit: limit - len(page), After: after}
		q.PID, after = 0, ""
		answers, errs := ask(ctx, []*predecessor{old}, admin.ListConnections, q)
		if errs[0] != nil {
			if isGone(old) {
				continue
			}
			return nil, "", errs[0]
		}
		for _, c := range answers[0].Connections {
			c.ID = remoteID(c.ID, old.PID)
			page = append(page, c)
		}
		if len(page) == limit {
			return page, page[limit-1].ID, nil
		}
	}
	return page, "", nil
}

func isGone(old *predecessor) bool {
	select {
	case <-old.Gone():
		return true
	default:
		return false
	}
}

// CloseConnections resets connections of this process and of old ones.
func (d *adminDaemon) CloseConnections(ctx context.Context, f *admin.Filter) (n int, err error) {
	if f.PID == 0 || f.PID == os.Getpid() {
		if n, err = d.proxy.CloseConnections(ctx, d.filter(f)); err != nil {
			return n, err
		}
	}
	all := slices.DeleteFunc(d.older.now(), func(old *predecessor) bool { return f.PID != 0 && f.PID != old.PID })
	q := admin.CloseQuery{Filter: *f}
	q.PID = 0
	q.All = q.Filter == admin.Filter{}
	answers, errs := ask(ctx, all, admin.CloseConnections, q)
	for i, old := range all {
		if n += answers[i].Closed; isGone(old) {
			errs[i] = nil
		}
	}
	return n, errors.Join(errs...)
}

// CloseConnection resets a connection.
func (d *adminDaemon) CloseConnection(ctx context.Context, id string) error {
	own, pid, err := local(id)
	if err != nil || pid == 0 {
		return d.closeOwn(ctx, id)
	}
	old, err := d.older.process(pid)
	if err != nil {
		return err
	}
	_, errs := ask(ctx, []*predecessor{old}, admin.CloseConnection, admin.ConnectionKey{ID: own})
	if p, answered := errors.AsType[*admin.Problem](errs[0]); answered && p.Status == 404 {
		return fmt.Errorf("%w: connection %q", admin.ErrNotFound, id)
	}
	return errs[0]
}

// predecessorStats is a reading of the old processes.
func (d *daemon) predecessorStats() proxymetrics.Predecessors {
	n, connections, oldest := d.older.stats()
	return proxymetrics.Predecessors{Processes: n, Connections: connections, Oldest: oldest}
}
