package record

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// WriteCSV writes the series with a header and a line for each second. Durations are in microseconds.
func (r *Result) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"seconds", "phase", "messages_per_s", "bytes_out_per_s", "bytes_in_per_s", "opened_per_s",
		"open",
		"errors", "lost", "p50_us", "p90_us", "p99_us", "p99_9_us", "max_us", "service_p99_us", "lag_p99_us", "client_busy"})
	for _, p := range r.Series {
		us := func(ns int64) string { return strconv.FormatFloat(float64(ns)/1e3, 'f', 1, 64) }
		rate := func(n int64) string { return strconv.FormatFloat(perSecond(n, p.Length), 'f', 1, 64) }
		_ = out.Write([]string{strconv.FormatFloat(p.Seconds, 'f', 3, 64), string(p.Kind), rate(p.Messages), rate(p.BytesOut),
			rate(p.BytesIn), rate(p.Opened), strconv.Itoa(p.Open), strconv.FormatInt(p.Errors.Total(),
				10), strconv.FormatInt(p.Lost, 10),
			us(p.P50), us(p.P90), us(p.P99), us(p.P999), us(p.Max), us(p.Service), us(p.Lag), strconv.FormatFloat(p.Busy, 'f', 3,
				64)})
	}
	out.Flush()
	return out.Error() // includes errors of Write
}

// Log writes histograms in HdrHistogram's log format: for each second one of the latency and, with a tag, one of the
// service time. See https://github.com/HdrHistogram.
type Log struct {
	w     *hdrhistogram.HistogramLogWriter
	start time.Time
}

// NewLog returns a log whose times count from start.
func NewLog(w io.Writer, start time.Time) (*Log, error) {
	l := &Log{hdrhistogram.NewHistogramLogWriter(w), start}
	for _, step := range []func() error{
		func() error { return l.w.OutputComment("[Logged by reactord bench, in nanoseconds]") },
		l.w.OutputLogFormatVersion,
		func() error { return l.w.OutputStartTime(start.UnixMilli()) },
		l.w.OutputLegend,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	l.w.SetBaseTime(start.UnixMilli())
	return l, nil
}

// Write adds a window, with the times of its beginning and its end since the log's start.
func (l *Log) Write(from, until time.Duration, w *Window) error {
	for _, h := range []struct {
		tag  string
		hist *Histogram
	}{{"", w.Latency}, {"service", w.Service}} {
		hdr := h.hist.whole()
		hdr.SetTag(h.tag)
		hdr.SetStartTimeMs(l.start.Add(from).UnixMilli())
		hdr.SetEndTimeMs(l.start.Add(until).UnixMilli())
		if err := l.w.OutputIntervalHistogram(hdr); err != nil {
			return fmt.Errorf("histogram log: %w", err)
		}
	}
	return nil
}
