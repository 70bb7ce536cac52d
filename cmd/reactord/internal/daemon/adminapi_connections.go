package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// Connections returns a page of connections: the newest of this process first, then those of its predecessors, the last
// one first.
func (d *adminDaemon) Connections(
	ctx context.Context, f *admin.Filter, after string, limit int, tcp bool,
) (page []admin.Connection, next string, err error) {
	after, pid, err := splitID(after)
	if err != nil {
		return nil, "", errPage(after)
	}
	all := d.predecessors.alive()
	if pid == 0 {
		if f.PID == 0 || f.PID == os.Getpid() {
			if page, next, err = d.ownConnections(ctx, f, after, limit, tcp); err != nil || next != "" {
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
		q := admin.ConnectionQuery{Filter: *f, Limit: limit - len(page), After: after, TCP: tcp}
		q.PID, after = 0, ""
		answers, errs := ask(ctx, []*predecessor{old}, admin.ListConnections, q)
		if p, ok := errors.AsType[*admin.Problem](errs[0]); ok && p.Status == http.StatusBadRequest && tcp {
			q.TCP = false // an old version does not know it
			answers, errs = ask(ctx, []*predecessor{old}, admin.ListConnections, q)
		}
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

// Sources returns the sources of clients of this process.
func (d *adminDaemon) Sources(ctx context.Context, q *admin.SourceQuery) (stats.ClientSources, error) {
	return d.proxy.Sources(ctx, proxy.SourceQuery{Listener: q.Listener, Sort: q.Sort, Limit: q.Limit})
}

// isGone reports whether a process has ended.
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
	all := slices.DeleteFunc(d.predecessors.alive(), func(old *predecessor) bool { return f.PID != 0 && f.PID != old.PID })
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
	own, pid, err := splitID(id)
	if err != nil || pid == 0 {
		return d.closeOwn(ctx, id)
	}
	old, err := d.predecessors.process(pid)
	if err != nil {
		return err
	}
	_, errs := ask(ctx, []*predecessor{old}, admin.CloseConnection, admin.ConnectionKey{ID: own})
	if p, answered := errors.AsType[*admin.Problem](errs[0]); answered && p.Status == 404 {
		return fmt.Errorf("%w: connection %q", admin.ErrNotFound, id)
	}
	return errs[0]
}

// ownConnections returns a page of the connections of this process, the newest first.
func (d *adminDaemon) ownConnections(
	ctx context.Context, f *admin.Filter, after string, limit int, tcp bool,
) (page []admin.Connection, next string, err error) {
	filter := d.filter(f)
	if after != "" {
		if filter.Before, err = strconv.ParseUint(after, 10, 64); err != nil || filter.Before == 0 {
			return nil, "", errPage(after)
		}
	}
	find := d.proxy.Connections
	if tcp {
		find = d.proxy.ConnectionsWithTCP
	}
	found, err := find(ctx, filter, limit)
	for i := range found {
		page = append(page, describe(&found[i]))
	}
	if len(found) == limit {
		next = page[limit-1].ID
	}
	return page, next, err
}

// filter converts a filter to the proxy's. A server is a name, or else an address.
func (d *adminDaemon) filter(f *admin.Filter) proxy.Filter {
	out := proxy.Filter{
		Listener: f.Listener, Backend: f.Backend, Server: f.Server, Client: f.Client,
		OlderThan: f.MinAge, IdleFor: f.MinIdle,
	}
	if at, err := serveraddr.Parse(f.Server); err == nil {
		out.Server, out.Address = "", at
	}
	return out
}

// describe converts a connection to the API's.
func describe(c *proxy.Connection) admin.Connection {
	out := admin.Connection{
		ID: strconv.FormatUint(c.ID, 10), Listener: c.Listener, Backend: c.Backend, Server: c.Server, State: c.Phase,
		Age: stats.Of(c.Age), Idle: stats.Of(c.Idle), ReceivedBytes: c.FromClient, SentBytes: c.FromServer, SNI: c.SNI,
		ClientTCP: describeTCP(&c.TCP[0]), ServerTCP: describeTCP(&c.TCP[1]),
	}
	if c.TLS != 0 {
		out.TLSVersion = tls.VersionName(c.TLS)
	}
	if c.Client.IsValid() || c.ClientName == "unix" {
		out.Client = c.ClientName
	}
	if c.Address.IsValid() {
		out.ServerAddress = c.Address.String()
	}
	return out
}

// describeTCP converts what the kernel knows of a TCP connection. It returns nil if it was not asked.
func describeTCP(t *proxy.TCP) *admin.TCP {
	if !t.Known {
		return nil
	}
	return &admin.TCP{
		RTT: stats.Of(t.RTT), MinRTT: stats.Of(t.MinRTT), Retransmits: uint64(t.Retransmits),
		DeliveryRate: t.DeliveryRate,
	}
}

// closeOwn resets a connection of this process.
func (d *adminDaemon) closeOwn(ctx context.Context, id string) error {
	n, err := strconv.ParseUint(id, 10, 64)
	if err == nil && n > 0 {
		var closed int
		if closed, err = d.proxy.CloseConnections(ctx, proxy.Filter{ID: n}); err != nil || closed > 0 {
			return err
		}
	}
	return fmt.Errorf("%w: connection %q", admin.ErrNotFound, id)
}
