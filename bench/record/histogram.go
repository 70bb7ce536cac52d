package record

import (
	"encoding/json"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// MaxValue is the longest duration of a histogram. A longer one counts as MaxValue.
const MaxValue = time.Hour

// Histogram is a histogram of durations, exact to three significant digits. Its JSON has a summary and the complete
// histogram.
//
// Durations are counted in fresh, whose buckets are those of HdrHistogram. The first method that reads moves the counts
// to the histogram. So recording is one increment.
type Histogram struct {
	hdr   *hdrhistogram.Histogram
	fresh []int64
	some  bool // fresh has counts
}

// Each power of two has halfBuckets buckets, so that the relative error is at most 1/halfBuckets.
const (
	halfBuckets = 1 << 10
	exactBits   = 11 // durations of up to this many bits have their own bucket
)

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram {
	return &Histogram{hdr: hdrhistogram.New(1, int64(MaxValue), 3)}
}

// bucket returns the index of a duration in fresh. For a negative duration it is out of range.
func bucket(ns int64) int {
	power := bits.Len64(uint64(ns)|(1<<exactBits-1)) - exactBits
	return power*halfBuckets + int(uint64(ns)>>power)
}

// bucketStart returns the shortest duration of a bucket.
func bucketStart(i int) int64 {
	power := max(i/halfBuckets-1, 0)
	return int64(i-power*halfBuckets) << power
}

// Record adds a duration in nanoseconds. A negative one counts as 0.
func (h *Histogram) Record(ns int64) {
	i := bucket(ns)
	if i >= len(h.fresh) {
		i = h.grow(ns)
	}
	h.fresh[i]++
	h.some = true
}

// grow makes the buckets at the first call, and returns the bucket of a duration that is out of range.
func (h *Histogram) grow(ns int64) int {
	if h.fresh == nil {
		h.fresh = make([]int64, bucket(int64(MaxValue))+1)
	}
	return bucket(min(max(ns, 0), int64(MaxValue)))
}

// whole returns the histogram with everything that was recorded.
func (h *Histogram) whole() *hdrhistogram.Histogram {
	if h.some {
		for i, n := range h.fresh {
			if n != 0 {
				_ = h.hdr.RecordValues(bucketStart(i), n) // it is in range
			}
		}
		clear(h.fresh)
		h.some = false
	}
	return h.hdr
}

// Add adds the durations of g.
func (h *Histogram) Add(g *Histogram) {
	if g.Count() != 0 {
		h.hdr.Merge(g.whole())
	}
}

// Reset removes all durations.
func (h *Histogram) Reset() {
	if h.Count() != 0 {
		h.hdr.Reset()
	}
}

// Count returns the number of durations.
func (h *Histogram) Count() int64 { return h.whole().TotalCount() }

// At returns the duration that p per cent of all durations do not exceed, or 0 without durations.
func (h *Histogram) At(p float64) time.Duration { return time.Duration(h.whole().ValueAtPercentile(p)) }

// Max returns the longest duration.
func (h *Histogram) Max() time.Duration { return time.Duration(h.whole().Max()) }

// Min returns the shortest duration.
func (h *Histogram) Min() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.whole().Min())
}

// Mean returns the average.
func (h *Histogram) Mean() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.whole().Mean())
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
	coding, err := h.whole().Encode(hdrhistogram.V2CompressedEncodingCookieBase)
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
	*h = Histogram{hdr: hdr}
	return nil
}
