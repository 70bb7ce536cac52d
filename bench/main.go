// Command bench measures reactord against its peers, side by side on one machine.
//
//	go run ./bench suite              every case, all peers, a table at the end
//	go run ./bench serve echo …       one echo server
//
// See README.md for what is measured and how.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/reactord/reactord/bench/proc"
)

// The main goroutine keeps the main thread: the kernel ends a child when the thread that started it
// ends, and the load runs on one thread.
func init() { runtime.LockOSThread() }

func main() { os.Exit(run(os.Args[1:])) }

type commands struct {
	Suite suiteCommand `cmd:"" help:"Measure all peers in all cases and print a table."`
	Serve struct {
		Echo  serveEcho  `cmd:"" help:"Echo whatever arrives."`
		Proxy serveProxy `cmd:"" help:"Forward connections with net and io.Copy, the plain Go way."`
	} `cmd:"" help:"Run one server until SIGINT or SIGTERM."`
	Drive driveCommand `cmd:"" hidden:"" help:"The load of one measurement: a plan on standard input, a result on standard output."`
	Exec  execCommand  `cmd:"" hidden:"" help:"Execute a program on one CPU."`
}

func run(args []string) int {
	var c commands
	parser := kong.Must(&c, kong.Name("bench"), kong.UsageOnError(),
		kong.Description("Measures reactord against its peers, side by side on one machine."))
	command, err := parser.Parse(args)
	parser.FatalIfErrorf(err)
	// Only commands that take a context catch signals; the others are ended by them at once.
	err = command.BindToProvider(func() (context.Context, error) {
		ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		return ctx, nil
	})
	parser.FatalIfErrorf(err)
	if err := command.Run(); err != nil {
		parser.Errorf("%v", err)
		return 1
	}
	return 0
}

type execCommand struct {
	CPU  int      `arg:"" help:"The CPU to run on."`
	Argv []string `arg:"" passthrough:"" help:"The program and its arguments."`
}

func (c *execCommand) Run() error {
	argv := c.Argv
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	return proc.Exec(c.CPU, argv)
}
