package logging

import (
	"os"
	"slices"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// retiring is a core that adds the id of the process to lines from a time on.
type retiring struct {
	zapcore.Core
	retired *atomic.Bool
}

// With implements [zapcore.Core].
func (r *retiring) With(fields []zapcore.Field) zapcore.Core {
	return &retiring{r.Core.With(fields), r.retired}
}

// Check implements [zapcore.Core].
func (r *retiring) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !r.retired.Load() {
		return r.Core.Check(e, to)
	}
	if r.Enabled(e.Level) {
		return to.AddCore(e, r)
	}
	return to
}

// Write implements [zapcore.Core].
func (r *retiring) Write(e zapcore.Entry, fields []zapcore.Field) error {
	marked := append(slices.Clip(fields), zap.Int("pid", os.Getpid()))
	if c := r.Core.Check(e, nil); c != nil { // of the cores below, those that take the level
		c.Write(marked...)
	}
	return nil
}
