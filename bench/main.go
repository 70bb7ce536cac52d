// Command bench makes load that can be believed, and measures reactord against its peers.
//
//	go run ./bench echo --target tcp://127.0.0.1:7000        a closed loop
//	go run ./bench rate --target … --rate 10k                an open one; and further modes
//	go run ./bench soak --target … -t 1h                     does the target grow?
//	go run ./bench serve echo --listen tcp://127.0.0.1:7000  a server to try it on
//	go run ./bench compare A.json B.json                     what has changed, and whether that is chance
//	go run ./bench suite                                     reactord beside its peers
//
// Exit codes: 0; 1 for an error; 2 for a bound (--fail-if) that is exceeded; 80 for a wrong command line.
//
// See README.md for what is measured and how.
package main

import (
	"context"
	"errors"
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
	modeCommands `group:"modes"`

	Serve     serveCommands    `cmd:"" help:"Run one server until SIGINT or SIGTERM."`
	Compare   compareCommand   `cmd:"" help:"Compare results that --json has written."`
	Suite     suiteCommand     `cmd:"" help:"Measure reactord and its peers in all cases and print a table."`
	Calibrate calibrateCommand `cmd:"" help:"Measure the load generator itself, beside a client in C."`
	Exec      execCommand      `cmd:"" hidden:"" help:"Execute a program on one CPU."`
}

func run(args []string) int {
	var c commands
	parser := kong.Must(&c, kong.Name("bench"), kong.UsageOnError(),
		kong.Description("Makes load that can be believed, and measures reactord against its peers."))
	command, err := parser.Parse(args)
	parser.FatalIfErrorf(err)
	// Only commands that take a context catch signals; the others are ended by them at once.
	err = command.BindToProvider(func() (context.Context, error) {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop) // the second ends it at once
		return ctx, nil
	})
	parser.FatalIfErrorf(err)
	switch err := command.Run(); {
	case errors.Is(err, errExceeded):
		parser.Errorf("%v", err)
		return 2
	case err != nil:
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
