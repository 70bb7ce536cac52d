package cli

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

type ctlServer struct {
	Add    ctlServerAdd    `cmd:"" help:"Add a server to a backend, until it is removed or the process ends without an upgrade (see admin.overrides_file)."`
	Remove ctlServerRemove `cmd:"" help:"Remove a server from its backend, whatever source has it. Open connections stay."`
	Set    ctlServerSet    `cmd:"" help:"Override settings of a server, until it is reset or the process ends without an upgrade (see admin.overrides_file)."`
	Reset  ctlServerReset  `cmd:"" help:"End the override of a server. One that was removed comes back; one that was added stays."`
}

type ctlServerAdd struct {
	Backend        string `arg:"" help:"Name of the backend."`
	Server         string `arg:"" name:"address" help:"Address of the server: IP:PORT, unix:///PATH or unix://@NAME."`
	Name           string `placeholder:"NAME" help:"Name of the server. Default: its address."`
	Weight         *int   `placeholder:"N" help:"The server's share of connections: 0 (none) to 1000. Default: 1."`
	MaxConnections int    `placeholder:"N" help:"Limit on connections to it. Default: none."`
	Priority       int    `placeholder:"N" help:"Group of servers: lower ones get connections first. Default: 0."`
	Backup         bool   `help:"The server comes after all priorities."`
	Locality       string `aliases:"zone" placeholder:"NAME" help:"Location of the server, such as its zone. --zone is the same."`
}

// Run adds a server.
func (s ctlServerAdd) Run(c *ctl) error {
	return call(c, admin.AddServer, admin.ServerAddition{Backend: s.Backend, Body: admin.NewServer{
		Address: s.Server, Name: s.Name, Weight: s.Weight, MaxConnections: s.MaxConnections, Priority: s.Priority,
		Backup: s.Backup, Locality: s.Locality,
	}}, c.server)
}

type ctlServerRemove struct {
	Backend string `arg:"" help:"Name of the backend."`
	Server  string `arg:"" help:"Name of the server, or its address."`
	Drain   bool   `help:"Drain it first: wait until its connections have ended, show how many are left, and then remove it. If that is interrupted, it drains on."`
}

// Run removes a server.
func (s ctlServerRemove) Run(c *ctl) error {
	key := admin.ServerKey{Backend: s.Backend, Server: s.Server}
	if s.Drain {
		if err := drainServer(c, key); err != nil {
			c.client.Close()
			return err
		}
	}
	return call(c, admin.RemoveServer, key, func(w *bufio.Writer, _ *admin.None) {
		fmt.Fprintf(w, "%s removed from backend %s\n", plain(s.Server), plain(s.Backend))
	})
}

// drainServer drains a server, and returns when it has no connections.
func drainServer(c *ctl, key admin.ServerKey) error {
	ctx, cancel := interruptible()
	defer cancel()
	drain := "drain"
	update := admin.ServerUpdate{ServerKey: key, Body: admin.ServerChange{State: &drain}}
	s, _, err := admin.SetServer.Call(ctx, c.client, update)
	for last := -1; err == nil && s.Connections > 0; s, _, err = admin.GetServer.Call(ctx, c.client, key) {
		if s.Connections != last && !c.json {
			last = s.Connections
			fmt.Fprintf(c.out, "%d connections\n", last)
		}
		if !sleep(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
	}
	return err
}

// sleep waits, and reports false if ctx is done first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

type ctlServerSet struct {
	Backend        string        `arg:"" help:"Name of the backend."`
	Server         string        `arg:"" help:"Name of the server, or its address."`
	State          string        `enum:",up,drain,maintenance" default:"" placeholder:"STATE" help:"up, drain (no new connections) or maintenance (the same, and it is not checked)."`
	Weight         *int          `placeholder:"N" help:"The server's share of connections: 0 (none) to 1000."`
	MaxConnections *int          `placeholder:"N" help:"Limit on connections to it; 0: none."`
	Health         string        `enum:",up,down,auto" default:"" placeholder:"HEALTH" help:"up or down, whatever its checks and ejection say, or auto, which ends that. With down it gets no new connections, not even in panic."`
	For            time.Duration `placeholder:"TIME" help:"How long --health up or down lasts, such as 10m. Default: until it is set again."`
}

// Run overrides settings of a server.
func (s ctlServerSet) Run(c *ctl) error {
	switch {
	case s.State == "" && s.Weight == nil && s.MaxConnections == nil && s.Health == "":
		return usageError("nothing to set: write --state, --weight, --max-connections or --health")
	case s.Weight != nil && (*s.Weight < 0 || *s.Weight > 1000):
		return usageError(fmt.Sprintf("--weight %d is out of range: write 0 to 1000", *s.Weight))
	case s.MaxConnections != nil && *s.MaxConnections < 0:
		return usageError(fmt.Sprintf("--max-connections %d is negative", *s.MaxConnections))
	case s.For < 0 || s.For > 0 && s.Health != "up" && s.Health != "down":
		return usageError("--for requires --health up or down")
	}
	u := admin.ServerUpdate{
		ServerKey: admin.ServerKey{Backend: s.Backend, Server: s.Server},
		Body:      admin.ServerChange{Weight: s.Weight, MaxConnections: s.MaxConnections},
	}
	if s.State != "" {
		u.Body.State = &s.State
	}
	if s.Health != "" {
		u.Body.Health = &s.Health
	}
	if s.For > 0 {
		text := s.For.String()
		u.Body.For = &text
	}
	return call(c, admin.SetServer, u, c.server)
}

type ctlServerReset struct {
	Backend string `arg:"" help:"Name of the backend."`
	Server  string `arg:"" help:"Name of the server, or its address."`
}

// Run ends an override, or reports that there is nothing to reset.
func (s ctlServerReset) Run(c *ctl) error {
	ctx, cancel := interruptible()
	defer cancel()
	key := admin.ServerKey{Backend: s.Backend, Server: s.Server}
	before, _, err := admin.GetServer.Call(ctx, c.client, key)
	return call(c, admin.ResetServer, key, func(w *bufio.Writer, s *stats.Server) {
		if err == nil && !before.Overridden {
			fmt.Fprintln(w, "the server has no override: nothing has changed")
		}
		c.server(w, s)
	})
}

func (c *ctl) server(w *bufio.Writer, s *stats.Server) {
	c.servers(w, []stats.Server{*s})
}
