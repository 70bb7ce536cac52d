package logging

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"
)

// Log is a logger with its controls.
type Log struct {
	*zap.Logger
	// Level is the lowest severity that is written. It may be changed from any goroutine.
	Level zap.AtomicLevel
	// Recent holds the last lines.
	Recent *Recent

	queue   *queue
	retired *atomic.Bool
}

// Retire adds the process id to the following lines, because another process has taken over and writes to the same
// log.
func (l *Log) Retire() { l.retired.Store(true) }

// Close writes what is queued and ends the logger. It does not close the file.
func (l *Log) Close() error { return l.queue.Close() }

// Dropped returns the number of lines dropped because the output was too slow. It takes no lock.
func (l *Log) Dropped() uint64 { return l.queue.total.Load() }

// SetLevel sets the lowest severity that is written: "debug", "info", "warn" or "error". It may be called from any
// goroutine.
func (l *Log) SetLevel(level string) error {
	least, err := parseLevel(level)
	if err == nil {
		l.Level.SetLevel(least)
	}
	return err
}

func parseLevel(text string) (level zapcore.Level, err error) {
	if err := level.Set(text); err != nil {
		return level, fmt.Errorf("log level: %w", err)
	}
	return level, nil
}

// New returns a logger that writes to out. level is the initial level, as in [Log.SetLevel]. format is "json",
// "console", or "auto", which is console if out is a terminal and json otherwise.
func New(out *os.File, level, format string) (*Log, error) {
	least, err := parseLevel(level)
	if err != nil {
		return nil, err
	}
	terminal := isTerminal(out)
	if format == "auto" {
		format = "json"
		if terminal {
			format = "console"
		}
	}
	var encoder zapcore.Encoder
	switch format {
	case "json":
		encoder = zapcore.NewJSONEncoder(forMachines())
	case "console":
		encoder = zapcore.NewConsoleEncoder(forPeople(terminal))
	default:
		return nil, fmt.Errorf("unknown log format %q", format)
	}
	direct := zap.New(zapcore.NewCore(encoder, zapcore.AddSync(out), zapcore.WarnLevel))
	q := newQueue(out, queueBytes, func(lines uint64) {
		direct.Warn("log lines dropped: output too slow", zap.Uint64("lines", lines))
	})
	current := zap.NewAtomicLevelAt(least)
	recent := &Recent{}
	both := zapcore.NewTee(zapcore.NewCore(encoder, q, current), newRecentCore(recent))
	retired := &atomic.Bool{}
	return &Log{zap.New(&retiring{both, retired}), current, recent, q, retired}, nil
}

// forMachines returns an encoding with the field names that log collectors expect. Times are RFC 3339 in UTC with
// microseconds; durations are in seconds.
func forMachines() zapcore.EncoderConfig {
	return zapcore.EncoderConfig{
		TimeKey: "time", LevelKey: "level", NameKey: "logger", MessageKey: "msg", StacktraceKey: "stack",
		EncodeLevel:    zapcore.LowercaseLevelEncoder,
		EncodeDuration: zapcore.SecondsDurationEncoder,
		EncodeTime: func(t time.Time, e zapcore.PrimitiveArrayEncoder) {
			e.AppendString(t.UTC().Format("2006-01-02T15:04:05.000000Z"))
		},
	}
}

// forPeople returns an encoding with short lines: the time of day, the level (coloured on a terminal), and the
// message.
func forPeople(colour bool) zapcore.EncoderConfig {
	c := forMachines()
	c.EncodeDuration = zapcore.StringDurationEncoder
	c.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
	c.EncodeLevel = zapcore.CapitalLevelEncoder
	if colour {
		c.EncodeLevel = zapcore.CapitalColorLevelEncoder
	}
	c.ConsoleSeparator = " "
	return c
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
