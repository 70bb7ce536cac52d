//go:build linux

package reactor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/sender"
)

// InFlight is an operation in flight, for humans: see [Loop.InFlight].
type InFlight struct {
	Operation string        // the name of the operation state without Op: "Recv", "Dial", "Sleep", …
	Fd        int           // the descriptor that it is about, or -1
	Age       time.Duration // since Start, in steps of a millisecond; wrong for operations older than 52 days
	State     string        // "in the ring", "waits", "completes", "is cancelled", "timer", "waits for Recv", …
	Where     string        // of a task, file:line of the program where it awaits; "" if unknown
}

// String returns one line.
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
// each of them does. On the loop's thread, which does nothing else until it returns; [WriteInFlight] is for other
// threads.
func (l *Loop) InFlight() []InFlight {
	l.assertOnThread()
	q := inFlightQuery{l: l}
	for q.next() {
	}
	return q.sorted()
}

// inFlightQuery lists what is in flight, a page of slots at a time, and then the tasks.
type inFlightQuery struct {
	work   sender.Work
	l      *Loop
	ctx    context.Context //nolint:containedctx // that of the thread that waits for the answer
	answer chan struct{}   // closed when the list is complete, or the loop has ended
	ended  bool            // it has ended

	pages int // that are done
	names map[reflect.Type]string
	all   []InFlight
}

// next does a page, and reports whether there are more.
func (q *inFlightQuery) next() (more bool) {
	pages := q.l.slots.pages
	if q.pages == len(pages) {
		q.all = append(q.all, q.l.tasksInFlight()...)
		return false
	}
	now := q.l.sys.Clock()
	for i := range pages[q.pages] {
		if s := &pages[q.pages][i]; s.run != nil && s.run != operation(q.l.tasks) {
			q.all = append(q.all, s.describe(q.name(s.run), now))
		}
	}
	q.pages++
	return true
}

// name returns the name of an operation's type from a cache.
func (q *inFlightQuery) name(run operation) string {
	t := reflect.TypeOf(run)
	name, ok := q.names[t]
	if !ok {
		if q.names == nil {
			q.names = map[reflect.Type]string{}
		}
		name = operationName(run)
		q.names[t] = name
	}
	return name
}

// sorted returns the list, the oldest first.
func (q *inFlightQuery) sorted() []InFlight {
	slices.SortStableFunc(q.all, func(a, b InFlight) int { return cmp.Compare(b.Age, a.Age) })
	return q.all
}

// pagesATurn bounds what a query does in one turn of the loop.
const pagesATurn = 8

// Run does a part of the query, on the loop's thread.
func (q *inFlightQuery) Run() {
	for range pagesATurn {
		if !q.next() {
			close(q.answer)
			return
		}
	}
	if q.ctx.Err() == nil {
		q.l.Enqueue(&q.work)
	}
}

// Abandon ends the query, because the loop has ended.
func (q *inFlightQuery) Abandon(error) {
	q.ended = true
	close(q.answer)
}

// describe describes the operation in a slot, at a time on the loop's clock.
func (s *slot) describe(name string, now int64) InFlight {
	f := InFlight{Fd: -1, State: "timer", Operation: name}
	f.Age = time.Duration(uint32(now>>slotTime)-s.since()) << slotTime
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

// operationName returns the name of an operation's type, without package, type arguments and the suffix Op.
func operationName(run operation) string {
	name, _, _ := strings.Cut(fmt.Sprintf("%T", run), "[")
	name = name[strings.LastIndexByte(name, '.')+1:]
	return strings.TrimSuffix(name, "Op")
}

// WriteInFlight writes for humans what is in flight on the loops: a line for each operation, below one for its loop. It
// waits for each loop until ctx is done; of a loop that is blocked meanwhile it says for how long. A loop with many
// operations lists them in several turns, in which it serves others: what begins or ends meanwhile may be missing.
// From any thread.
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

// askInFlight calls InFlight from any thread.
func (l *Loop) askInFlight(ctx context.Context) ([]InFlight, error) {
	if l.coroutines.Here() {
		return l.InFlight(), nil
	}
	q := &inFlightQuery{l: l, ctx: ctx, answer: make(chan struct{})}
	q.work.Runner = q
	l.Enqueue(&q.work)
	select {
	case <-q.answer:
		if q.ended {
			return nil, fmt.Errorf("the loop has ended: %w", sender.ErrClosed)
		}
		return q.sorted(), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("no answer: %w", context.Cause(ctx))
	}
}
