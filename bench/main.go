// Command bench is a load generator without coordinated omission. It also compares reactord with other servers.
//
//	go run ./bench echo --target tcp://127.0.0.1:7000        a closed loop
//	go run ./bench rate --target … --rate 10k                an open one; and further modes
//	go run ./bench soak --target … -t 1h                     does the target grow?
//	go run ./bench serve echo --listen tcp://127.0.0.1:7000  a server to try it with
//	go run ./bench compare A.json B.json                     what has changed, and is it significant?
//	go run ./bench suite                                     reactord and other servers
//	go run ./bench pause                                     connections through reactord while it is upgraded
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

// The main goroutine keeps the main thread: the kernel kills a child when the thread that started it ends (see package
// proc).
func init() { runtime.LockOSThread() }

func main() { os.Exit(run(os.Args[1:])) }

type commands struct {
	modeCommands `group:"modes"`

	Serve     serveCommands    `cmd:"" help:"Run one server until SIGINT or SIGTERM."`
	Compare   compareCommand   `cmd:"" help:"Compare results that --json has written."`
	Suite     suiteCommand     `cmd:"" help:"Measure reactord and other servers in all cases, and print a table."`
	Pause     pauseCommand     `cmd:"" help:"Measure for how long connections through reactord stand still while an upgrade moves them."`
	Calibrate calibrateCommand `cmd:"" help:"Measure the load generator itself, and a client in C for comparison."`
	Exec      execCommand      `cmd:"" hidden:"" help:"Execute a program on one CPU."`
}

func run(args []string) int {
	var c commands
	parser := kong.Must(&c, kong.Name("bench"), kong.UsageOnError(),
		kong.Description("A load generator without coordinated omission. It also compares reactord with other servers."),
		kong.Vars{"cases": caseNames()})
	command, err := parser.Parse(args)
	parser.FatalIfErrorf(err)
	// Only commands that take a context catch signals; other commands end immediately.
	err = command.BindToProvider(func() (context.Context, error) {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop) // the second signal ends the process immediately
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
	Stamp string   `placeholder:"FILE" help:"Write the time of execution to this file, in nanoseconds since 1970."`
	CPU   int      `arg:"" help:"The CPU to run on."`
	Argv  []string `arg:"" passthrough:"" help:"The program and its arguments."`
}

func (c *execCommand) Run() error {
	argv := c.Argv
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	return proc.Exec(c.CPU, argv, c.Stamp)
}
