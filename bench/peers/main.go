package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
)

const usage = `usage: peers LIBRARY echo --listen tcp://HOST:PORT [--loops N]
       peers gnet redis --listen tcp://HOST:PORT [--loops N]
       peers LIBRARY version

LIBRARY is gnet, netpoll or nbio. A server runs until SIGINT or SIGTERM.
`

// A library is one of the peers.
type library struct {
	module string

	servers map[string]server
}

// A server serves at address (HOST:PORT), with this number of event loops, until ctx ends.
type server func(ctx context.Context, address string, loops int) error

var libraries = map[string]library{
	"gnet":    {"github.com/panjf2000/gnet/v2", map[string]server{"echo": gnetEcho, "redis": gnetRedis}},
	"netpoll": {"github.com/cloudwego/netpoll", map[string]server{"echo": netpollEcho}},
	"nbio":    {"github.com/lesismal/nbio", map[string]server{"echo": nbioEcho}},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		if errors.Is(err, errUsage) {
			fmt.Fprint(os.Stderr, usage)
		}
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong command line")

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) < 2 {
		return errUsage
	}
	lib, ok := libraries[args[0]]
	if !ok {
		return fmt.Errorf("%w: there is no library %q", errUsage, args[0])
	}
	if args[1] == "version" {
		_, err := fmt.Fprintln(out, version(lib.module))
		return err
	}
	serve, ok := lib.servers[args[1]]
	if !ok {
		return fmt.Errorf("%w: there is no server %q", errUsage, args[1])
	}
	flags := flag.NewFlagSet(args[1], flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error has the message
	listen := flags.String("listen", "", "")
	loops := flags.Int("loops", 1, "")
	if err := flags.Parse(args[2:]); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	address, ok := strings.CutPrefix(*listen, "tcp://")
	if !ok || flags.NArg() > 0 || *loops < 1 {
		return fmt.Errorf("%w: --listen needs tcp://HOST:PORT, and --loops at least 1", errUsage)
	}
	return serve(ctx, address, *loops)
}

// version returns the version of a module of this binary.
func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == module {
				return dep.Version
			}
		}
	}
	return "unknown"
}
