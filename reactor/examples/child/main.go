// Command child runs a program and prints the lines that it writes, each with its number. It exits with the program's
// status.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
)

func main() {
	ring := flag.String("ring", "auto", "auto, io_uring or epoll")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("usage: child [-ring kind] program [argument ...]")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status, err := run(ctx, reactor.RingKind(*ring), flag.Args(), os.Stdout)
	if err != nil {
		log.Fatal(err)
	}
	os.Exit(status.ExitStatus())
}

// run runs a program with its own loop. When ctx is done it kills the program.
func run(ctx context.Context, ring reactor.RingKind, args []string, out io.Writer,
) (status syscall.WaitStatus, err error) {
	cfg := reactor.Config{Loops: 1, Loop: reactor.LoopConfig{Ring: ring}}
	err = reactor.Run(ctx, cfg, func(l *reactor.Loop) error {
		l.Spawn(task.New(func(t *task.T) (err error) {
			defer l.Stop()
			status, err = runIn(t, l, args, out)
			return err
		}))
		return nil
	})
	return status, err
}

// runIn runs a program in a task: it starts it, reads what it writes, and waits for its end.
func runIn(t *task.T, l *reactor.Loop, args []string, out io.Writer) (syscall.WaitStatus, error) {
	var stdout reactor.File
	childEnd, err := stdout.OpenFromChild(l)
	if err != nil {
		return 0, err
	}
	defer task.Unstoppable(t, func() { _, _ = task.Await(t, stdout.Close()) })
	child, err := task.Await(t, reactor.Offload(l, func() (*os.Process, error) { return start(args, childEnd) }))
	childEnd.Close() // the child has its own: stdout reads EOF when that is closed
	if err != nil {
		return 0, err
	}
	if err := printLines(t, &stdout, out); err != nil {
		return 0, errors.Join(err, child.Kill())
	}
	return task.Await(t, l.WaitProcess(child.Pid)) // and not child.Wait, which blocks
}

// start starts the program. It blocks, until the kernel has loaded it.
func start(args []string, stdout *os.File) (*os.Process, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = stdout, os.Stderr
	err := cmd.Start()
	return cmd.Process, err
}

// printLines prints what f reads, until EOF.
func printLines(t *task.T, f *reactor.File, out io.Writer) error {
	buf := make([]byte, 64<<10)
	for kept, number := 0, 1; ; {
		n, err := task.Await(t, f.Read(buf[kept:]))
		if err != nil {
			return err
		}
		rest := buf[:kept+n]
		for {
			line, behind, found := bytes.Cut(rest, []byte("\n"))
			if !found && (len(rest) == 0 || n != 0 && len(rest) < len(buf)) {
				break // of what is left, the end is still to come
			}
			fmt.Fprintf(out, "%6d  %s\n", number, line)
			rest = behind
			number++
		}
		if n == 0 {
			return nil
		}
		kept = copy(buf, rest)
	}
}
