package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/daemon"
	"github.com/reactord/reactord/cmd/reactord/internal/host/account"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
)

type commands struct {
	Demo     demoCommand     `cmd:"" help:"Try it out: run an echo server and a proxy in front of it, on free local ports."`
	Proxy    proxyCommand    `cmd:"" help:"Run a proxy from one address to one or more servers."`
	Serve    serveCommand    `cmd:"" help:"Run the proxy of a configuration file."`
	Envoy    envoyCommand    `cmd:"" passthrough:"" help:"Run in the place of an Envoy, with its flags and its bootstrap."`
	Init     initCommand     `cmd:"" passthrough:"" help:"Run a command of reactord below an init process, which is process 1 of a container that upgrades."`
	Check    checkCommand    `cmd:"" help:"Report what is wrong with a configuration file."`
	Explain  explainCommand  `cmd:"" help:"Explain by a configuration file what would happen to a connection, and why."`
	Test     testCommand     `cmd:"" help:"Test a configuration: try the clients of a file of cases, and compare what becomes of them."`
	Simulate simulateCommand `cmd:"" help:"Simulate what becomes of clients if servers, zones or networks fail, or by a scenario."`
	Config   configCommand   `cmd:"" help:"Print every setting of a configuration file, with its defaults and where each value is from."`
	Convert  convertCommand  `cmd:"" help:"Convert a configuration of HAProxy or nginx, and report what became of each line."`
	Schema   schemaCommand   `cmd:"" help:"Print the JSON Schema of configuration files, for editors."`
	Ctl      ctlCommand      `cmd:"" help:"Inspect and change a running reactord by its admin API."`
	Health   healthCommand   `cmd:"" help:"Ask a running reactord whether it is ready, for health checks without a shell."`
	Doctor   doctorCommand   `cmd:"" help:"Report what this machine offers to reactord, and what it lacks."`
	Man      manCommand      `cmd:"" help:"Print a manual page, for man -l -."`

	Completion completionCommand `cmd:"" help:"Print a script that completes command lines in a shell."`
	Version    versionCommand    `cmd:"" help:"Print the version."`

	PrintVersion kong.VersionFlag `name:"version" help:"Print the version."`
}

// Main runs a command line, whose first word is the program. It returns the exit status, or exits after printing help.
func Main(line []string) (status int) {
	// A rotation of the log signals all processes of the service, and must not end one that just starts, or soon ends.
	signal.Ignore(syscall.SIGUSR1)
	args := asEnvoy(line[0], line[1:])
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parser, command, err := parseLine(args)
	if err == nil {
		err = checkRepeated(command)
	}
	if _, ok := errors.AsType[*config.Error](err); ok { // of the file that ctl finds the daemon by
		fmt.Fprintln(os.Stderr, explain(err))
		return 1
	}
	if err != nil {
		parser.Errorf("%s (see reactord --help)", err)
		return 2
	}
	err = switchUser(command)
	if err == nil {
		err = runInherited(command)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errFlags):
		status = 2
	case errors.Is(err, errLeftOut):
		return statusLeftOut
	default:
		status = 1
	}
	fmt.Fprintln(os.Stderr, explain(err))
	return status
}

// runInherited runs a command with the inherited sockets, and reports an error to the predecessor.
func runInherited(command *kong.Context) error {
	inherited, err := daemon.Inherit()
	if err != nil {
		return err
	}
	if err = command.Run(inherited); err != nil {
		inherited.Fail(err)
	}
	return err
}

// switchUser changes to the user of the configuration, if the command serves. It may execute the program again, and so
// has to run before the sockets are inherited.
func switchUser(command *kong.Context) error {
	c, serves := reflect.TypeAssert[interface{ account() (user, group string) }](command.Selected().Target)
	if !serves {
		return nil
	}
	return account.Become(c.account())
}

// parseLine parses a command line. A parser of its command alone takes a fifth of the time and memory to make, which is
// a quarter of that of a start; the parser of all commands knows what to say about any other line.
func parseLine(args []string) (parser *kong.Kong, command *kong.Context, err error) {
	if only := onlyCommand(args[0]); only != nil && !slices.ContainsFunc(args, asksForHelp) {
		parser = parserOf(only)
		command, err = parser.Parse(args)
		if _, ran := errors.AsType[*config.Error](err); err == nil || ran {
			return parser, command, err
		}
	}
	parser = newParser()
	command, err = parser.Parse(args)
	return parser, command, err
}

func asksForHelp(arg string) bool {
	return strings.HasPrefix(arg, "-h") || strings.HasPrefix(arg, "--help")
}

// onlyCommand returns a grammar that has the named command of commands only, or nil.
func onlyCommand(name string) any {
	for f := range reflect.TypeFor[commands]().Fields() {
		if strings.ToLower(f.Name) == name {
			return reflect.New(reflect.StructOf([]reflect.StructField{f})).Interface()
		}
	}
	return nil
}

// newParser returns a parser of command lines.
func newParser() *kong.Kong { return parserOf(&commands{}) }

func parserOf(grammar any) *kong.Kong {
	return kong.Must(grammar,
		kong.Name("reactord"),
		kong.Description("A layer 4 proxy of TCP, TLS and UDP on io_uring, or on epoll if io_uring is not available."),
		defaults(),
	)
}

// checkRepeated returns an error if a flag with one value is given twice: its first value would be ignored.
func checkRepeated(c *kong.Context) error {
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

// explain returns the text of an error, with advice. An error of a configuration file begins with the place in the
// file.
func explain(err error) string {
	if _, ok := errors.AsType[*config.Error](err); ok {
		return err.Error()
	}
	if p, ok := errors.AsType[*admin.Problem](err); ok && len(p.Errors) > 0 && p.Errors[0].File != "" {
		return p.Error()
	}
	return "reactord: " + strings.ReplaceAll(err.Error(), "\n", "\nreactord: ") + advice(err)
}

// advice returns the remedy of a common error, or "".
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

// defaults returns the defaults of the configuration as variables for the flags.
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
