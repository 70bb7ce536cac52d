package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"golang.org/x/sys/unix"
)

// ctlCommand inspects and changes a running reactord by its admin API.
type ctlCommand struct {
	Address string `env:"REACTORD_ADMIN" default:"unix:///run/reactord/admin.sock" placeholder:"ADDRESS" help:"Address of the admin API, as admin.address of the configuration, or https://HOST:PORT (${default})."`
	File    string `name:"config" short:"c" placeholder:"FILE" help:"Configuration file that says the address instead. The daemon is on this machine: its certificate is not verified without --cacert."`
	Credentials
	JSON bool `name:"json" help:"Print JSON: the answer of the API unchanged, or the outcome of an upgrade."`

	Status      ctlStatus      `cmd:"" help:"Show the state of the process."`
	Plan        ctlPlan        `cmd:"" help:"Show the plan in force, and where each server comes from."`
	Config      ctlConfig      `cmd:"" help:"Print the plan in force as a configuration file, and where each value comes from."`
	Listeners   ctlListeners   `cmd:"" help:"List the listeners."`
	Backends    ctlBackends    `cmd:"" help:"List the backends."`
	Backend     ctlBackend     `cmd:"" help:"Pause a backend, so that its clients wait, and resume it."`
	Servers     ctlServers     `cmd:"" help:"List the servers with their state."`
	Server      ctlServer      `cmd:"" help:"Add, remove and override servers."`
	Overrides   ctlOverrides   `cmd:"" help:"List what operators have set of servers, added, removed and drained, or end it."`
	Connections ctlConnections `cmd:"" help:"List open connections."`
	Sources     ctlSources     `cmd:"" help:"List the clients that take the most: the top talkers."`
	Set         ctlSet         `cmd:"" help:"Show live sets, and add entries to them for a time."`
	Explain     ctlExplain     `cmd:"" help:"Explain what would happen to a connection now, and why."`
	Close       ctlClose       `cmd:"" help:"Close connections."`
	Reload      ctlReload      `cmd:"" help:"Read the configuration file again."`
	Drain       ctlDrain       `cmd:"" help:"Drain the process, which exits when all connections have ended, or the servers of a location or network."`
	Upgrade     ctlUpgrade     `cmd:"" help:"Start the program again; the new process takes over."`
	LogLevel    ctlLogLevel    `cmd:"" help:"Show or set the log level."`
	Loops       ctlLoops       `cmd:"" help:"Show the I/O threads: their counters, slow turns, and what is in flight."`
	Profile     ctlProfile     `cmd:"" help:"Write a profile of the process to a file."`
	Discovery   ctlDiscovery   `cmd:"" help:"List the sources of discovery."`
	XDS         ctlXDS         `cmd:"" name:"xds" help:"Show the control plane, and what has become of each of its resources."`
	OpenAPI     ctlOpenAPI     `cmd:"" name:"openapi" help:"Print the OpenAPI document of the admin API."`
}

// AfterApply binds a [ctl] for the commands.
func (c *ctlCommand) AfterApply(k *kong.Context) error {
	access, err := c.where()
	var client *admin.Client
	if err == nil {
		client, err = admin.NewClient(access)
	}
	if errors.Is(err, errNoAdmin) && k.Selected().Target.Type() == reflect.TypeFor[ctlReload]() {
		err = nil // a reload has another way
	}
	if err != nil {
		return err
	}
	k.Bind(&ctl{
		client: client, config: c.File, json: c.JSON, out: os.Stdout,
		colour: wantsColour(os.Stdout), terminal: terminalOf(os.Stdout),
	})
	return nil
}

// errNoAdmin reports a configuration file without an admin API.
var errNoAdmin = errors.New("no admin API: write admin: {address: unix:///run/reactord/admin.sock}")

// where returns the address of the admin API, with credentials.
func (c *ctlCommand) where() (admin.Access, error) {
	if c.File == "" {
		return c.access(c.Address)
	}
	cfg, _, err := config.Load(c.File)
	if err != nil {
		return admin.Access{}, err
	}
	address := cfg.Admin.Address
	if address == "" {
		return admin.Access{}, fmt.Errorf("%s: %w", c.File, errNoAdmin)
	}
	if file := cfg.Admin.WebConfigFile; file != "" {
		secure, err := admin.HasTLS(file)
		if err != nil {
			return admin.Access{}, err
		}
		if secure {
			address = "https://" + strings.TrimPrefix(address, "tcp://")
		}
	}
	access, err := c.access(address)
	access.Own = true
	return access, err
}

// wantsColour reports whether f is a terminal, and NO_COLOR (no-color.org) is not set.
func wantsColour(f *os.File) bool { return terminalOf(f) != nil && os.Getenv("NO_COLOR") == "" }

// terminalOf returns f if it is a terminal on which a line can be rewritten, or nil.
func terminalOf(f *os.File) *os.File {
	if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err != nil || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return f
}

// ctl has the state that the commands of ctl share.
type ctl struct {
	client   *admin.Client // nil without an admin API
	config   string        // the configuration file that says so
	json     bool          // print the API's text
	out      io.Writer
	colour   bool
	terminal *os.File // out, if it is a terminal
}

// interruptible returns a context that a signal cancels.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// call calls an endpoint, and prints the answer: unchanged as JSON, or by show.
func call[In, Out any](c *ctl, e admin.Endpoint[In, Out], in In, show func(w *bufio.Writer, out *Out)) error {
	ctx, cancel := interruptible()
	defer cancel()
	defer c.client.Close()
	out, text, err := e.Call(ctx, c.client, in)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(c.out)
	if c.json {
		_, _ = w.Write(text)
	} else {
		show(w, &out)
	}
	return w.Flush()
}

// table prints a table.
func (c *ctl) table(w io.Writer, t *table) {
	if c.colour {
		t.write(w, paintState)
	} else {
		t.write(w, nil)
	}
}

// usageError reports wrong arguments of ctl.
type usageError string

func (e usageError) Error() string        { return string(e) + " (see reactord ctl --help)" }
func (e usageError) Is(target error) bool { return target == errFlags }
