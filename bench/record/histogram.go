package record

import (
	"encoding/json"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// MaxValue is the longest duration that a histogram tells apart; what is longer counts as that.
const MaxValue = time.Hour

// Histogram is a histogram of durations, exact to three significant digits. Its JSON is a summary
// together with the whole histogram.
type Histogram struct{ hdr *hdrhistogram.Histogram }

// NewHistogram is an empty histogram.
func NewHistogram() *Histogram {
	return &Histogram{hdrhistogram.New(1, int64(MaxValue), 3)}
}

// Record adds a duration in nanoseconds. One that is negative counts as 0.
func (h *Histogram) Record(ns int64) {
	_ = h.hdr.RecordValue(min(max(ns, 0), int64(MaxValue))) // it is in the range
}

// Add adds all that g has.
func (h *Histogram) Add(g *Histogram) {
	if g.Count() != 0 {
		h.hdr.Merge(g.hdr)
	}
}

// Reset empties it.
func (h *Histogram) Reset() {
	if h.Count() != 0 {
		h.hdr.Reset()
	}
}

// Count is how many durations it holds.
func (h *Histogram) Count() int64 { return h.hdr.TotalCount() }

// At is the duration that p per cent of all do not exceed; 0 of none.
func (h *Histogram) At(p float64) time.Duration { return time.Duration(h.hdr.ValueAtPercentile(p)) }

// Max is the longest.
func (h *Histogram) Max() time.Duration { return time.Duration(h.hdr.Max()) }

// Min is the shortest.
func (h *Histogram) Min() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.hdr.Min())
}

// Mean is the average.
func (h *Histogram) Mean() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.hdr.Mean())
}

// summary is the JSON of a Histogram.
type summary struct {
	Count  int64  `json:"count"`
	Min    int64  `json:"min_ns"`
	Mean   int64  `json:"mean_ns"`
	P50    int64  `json:"p50_ns"`
	P90    int64  `json:"p90_ns"`
	P99    int64  `json:"p99_ns"`
	P999   int64  `json:"p99_9_ns"`
	P9999  int64  `json:"p99_99_ns"`
	Max    int64  `json:"max_ns"`
	Coding string `json:"hdr"`
}

// MarshalJSON implements json.Marshaler.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	coding, err := h.hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, err
	}
	return json.Marshal(summary{
		Count: h.Count(), Min: int64(h.Min()), Mean: int64(h.Mean()), Max: int64(h.Max()),
		P50: int64(h.At(50)), P90: int64(h.At(90)), P99: int64(h.At(99)),
		P999: int64(h.At(99.9)), P9999: int64(h.At(99.99)), Coding: string(coding),
	})
}

// UnmarshalJSON implements json.Unmarshaler.
func (h *Histogram) UnmarshalJSON(text []byte) error {
	var s summary
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	hdr, err := hdrhistogram.Decode([]byte(s.Coding))
	if err != nil {
		return err
	}
	h.hdr = hdr
	return nil
}
