package accesslog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/host/account"
	"go.uber.org/zap"
)

// Stats counts lines by their outcome. Several writers may share it, one after another.
type Stats struct {
	Lines   atomic.Uint64 // written
	Dropped atomic.Uint64 // dropped because their reader was too slow
	Errors  atomic.Uint64 // write errors; the lines are written later
}

// Writer is an open access log.
type Writer struct {
	settings config.AccessLog
	format   format
	queue    *queue
	stats    *Stats
	log      *zap.Logger
	delay    time.Duration // delay of a write, to batch further lines

	dropped atomic.Uint64 // the part of Stats.Dropped of this log

	wake     chan struct{} // a record is queued
	reopen   chan struct{} // the file is to be reopened
	lost     chan struct{} // lines were dropped
	quit     chan struct{} // closed by Close
	ended    chan struct{} // writing has ended
	final    chan struct{} // dropping has ended
	reported chan struct{} // all drops are reported
	close    sync.Once

	abort context.CancelFunc // stops the target from waiting

	// Owned by the goroutine.
	target      target
	lines       []byte    // to be written
	partial     bool      // the first line is partly written
	until       time.Time // when a closing writer gives up; zero before Close
	errorLogged time.Time // when an error was last logged
}

const (
	maxDelay = 10 * time.Millisecond
	// maxBatch is the approximate maximum number of bytes of a write.
	maxBatch = 64 << 10
	// backoff is the delay between attempts to write to a file that accepts nothing.
	backoff = 100 * time.Millisecond
	// closeTimeout limits how long Close tries to write.
	closeTimeout = time.Second
)

// Open opens a log. Errors name the path. Later errors are logged to log.
func Open(c config.AccessLog, stats *Stats, log *zap.Logger) (*Writer, error) {
	f, err := newFormat(&c)
	if err != nil {
		return nil, err
	}
	size := cmp.Or(c.Queue, config.New().AccessLog.Queue)
	w := &Writer{
		settings: c, format: f, queue: newQueue(size), stats: stats, log: log,
		delay: min(time.Duration(size)*time.Microsecond, maxDelay),
		wake:  make(chan struct{}, 1), reopen: make(chan struct{}, 1), lost: make(chan struct{}, 1),
		quit: make(chan struct{}), ended: make(chan struct{}), final: make(chan struct{}), reported: make(chan struct{}),
	}
	ctx, abort := context.WithCancel(context.Background())
	if w.target, err = open(ctx, &w.settings); err != nil {
		abort()
		return nil, fmt.Errorf("access_log: %w", err)
	}
	w.abort = abort
	go w.run()
	go w.report()
	return w, nil
}

// Settings returns the settings of the log.
func (w *Writer) Settings() *config.AccessLog { return &w.settings }

// Wants reports whether the lines include this field.
func (w *Writer) Wants(field string) bool { return w.format.wants(field) }

// Log queues a record, or drops it if the queue is full. Texts may contain anything: JSON escapes them as usual, and
// the other formats escape spaces, backslashes, quotation marks and everything but printable ASCII as \xNN.
func (w *Writer) Log(r *Record) {
	ok, first := w.queue.put(r)
	switch {
	case !ok:
		w.countDropped(1)
	case first:
		signal(w.wake)
	}
}

// Reopen reopens the file, asynchronously. If that fails, the old one stays in use.
func (w *Writer) Reopen() { signal(w.reopen) }

