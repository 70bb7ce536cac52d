package logging

import (
	"bytes"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Recent remembers the last lines of a log for the status page: those of level info and above, whatever the log's own
// level is.
type Recent struct {
	mu    sync.Mutex
	lines [maxRecent]Line // line n is at n%maxRecent
	last  uint64          // the number of the last line; 0: there is none
}

// Line is a line of a log.
type Line struct {
	Number  uint64 // counts the lines, from 1
	At      time.Time
	Level   zapcore.Level
	Message string
	Fields  []byte // a JSON object, without texts of several lines such as stacks; read only
}

const (
	maxRecent = 256
	maxFields = 2 << 10 // bytes of a line's fields; of a line with more they are left out
)

// After is the lines after the one with the number, in order, as far as they are remembered. From any goroutine.
func (r *Recent) After(number uint64) []Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	if number >= r.last {
		return nil
	}
	n := min(r.last-number, maxRecent)
	all := make([]Line, 0, n)
	for i := r.last - n + 1; i <= r.last; i++ {
		all = append(all, r.lines[i%maxRecent])
	}
	return all
}

func (r *Recent) add(l Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	l.Number = r.last
	r.lines[l.Number%maxRecent] = l
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
