package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

type ctlOverrides struct {
	List  ctlOverridesList  `cmd:"" default:"1" help:"List them (the default)."`
	Clear ctlOverridesClear `cmd:"" help:"End overrides and drains: servers that were added leave, and those that were removed come back."`
}

type ctlOverridesList struct{}

// Run lists what operators have set of servers.
func (ctlOverridesList) Run(c *ctl) error {
	return call(c, admin.ListOverrides, admin.None{}, c.overrides)
}

// overrides prints what operators have set of servers.
func (c *ctl) overrides(w *bufio.Writer, all *admin.Overrides) {
	if len(all.Servers)+len(all.Drains) == 0 {
		fmt.Fprintln(w, "none")
		return
	}
	t := newTable("BACKEND", "SERVER", "ADDRESS", "OVERRIDE", "BY", ">SINCE", "IN FORCE")
	for i := range all.Servers {
		o := &all.Servers[i]
		t.add(o.Backend, o.Server, o.Address, describeOverride(o), o.By, ago(o.Since), yes(o.InForce))
	}
	for i := range all.Drains {
		d := &all.Drains[i]
		t.add(cmp.Or(d.Backend, "all"), fmt.Sprintf("%d servers", d.Servers), "",
			"drain of "+describeDrain(&d.DrainedServers), d.By, ago(d.Since), yes(d.Servers > 0))
	}
	c.table(w, t)
}

// describeOverride returns what an operator has set of a server.
func describeOverride(o *admin.ServerOverride) string {
	var parts []string
	if o.Added {
		parts = append(parts, "added")
	}
	if o.Removed {
		parts = append(parts, "removed")
	}
	if o.State != "" {
		parts = append(parts, "state "+o.State)
	}
	if o.Weight != nil {
		parts = append(parts, "weight "+strconv.Itoa(*o.Weight))
	}
	if o.MaxConnections != nil {
		parts = append(parts, "max_connections "+strconv.Itoa(*o.MaxConnections))
	}
	if o.Health != "" {
		text := "health " + o.Health
		if !o.Until.IsZero() {
			text += " for another " + humanTime(stats.Of(time.Until(o.Until)))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func describeDrain(d *admin.DrainedServers) string {
	var parts []string
	if d.Locality != "" {
		parts = append(parts, "locality "+d.Locality)
	}
	if d.Network != "" {
		parts = append(parts, "network "+d.Network)
	}
	return strings.Join(parts, ", ")
}

type ctlOverridesClear struct {
	Backend string `placeholder:"NAME" help:"Only those of this backend." xor:"which" required:""`
	All     bool   `help:"All of them." xor:"which" required:""`
}

// Run ends overrides.
func (o ctlOverridesClear) Run(c *ctl) error {
	q := admin.ClearQuery{Backend: o.Backend, All: o.All}
	return call(c, admin.ClearOverrides, q, func(w *bufio.Writer, n *admin.Cleared) {
		if n.Cleared == 1 {
			fmt.Fprintln(w, "1 override ended")
			return
		}
		fmt.Fprintf(w, "%d overrides ended\n", n.Cleared)
	})
}

// drainedServers chooses servers to drain.
type drainedServers struct {
	Locality string `aliases:"zone" placeholder:"NAME" help:"Drain the servers in this location, such as a zone, instead of the process; also those that come later. --zone is the same."`
	Network  prefix `placeholder:"PREFIX" help:"The same for servers in this network, such as 10.2.0.0/16."`
	Backend  string `placeholder:"NAME" help:"Only servers of this backend."`
}

// servers begins or ends a drain of servers.
func (d ctlDrain) servers(c *ctl) error {
	of := admin.DrainedServers{Backend: d.Backend, Locality: d.Locality}
	if d.Network.IsValid() {
		of.Network = d.Network.String()
	}
	switch {
	case of.Locality == "" && of.Network == "":
		return usageError("--backend requires --locality or --network: ctl server set drains one server")
	case d.Hold || d.Show || d.Wait:
		return usageError("--hold, --show and --wait are for a drain of the process")
	case d.Undo:
		return call(c, admin.UndrainServers, of, c.overrides)
	}
	return call(c, admin.DrainServers, admin.DrainServersBody{Body: of}, c.overrides)
}
