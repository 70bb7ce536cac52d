//go:build linux

package reactor

import (
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/timerqueue"
	"golang.org/x/sys/unix"
)

// The errors that LoopConfig.OnMisuse receives match one of these.
var (
	ErrNotClosed   = errors.New("descriptors were not closed")
	ErrNotReleased = errors.New("leases were not released")
)

// misuse reports to the program what it does wrong. On the loop's thread.
func (l *Loop) misuse(err error) {
	if f := l.cfg.OnMisuse; f != nil {
		f(err)
	} else {
		log.Print(err)
	}
}

// reportLeft reports what the program has left behind at the end of Run.
func (l *Loop) reportLeft() {
	if l.reported {
		return // OnMisuse has called runtime.Goexit
	}
	l.reported = true
	if n := l.owned.count(); n != 0 {
		l.misuse(fmt.Errorf("reactor: a Loop has ended, and %d %w: %s: start Close of each of them, which works "+
			"while the Loop drains", n, ErrNotClosed, l.owned.list()))
	}
	if n := l.leasedBytes(); n != 0 {
		l.misuse(fmt.Errorf("reactor: a Loop has ended, and %w: %d bytes, which stay mapped: call Release of every "+
			"Lease, also when an operation is stopped", ErrNotReleased, n))
	}
}

// list returns the first numbers of the descriptors that are owned, in words.
func (t *ownedFDs) list() string {
	const most = 8
	var names []string
	t.each(func(fd int) {
		if len(names) < most {
			names = append(names, fmt.Sprint(fd))
		}
	})
	if t.count() > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// exhaustion notices that receives wait for buffers that are not released.
type exhaustion struct {
	timer timerqueue.Timer
	moves uint64 // starvation.moves when the timer was set
	told  int64  // when it was last reported, on the loop's clock; 0 if never
}

const (
	exhaustedAfter = 5 * time.Second // in which no buffer was released, although receives wait
	exhaustedPause = time.Minute     // between two reports
)

// noticeExhausted sets the timer of a report, because a receive begins to wait for a buffer.
func (b *Buffers) noticeExhausted() {
	if e := &b.exhausted; b.inRing == 0 && len(b.free) == 0 && !e.timer.Pending() {
		e.moves = b.starved.moves
		b.loop.timers.Push(&e.timer, b.loop.now+int64(exhaustedAfter))
	}
}

// reportExhausted is a Buffers as the handler of that timer.
type reportExhausted Buffers

func (r *reportExhausted) OnTimer(now int64) {
	b := (*Buffers)(r)
	e := &b.exhausted
	switch waiting := b.len(&b.waiting); {
	case waiting == 0:
	case e.moves != b.starved.moves: // some were released
		b.noticeExhausted()
	case e.told == 0 || now-e.told >= int64(exhaustedPause):
		e.told = now
		b.loop.misuse(fmt.Errorf("reactor: %d receives have waited for a buffer for %v, and %w: all %d buffers, %d bytes: "+
			"call Release of every Lease, or raise BufferConfig.Limit", waiting, exhaustedAfter, ErrNotReleased,
			b.leased, b.leasedBytes()))
	}
}

// forgotten holds the resources of a loop that has never run.
type forgotten struct {
	ring host.Ring
	mem  []byte
}

// free frees them when the garbage collector has found that nothing refers to the loop.
func (f forgotten) free() {
	_ = f.ring.Close()
	_ = unix.Munmap(f.mem)
	log.Print("reactor: a Loop was made and forgotten, and is freed now: call its Run, or Discard if it is not to run")
}
