package logging

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Recent remembers the last lines of a log for the status page: those of level info and above, whatever the log's own
// level is. Lines that repeat one another soon, as warnings about a limit do, are one line.
type Recent struct {
	mu    sync.Mutex
	lines []Line // by their numbers
	last  uint64 // the number of the last line; 0 before the first
}

// Line is a line of a log.
type Line struct {
	Number  uint64 // counts the lines, from 1; that of the last repetition
	At      time.Time
	Times   int // that it was written
	Level   zapcore.Level
	Message string
	Fields  []byte // a JSON object, without texts of several lines such as stacks; read only
}

const (
	maxRecent = 256
	maxFields = 2 << 10         // bytes of a line's fields; of a line with more they are left out
	soon      = 5 * time.Second // for repetitions
)

// After returns the remembered lines after the one with this number, in order. It may be called from any goroutine.
func (r *Recent) After(number uint64) []Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, _ := slices.BinarySearchFunc(r.lines, number+1, func(l Line, n uint64) int { return cmp.Compare(l.Number, n) })
	return slices.Clone(r.lines[i:])
}

func (r *Recent) add(l Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	l.Number, l.Times = r.last, 1
	same := slices.IndexFunc(r.lines, l.repeats)
	switch {
	case same >= 0:
		l.Times += r.lines[same].Times
		r.lines = slices.Delete(r.lines, same, same+1)
	case len(r.lines) == maxRecent:
		r.lines = slices.Delete(r.lines, 0, 1)
	}
	r.lines = append(r.lines, l)
}

func (l Line) repeats(before Line) bool {
	return l.At.Sub(before.At) < soon && l.Message == before.Message && l.Level == before.Level &&
		bytes.Equal(l.Fields, before.Fields)
}

// recentCore is the zap core that fills a [Recent].
type recentCore struct {
	zapcore.LevelEnabler
	recent *Recent
	fields zapcore.Encoder // with those of With
}

func newRecentCore(r *Recent) *recentCore {
	c := forMachines()
	c.TimeKey, c.LevelKey, c.NameKey, c.MessageKey, c.StacktraceKey = "", "", "", "", ""
	c.EncodeDuration = zapcore.StringDurationEncoder
	return &recentCore{zapcore.InfoLevel, r, zapcore.NewJSONEncoder(c)}
}

// With implements [zapcore.Core].
func (c *recentCore) With(fields []zap.Field) zapcore.Core {
	with := *c
	with.fields = c.fields.Clone()
	for _, f := range fields {
		f.AddTo(with.fields)
	}
	return &with
}

// Check implements [zapcore.Core].
func (c *recentCore) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return to.AddCore(e, c)
	}
	return to
}

// Write implements [zapcore.Core].
func (c *recentCore) Write(e zapcore.Entry, fields []zap.Field) error {
	var short []zap.Field
	for _, f := range fields {
		if f.Type != zapcore.ByteStringType { // a stack
			short = append(short, f)
		}
	}
	text, err := c.fields.EncodeEntry(e, short)
	if err != nil {
		return err
	}
	defer text.Free()
	l := Line{At: e.Time, Level: e.Level, Message: e.Message, Fields: []byte("{}")}
	if object := bytes.TrimSpace(text.Bytes()); len(object) <= maxFields {
		l.Fields = bytes.Clone(object)
	}
	c.recent.add(l)
	return nil
}

// Sync implements [zapcore.Core].
func (c *recentCore) Sync() error { return nil }
