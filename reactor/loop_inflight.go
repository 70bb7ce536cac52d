//go:build linux

package reactor

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/sender"
)

// InFlight is an operation in flight, for humans: see [Loop.InFlight].
type InFlight struct {
	Operation string        // the name of the operation state without Op: "Recv", "Dial", "Sleep", …
	Fd        int           // the descriptor that it is about; -1: none
	Age       time.Duration // since Start, in steps of a millisecond; wrong for operations older than 52 days
	State     string        // "in the ring", "waits", "completes", "is cancelled", "timer", "waits for Recv", …
	Where     string        // of a task, file:line of the program where it awaits; "" if that is not known
}

// String is one line.
func (f InFlight) String() string {
	on := ""
	if f.Fd >= 0 {
		on = fmt.Sprintf("fd %d", f.Fd)
	}
	age, at := "", ""
	if f.Age != 0 {
		age = f.Age.String()
	}
	if f.Where != "" {
		at = " at " + f.Where
	}
	return fmt.Sprintf("%-14s %-8s %12s  %s%s", f.Operation, on, age, f.State, at)
}

// InFlight lists the operations in flight, the oldest first, and the tasks that wait, at most 1000, with the line where
// each of them does. On the loop's thread; [WriteInFlight] is for other threads.
func (l *Loop) InFlight() []InFlight {
	l.assertOnThread()
	all := make([]InFlight, 0, l.slots.used)
	for _, page := range l.slots.pages {
		for i := range page {
			if s := &page[i]; s.run != nil && s.run != operation(l.tasks) {
				all = append(all, l.describe(s))
			}
		}
	}
	all = append(all, l.tasksInFlight()...)
	slices.SortStableFunc(all, func(a, b InFlight) int { return int(b.Age - a.Age) })
	return all
}

// describe is the operation in a slot.
func (l *Loop) describe(s *slot) InFlight {
	f := InFlight{Fd: -1, State: "timer", Operation: operationName(s.run)}
	f.Age = time.Duration(uint32(l.sys.Clock()>>slotTime)-s.since()) << slotTime
	f.Age = f.Age.Round(time.Millisecond)
	o := s.op
	if o == nil {
		if f.Operation == "Dialer" {
			f.State = "waits"
		}
		return f
	}
	if o.on != nil {
		f.Fd = int(o.on.fd)
	}
	switch {
	case o.cancelOp == cancelOut || o.cancelOp == cancelOutSettled:
		f.State = "is cancelled"
	case o.state == opArmed:
		f.State = "in the ring"
	case o.state == opDormant:
		f.State = "waits"
	default:
		f.State = "completes"
	}
	return f
}

// operationName is the name of an operation's type, without package, type arguments and the suffix Op.
func operationName(run operation) string {
	name, _, _ := strings.Cut(fmt.Sprintf("%T", run), "[")
	name = name[strings.LastIndexByte(name, '.')+1:]
	return strings.TrimSuffix(name, "Op")
}

// WriteInFlight writes for humans what is in flight on the loops: a line for each operation, below one for its loop. It
// waits for each loop until ctx is done; of a loop that is blocked meanwhile it says for how long. From any thread.
func WriteInFlight(ctx context.Context, w io.Writer, loops ...*Loop) error {
	for _, l := range loops {
		if _, err := io.WriteString(w, l.inFlightText(ctx)); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loop) inFlightText(ctx context.Context) string {
	all, err := l.askInFlight(ctx)
	var b strings.Builder
	fmt.Fprintf(&b, "loop %s: ", l.name)
	if err != nil {
		b.WriteString(err.Error())
		if began := l.turns.began.Load(); began != 0 {
			fmt.Fprintf(&b, ", in a callback for %v", time.Duration(l.sys.Clock()-began).Round(time.Millisecond))
		}
		b.WriteByte('\n')
		return b.String()
	}
	fmt.Fprintf(&b, "%d in flight\n", len(all))
	for _, f := range all {
		fmt.Fprintf(&b, "  %v\n", f)
	}
	return b.String()
}

// askInFlight is InFlight from any thread.
func (l *Loop) askInFlight(ctx context.Context) ([]InFlight, error) {
	if l.coroutines.Here() {
		return l.InFlight(), nil
	}
	q := &inFlightQuery{l: l, answer: make(chan []InFlight, 1)}
	q.work.Runner = q
	l.Enqueue(&q.work)
	select {
	case all, ok := <-q.answer:
		if !ok {
			return nil, fmt.Errorf("the loop has ended: %w", sender.ErrClosed)
		}
		return all, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("no answer: %w", context.Cause(ctx))
	}
}

// inFlightQuery is a call of InFlight that another thread waits for.
type inFlightQuery struct {
	work   sender.Work
	l      *Loop
	answer chan []InFlight
}

func (q *inFlightQuery) Run()          { q.answer <- q.l.InFlight() }
func (q *inFlightQuery) Abandon(error) { close(q.answer) }
