// Reactord is a layer 4 proxy. It proxies connections of TCP and of unix sockets, and datagrams of UDP, to groups of
// servers.
//
//	reactord demo                                                 try it out
//	reactord proxy --listen tcp://HOST:PORT --to tcp://HOST:PORT  run a proxy
//	reactord serve --config FILE                                  run the proxy of a configuration file
//	reactord envoy FLAGS                                          run in the place of an Envoy
//	reactord check --config FILE                                  report what is wrong with a file
//	reactord config --config FILE                                 print a file with all defaults
//	reactord schema                                               print the JSON Schema of configuration files
//	reactord ctl COMMAND                                          ask and tell a running reactord
//	reactord health                                               ask a running reactord whether it is ready
//	reactord doctor                                               report what this machine offers, and lacks
//	reactord man                                                  print the manual page
//	reactord completion SHELL                                     print a script that completes command lines
//	reactord version                                              print the version
//
// On SIGTERM or SIGINT it drains: it stops accepting, and exits when all connections have ended. When the drain times
// out, or on a second signal, it resets the remaining connections and exits.
//
// On SIGHUP it reads its file again. On SIGUSR1 it opens its access log anew. On SIGUSR2 it starts its program
// again, which takes over the listening sockets; then it ends with its last connection.
//
// Exit status: 0 after a drain, 1 for an error, 2 for a wrong command line.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/reactord/reactord/cmd/reactord/internal/account"
	"github.com/reactord/reactord/cmd/reactord/internal/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

type commands struct {
	Demo   demoCommand   `cmd:"" help:"Try it out: run an echo server and a proxy in front of it, on free local ports."`
	Proxy  proxyCommand  `cmd:"" help:"Run a proxy from one address to one or more servers."`
	Serve  serveCommand  `cmd:"" help:"Run the proxy of a configuration file."`
	Envoy  envoyCommand  `cmd:"" passthrough:"" help:"Run in the place of an Envoy, with its flags and its bootstrap."`
	Check  checkCommand  `cmd:"" help:"Report what is wrong with a configuration file."`
	Config configCommand `cmd:"" help:"Print every setting of a configuration file, with its defaults and where each value is from."`
	Schema schemaCommand `cmd:"" help:"Print the JSON Schema of configuration files, for editors."`
	Ctl    ctlCommand    `cmd:"" help:"Ask and tell a running reactord, by its admin API."`
	Health healthCommand `cmd:"" help:"Ask a running reactord whether it is ready, for health checks without a shell."`
	Doctor doctorCommand `cmd:"" help:"Report what this machine offers to reactord, and what it lacks."`
	Man    manCommand    `cmd:"" help:"Print a manual page, for man -l -."`

	Completion completionCommand `cmd:"" help:"Print a script that completes command lines in a shell."`
	Version    versionCommand    `cmd:"" help:"Print the version."`

	PrintVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

func main() {
	// A rotation of the log signals all processes of the service. One that begins, or ends soon, must survive that.
	signal.Ignore(syscall.SIGUSR1)
	args := asEnvoy(os.Args[0], os.Args[1:])
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parser := newParser()
	command, err := parser.Parse(args)
	if err == nil {
		err = repeated(command)
	}
	if _, ok := errors.AsType[*config.Error](err); ok { // of the file that ctl finds the daemon by
		fmt.Fprintln(os.Stderr, explain(err))
		os.Exit(1)
	}
	if err != nil {
		parser.Errorf("%s (see reactord --help)", err)
		os.Exit(2)
	}
	if err = become(command); err != nil {
		fmt.Fprintln(os.Stderr, explain(err))
		os.Exit(1)
	}
	kin, err := inherit()
	if err == nil {
		if err = command.Run(kin); err != nil {
			kin.given.Fail(err)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, explain(err))
		if errors.Is(err, errFlags) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// become has a command that serves run as the user of its configuration. Nothing was inherited yet: the program that is
// started again does that.
func become(command *kong.Context) error {
	c, serves := reflect.TypeAssert[interface{ account() (user, group string) }](command.Selected().Target)
	if !serves {
		return nil
	}
	return account.Become(c.account())
}

// newParser is the parser of the command line.
func newParser() *kong.Kong {
	return kong.Must(&commands{},
		kong.Name("reactord"),
		kong.Description("A layer 4 proxy of TCP, TLS and UDP on io_uring, or on epoll if io_uring is not available."),
		defaults(),
	)
}

// repeated finds a flag that has one value and is given twice: its first value would be ignored.
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

// explain is the text of an error. An error of a configuration file begins with its place in the file.
func explain(err error) string {
	if _, ok := errors.AsType[*config.Error](err); ok {
		return err.Error()
	}
	if p, ok := errors.AsType[*admin.Problem](err); ok && len(p.Errors) > 0 && p.Errors[0].File != "" {
		return p.Error()
	}
	return "reactord: " + strings.ReplaceAll(err.Error(), "\n", "\nreactord: ") + advice(err)
}

// advice is what to do about a common error.
func advice(err error) string {
	call, _ := errors.AsType[*os.SyscallError](err)
	file, _ := errors.AsType[*fs.PathError](err)
	switch {
	case errors.Is(err, syscall.EMFILE):
		return ": raise the limit on open files (ulimit -n, LimitNOFILE=)"
	case errors.Is(err, syscall.EADDRINUSE):
		return ": another program listens there (ss -ltnp says which)"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return ": this machine has no such address (ip address lists those it has)"
	case errors.Is(err, syscall.EACCES) && call != nil && call.Syscall == "bind":
		return ": a port below 1024 requires CAP_NET_BIND_SERVICE"
	case errors.Is(err, fs.ErrPermission) && file != nil && file.Op == "bind":
		return ": user " + account.Name() + " must be able to write to that directory"
	case errors.Is(err, fs.ErrPermission) && file != nil:
		return ": user " + account.Name() + " may not do that"
	}
	return ""
}

// defaults is the defaults of the configuration, for the flags.
func defaults() kong.Vars {
	c, b := config.New(), config.NewBackend()
	return kong.Vars{
		"version":            "reactord " + version(),
		"ring":               c.Ring,
		"rings":              strings.Join(config.Rings, ", "),
		"drain_timeout":      c.Drain.Timeout.String(),
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
