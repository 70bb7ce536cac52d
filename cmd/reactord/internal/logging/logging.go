package logging

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"
)

// New makes a logger that writes to out. level is the least severe level to write: "debug", "info", "warn" or "error".
// format is "json", "console", or "auto": console if out is a terminal, and json if not. least changes the level at any
// time, from any goroutine. end writes what is queued and ends the logger. It does not close out.
func New(out *os.File, level, format string) (log *zap.Logger, least zap.AtomicLevel, end func() error, err error) {
	least = zap.NewAtomicLevel()
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, least, nil, fmt.Errorf("log level: %w", err)
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
		return nil, least, nil, fmt.Errorf("log format %q is unknown", format)
	}
	direct := zap.New(zapcore.NewCore(encoder, zapcore.AddSync(out), zapcore.WarnLevel))
	q := newQueue(out, queueBytes, func(lines uint64) {
		direct.Warn("log lines were dropped: the log's reader is too slow", zap.Uint64("lines", lines))
	})
	return zap.New(zapcore.NewCore(encoder, q, least)), least, q.Close, nil
}

// forMachines has the names of fields that log collectors expect. Times are RFC 3339 in UTC with microseconds;
// durations are in seconds.
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

// forPeople has short lines: the time of the day, the level (coloured on a terminal), and the message.
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