// Close writes the queued records for at most a second, and ends the log. The rest is dropped and counted. Records
// logged meanwhile or later may be lost.
func (w *Writer) Close() {
	w.close.Do(func() {
		close(w.quit)
		giveUp := time.NewTimer(closeTimeout + 2*writeTimeout)
		defer giveUp.Stop()
		select {
		case <-w.ended:
		case <-giveUp.C: // the standard output or the network blocks
			w.dropQueued()
		}
		w.abort()
		close(w.final)
	})
	<-w.reported
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (w *Writer) run() {
	defer close(w.ended)
	for w.until.IsZero() {
		select {
		case <-w.wake:
			w.pause(w.delay)
		case <-w.reopen:
			w.reopenTarget()
		case <-w.quit:
			w.until = time.Now().Add(closeTimeout)
		}
		w.writeQueued()
	}
	w.writeQueued() // lines queued during the last write
	if err := w.target.close(); err != nil {
		w.countError(err)
	}
}

// pause waits, unless the writer is closing.
func (w *Writer) pause(d time.Duration) {
	if !w.until.IsZero() {
		d = min(d, time.Until(w.until))
		time.Sleep(d)
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.quit:
		w.until = time.Now().Add(closeTimeout)
	}
}

// writeQueued writes the queued records.
func (w *Writer) writeQueued() {
	count := uint64(0)
	for n := w.queue.takeAll(); n != 0; {
		w.lines = w.format.append(w.lines, &w.queue.slot(n).Record)
		count++
		if n = w.queue.release(n); n == 0 || len(w.lines) >= maxBatch {
			lost := w.writeLines()
			w.stats.Lines.Add(count - min(lost, count))
			count = 0
		}
	}
}

// writeLines writes w.lines, however long that takes, unless the writer is closing. It returns the number of lost
// lines.
func (w *Writer) writeLines() (lost uint64) {
	for len(w.lines) > 0 {
		if !w.until.IsZero() && time.Now().After(w.until) {
			return lost + w.drop(len(w.lines))
		}
		n, err := w.target.write(w.lines)
		if n > 0 {
			w.partial = w.lines[n-1] != '\n'
			w.lines = w.lines[:copy(w.lines, w.lines[n:])]
		}
		if err == nil {
			continue
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
		case errors.Is(err, syscall.EMSGSIZE):
			w.countError(err)
			lost += w.drop(bytes.IndexByte(w.lines, '\n') + 1)
		default:
			w.countError(err)
			w.pause(backoff)
		}
		select {
		case <-w.reopen:
			lost += w.reopenTarget()
		case <-w.quit:
			if w.until.IsZero() {
				w.until = time.Now().Add(closeTimeout)
			}
		default:
		}
	}
	return lost
}

// reopenTarget reopens the file. A line that was partly written to the old one is lost.
func (w *Writer) reopenTarget() (lost uint64) {
	closed, err := w.target.reopen()
	if err != nil {
		w.log.Error("cannot reopen the access log, keeping the old file", zap.Error(err),
			zap.String("user", account.Name()))
		return 0
	}
	if closed != nil {
		w.countError(closed)
	}
	if w.partial {
		lost = w.drop(bytes.IndexByte(w.lines, '\n') + 1)
	}
	w.log.Info("access log reopened", zap.String("to", w.settings.Target()))
	return lost
}

// drop drops n bytes of lines.
func (w *Writer) drop(n int) (lost uint64) {
	lost = uint64(bytes.Count(w.lines[:n], []byte{'\n'}))
	w.countDropped(lost)
	w.lines, w.partial = w.lines[:copy(w.lines, w.lines[n:])], false
	return lost
}

// countError counts a write error, and logs it at most once a second.
func (w *Writer) countError(err error) {
	w.stats.Errors.Add(1)
	if due(&w.errorLogged) {
		w.log.Error("cannot write the access log, retrying", zap.Error(err))
	}
}

// countDropped counts dropped lines. It may be called from any thread.
func (w *Writer) countDropped(n uint64) {
	if n != 0 {
		w.dropped.Add(n)
		w.stats.Dropped.Add(n)
		signal(w.lost)
	}
}

// dropQueued drops the queued records.
func (w *Writer) dropQueued() {
	lost := uint64(0)
	for n := w.queue.takeAll(); n != 0; n = w.queue.release(n) {
		lost++
	}
	w.countDropped(lost)
}

// report logs dropped lines, at most once a second, until the log has ended. It runs on a separate goroutine, because
// the writing one may be stuck.
func (w *Writer) report() {
	defer close(w.reported)
	for reported, ends := uint64(0), false; !ends; {
		select {
		case <-w.lost:
		case <-w.final:
			ends = true
		}
		if n := w.dropped.Load(); n != reported {
			w.log.Warn("access log lines dropped: their reader is too slow",
				zap.String("to", w.settings.Target()), zap.Uint64("lines", n-reported))
			reported = n
			select {
			case <-time.After(time.Second):
			case <-w.final:
			}
		}
	}
}

// due reports whether a second has passed since last, and updates it.
func due(last *time.Time) bool {
	now := time.Now()
	if now.Sub(*last) < time.Second {
		return false
	}
	*last = now
	return true
}
