// Reactord is an L4 proxy: it takes TCP connections and passes them on to a group of servers.
//
//	reactord demo                                            try it out
//	reactord proxy --listen tcp://HOST:PORT --to tcp://HOST:PORT
//	reactord serve --config FILE                             the same from a file
//	reactord check --config FILE                             say what is wrong with a file
//	reactord doctor                                          say what this machine has, and lacks
//	reactord version
//
// On SIGTERM or SIGINT it stops accepting, and ends when the connections have, or when the drain
// timeout has passed. A second signal ends it at once.
//
// Exit status: 0 if it ended as it was told to, 1 for an error, 2 for a wrong command line.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

type commands struct {
	Demo    demoCommand    `cmd:"" help:"Try it out: an echo server, a proxy before it and its metrics, on free ports of this machine."`
	Proxy   proxyCommand   `cmd:"" help:"Pass connections at one address on to servers."`
	Serve   serveCommand   `cmd:"" help:"Run what a configuration file says."`
	Check   checkCommand   `cmd:"" help:"Say what is wrong with a configuration file."`
	Doctor  doctorCommand  `cmd:"" help:"Say what this machine has that reactord can use, and what it lacks."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

func main() {
	args := os.Args[1:]
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parser := kong.Must(&commands{},
		kong.Name("reactord"),
		kong.Description("An L4 proxy on io_uring, or on epoll where that cannot be had."),
		defaults(),
	)
	command, err := parser.Parse(args)
	if err == nil {
		err = repeated(command)
	}
	if err != nil {
		parser.Errorf("%s (reactord --help says what there is)", err)
		os.Exit(2)
	}
	if err := command.Run(); err != nil {
		fmt.Fprintln(os.Stderr, explain(err))
		if errors.Is(err, errFlags) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// repeated finds a flag that is given twice and has one value: the first would be ignored.
func repeated(c *kong.Context) error {
	given := map[string]bool{}
	for _, p := range c.Path {
		if p.Flag == nil || p.Flag.IsCumulative() {
			continue
		}
		if given[p.Flag.Name] {
			return fmt.Errorf("--%s is given twice", p.Flag.Name)
		}
		given[p.Flag.Name] = true
	}
	return nil
}

// explain is what is printed of an error. Those of a configuration file have their place in front.
func explain(err error) string {
	if _, ok := errors.AsType[*config.Error](err); ok {
		return err.Error()
	}
	return "reactord: " + strings.ReplaceAll(err.Error(), "\n", "\nreactord: ") + advice(err)
}

// advice is what to do about an error that many meet.
func advice(err error) string {
	call, _ := errors.AsType[*os.SyscallError](err)
	switch {
	case errors.Is(err, syscall.EMFILE):
		return ": raise the limit on open files (ulimit -n, LimitNOFILE=)"
	case errors.Is(err, syscall.EADDRINUSE):
		return ": another program listens there (ss -ltnp says which)"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return ": this machine has no such address (ip address lists those it has)"
	case errors.Is(err, syscall.EACCES) && call != nil && call.Syscall == "bind":
		return ": a port below 1024 takes CAP_NET_BIND_SERVICE"
	}
	return ""
}

// defaults are those of the configuration, for the flags that set the same things.
func defaults() kong.Vars {
	c, b := config.New(), config.NewBackend()
	return kong.Vars{
		"ring":               c.Ring,
		"rings":              strings.Join(config.Rings, ", "),
		"drain_timeout":      c.DrainTimeout.String(),
		"log_level":          c.Log.Level,
		"log_levels":         strings.Join(config.LogLevels, ", "),
		"log_format":         c.Log.Format,
		"log_formats":        strings.Join(config.LogFormats, ", "),
		"connect_timeout":    b.ConnectTimeout.String(),
		"idle_timeout":       b.IdleTimeout.String(),
		"half_close_timeout": b.HalfCloseTimeout.String(),
		"buffer":             b.Buffer.String(),
	}
}
