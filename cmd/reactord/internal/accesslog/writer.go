package accesslog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/account"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"go.uber.org/zap"
)

// Stats counts what becomes of lines. Several writers may share it, one after another.
type Stats struct {
	Lines   atomic.Uint64 // written
	Dropped atomic.Uint64 // because the file took too little
	Errors  atomic.Uint64 // of writing; the lines are written later
}

// Writer is an open access log.
type Writer struct {
	settings config.AccessLog
	format   format
	queue    *queue
	stats    *Stats
	log      *zap.Logger
	delay    time.Duration // between a first line and its write, for others to be written with it

	dropped atomic.Uint64 // those of Stats.Dropped that were for this log

	wake   chan struct{} // something is queued
	reopen chan struct{} // the file is to be opened anew
	lost   chan struct{} // lines were dropped
	quit   chan struct{} // closed by Close
	ended  chan struct{} // nothing is written any more
	final  chan struct{} // no line is dropped any more
	told   chan struct{} // all drops are reported
	close  sync.Once

	// What the goroutine has.
	file    *os.File
	lines   []byte    // to be written
	partial bool      // the beginning of the first of them is written
	until   time.Time // when a writer that ends gives up; zero: it does not end
	blamed  time.Time // when an error was logged
}

const (
	maxDelay = 10 * time.Millisecond
	// maxBatch is about how many bytes are written with one call.
	maxBatch = 64 << 10
	// backoff is the time between two attempts to write to a file that takes nothing.
	backoff = 100 * time.Millisecond
	// closing is how long Close tries to write.
	closing = time.Second
)

// Open opens a log, as its settings say. Errors name the path. What goes wrong later is written to log.
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
		quit: make(chan struct{}), ended: make(chan struct{}), final: make(chan struct{}), told: make(chan struct{}),
	}
	if w.file, err = open(c.Path, os.FileMode(c.Mode)); err != nil {
		return nil, fmt.Errorf("access_log: %w", err)
	}
	go w.run()
	go w.report()
	return w, nil
}

// Settings are the settings of the log.
func (w *Writer) Settings() *config.AccessLog { return &w.settings }

// Wants reports whether a line shows this field, or what is made of it.
func (w *Writer) Wants(field string) bool { return w.format.wants(field) }

// Log queues a line. If there is no room, it is dropped. Texts of the record may be anything: in JSON they are escaped
// as JSON says, and in the other formats what is not a printable character of ASCII is \xNN, and so are spaces,
// backslashes and quotation marks.
func (w *Writer) Log(r *Record) {
	ok, first := w.queue.put(r)
	switch {
	case !ok:
		w.lose(1)
	case first:
		signal(w.wake)
	}
}

// Reopen has the file opened anew. It returns before that is done. If it cannot be opened, the old one is used still.
func (w *Writer) Reopen() { signal(w.reopen) }

// Close writes what is queued, for a second at most, and ends the log. What is not written then is dropped and counted.
// What is logged meanwhile, or later, may be lost.
func (w *Writer) Close() {
	w.close.Do(func() {
		close(w.quit)
		giveUp := time.NewTimer(closing + 2*patience)
		defer giveUp.Stop()
		select {
		case <-w.ended:
		case <-giveUp.C: // the standard output blocks
			w.loseQueued()
		}
		close(w.final)
	})
	<-w.told
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
			w.rest(w.delay)
		case <-w.reopen:
			w.openAnew()
		case <-w.quit:
			w.until = time.Now().Add(closing)
		}
		w.writeQueued()
	}
	w.writeQueued() // what came while the last lines were written
	if err := closeFile(w.file); err != nil {
		w.failed(err)
	}
}

// rest waits, unless the writer ends.
func (w *Writer) rest(d time.Duration) {
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
		w.until = time.Now().Add(closing)
	}
}

// writeQueued writes what is queued.
func (w *Writer) writeQueued() {
	count := uint64(0)
	for n := w.queue.all(); n != 0; {
		w.lines = w.format.append(w.lines, &w.queue.slot(n).Record)
		count++
		if n = w.queue.give(n); n == 0 || len(w.lines) >= maxBatch {
			lost := w.writeLines()
			w.stats.Lines.Add(count - min(lost, count))
			count = 0
		}
	}
}

// writeLines writes w.lines, however long that takes, unless the writer ends. It returns how many lines were lost.
func (w *Writer) writeLines() (lost uint64) {
	for len(w.lines) > 0 {
		if !w.until.IsZero() && time.Now().After(w.until) {
			return lost + w.drop(len(w.lines))
		}
		n, err := writeSome(w.file, w.lines)
		if n > 0 {
			w.partial = w.lines[n-1] != '\n'
			w.lines = w.lines[:copy(w.lines, w.lines[n:])]
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			w.failed(err)
			w.rest(backoff)
		}
		select {
		case <-w.reopen:
			lost += w.openAnew()
		case <-w.quit:
			if w.until.IsZero() {
				w.until = time.Now().Add(closing)
			}
		default:
		}
	}
	return lost
}

// openAnew opens the file anew. A line whose beginning is in the old one is lost.
func (w *Writer) openAnew() (lost uint64) {
	f, err := open(w.settings.Path, os.FileMode(w.settings.Mode))
	if err != nil {
		w.log.Error("the access log cannot be opened anew: the old file is used still", zap.Error(err),
			zap.String("user", account.Name()))
		return 0
	}
	if err := closeFile(w.file); err != nil {
		w.failed(err)
	}
	w.file = f
	if w.partial {
		lost = w.drop(bytes.IndexByte(w.lines, '\n') + 1)
	}
	w.log.Info("the access log was opened anew", zap.String("path", w.settings.Path))
	return lost
}

// drop drops so many bytes of lines.
func (w *Writer) drop(n int) (lost uint64) {
	lost = uint64(bytes.Count(w.lines[:n], []byte{'\n'}))
	w.lose(lost)
	w.lines, w.partial = w.lines[:copy(w.lines, w.lines[n:])], false
	return lost
}

// failed notes an error of writing.
func (w *Writer) failed(err error) {
	w.stats.Errors.Add(1)
	if due(&w.blamed) {
		w.log.Error("the access log cannot be written; retrying", zap.Error(err))
	}
}

// lose counts lines that are dropped. From any thread.
func (w *Writer) lose(n uint64) {
	if n != 0 {
		w.dropped.Add(n)
		w.stats.Dropped.Add(n)
		signal(w.lost)
	}
}

// loseQueued drops what is queued.
func (w *Writer) loseQueued() {
	lost := uint64(0)
	for n := w.queue.all(); n != 0; n = w.queue.give(n) {
		lost++
	}
	w.lose(lost)
}

// report logs that lines were dropped, once a second at most, until the log has ended. It is a goroutine of its own:
// the one that writes may be stuck.
func (w *Writer) report() {
	defer close(w.told)
	for reported, ends := uint64(0), false; !ends; {
		select {
		case <-w.lost:
		case <-w.final:
			ends = true
		}
		if n := w.dropped.Load(); n != reported {
			w.log.Warn("lines of the access log were dropped: its file takes too little",
				zap.String("path", w.settings.Path), zap.Uint64("lines", n-reported))
			reported = n
			select {
			case <-time.After(time.Second):
			case <-w.final:
			}
		}
	}
}

// due lets one message a second pass; last is when one has.
func due(last *time.Time) bool {
	now := time.Now()
	if now.Sub(*last) < time.Second {
		return false
	}
	*last = now
	return true
}
