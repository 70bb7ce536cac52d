package cli

import (
	"bufio"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
)

type ctlClose struct {
	IDs []string `arg:"" optional:"" name:"id" help:"Connections to close, as listed by ctl connections."`
	ctlFilter
	All bool `help:"Close all connections."`
}

// Run closes connections.
func (l ctlClose) Run(c *ctl) error {
	f := l.filter()
	chosen := 0
	for _, choice := range []bool{len(l.IDs) > 0, f != (admin.Filter{}), l.All} {
		if choice {
			chosen++
		}
	}
	if chosen != 1 {
		return usageError("choose connections by their ids, by flags such as --listener or --client, or by --all")
	}
	if len(l.IDs) == 0 {
		return call(c, admin.CloseConnections, admin.CloseQuery{Filter: f, All: l.All}, showClosed)
	}
	var errs []error
	for _, id := range l.IDs {
		if err := call(c, admin.CloseConnection, admin.ConnectionKey{ID: id}, func(w *bufio.Writer, _ *admin.Closed) {
			fmt.Fprintf(w, "%s closed\n", id)
		}); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func showClosed(w *bufio.Writer, n *admin.Closed) {
	if n.Closed == 1 {
		fmt.Fprintln(w, "1 connection closed")
		return
	}
	fmt.Fprintf(w, "%d connections closed\n", n.Closed)
}

type ctlReload struct {
	Signal int `placeholder:"PID" help:"Without an admin API in the file of --config: check the file, and send SIGHUP to this process. What check does not find is only in its log then."`
}

// Run reloads the configuration file. Errors are printed as check prints them.
func (r ctlReload) Run(c *ctl) error {
	if c.client == nil {
		return r.bySignal(c.config)
	}
	return call(c, admin.PostReload, admin.None{}, func(w *bufio.Writer, r *admin.Reload) {
		for _, change := range r.Changes {
			fmt.Fprintln(w, plain(change))
		}
		if len(r.Changes) == 0 {
			fmt.Fprintln(w, "nothing has changed")
		}
	})
}

// bySignal checks a configuration file, and signals a process to read it.
func (r ctlReload) bySignal(path string) error {
	if r.Signal <= 0 {
		return fmt.Errorf("%s: %w, or give the process by --signal", path, errNoAdmin)
	}
	if err := (checkCommand{Config: path}).Run(); err != nil {
		return err
	}
	if err := syscall.Kill(r.Signal, syscall.SIGHUP); err != nil {
		return fmt.Errorf("process %d: %w", r.Signal, err)
	}
	fmt.Println("the process was told: whether it takes the file is in its log, because there is no admin API")
	return nil
}

type ctlDrain struct {
	drainedServers
	Show bool `help:"Show the progress of a drain, and begin none." xor:"what"`
	Hold bool `help:"Only fail /readyz: connections are accepted until the process drains, or --undo." xor:"what"`
	Undo bool `help:"Undo --hold, or a drain while its delay lasts, or the drain of these servers." xor:"what"`
	Wait bool `help:"Wait until the process has ended, and show the progress."`
}

// Run begins to drain the process or servers, or shows the progress of a drain.
func (d ctlDrain) Run(c *ctl) error {
	if d.drainedServers != (drainedServers{}) {
		return d.servers(c)
	}
	if err := d.begin(c); err != nil || !d.Wait {
		return err
	}
	ctx, cancel := interruptible()
	defer cancel()
	last := -1
	for {
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		now, _, err := admin.GetDrain.Call(ctx, c.client, admin.None{})
		if err != nil {
			if _, answered := errors.AsType[*admin.Problem](err); answered || ctx.Err() != nil {
				return err
			}
			_, err = fmt.Fprintln(c.out, "the process has ended")
			return err
		}
		if now.Connections != last {
			last = now.Connections
			fmt.Fprintf(c.out, "%d connections, %s left\n", last, humanTime(now.Left))
		}
	}
}

// begin sends the request of the flags.
func (d ctlDrain) begin(c *ctl) error {
	switch {
	case d.Show:
		return call(c, admin.GetDrain, admin.None{}, showDrain)
	case d.Undo:
		return call(c, admin.DeleteDrain, admin.None{}, showDrain)
	}
	return call(c, admin.PostDrain, admin.DrainQuery{Hold: d.Hold}, showDrain)
}

func showDrain(w *bufio.Writer, d *admin.Drain) {
	if d.Phase != admin.Draining && d.Phase != admin.Unready {
		fmt.Fprintf(w, "not draining, %d connections\n", d.Connections)
		return
	}
	if d.Held {
		fmt.Fprintf(w, "not ready for %s, %d connections; nothing ends\n", humanTime(d.Elapsed), d.Connections)
		return
	}
	fmt.Fprintf(w, "draining for %s, %d connections, %s left\n", humanTime(d.Elapsed), d.Connections, humanTime(d.Left))
}

type ctlLogLevel struct {
	Level string `arg:"" optional:"" enum:",debug,info,warn,error" default:"" help:"The level to set: ${log_levels}."`
}

// Run shows or sets the log level.
func (l ctlLogLevel) Run(c *ctl) error {
	show := func(w *bufio.Writer, l *admin.LogLevel) { fmt.Fprintln(w, plain(l.Level)) }
	if l.Level == "" {
		return call(c, admin.GetLogLevel, admin.None{}, show)
	}
	return call(c, admin.SetLogLevel, admin.LogLevelUpdate{Body: admin.LogLevel{Level: l.Level}}, show)
}
