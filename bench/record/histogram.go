package record

import (
	"encoding/json"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// MaxValue is the longest duration that a histogram tells apart; what is longer counts as that.
const MaxValue = time.Hour

// Histogram is a histogram of durations, exact to three significant digits. Its JSON is a summary
// together with the whole histogram.
//
// What is recorded is counted in fresh, in buckets that are laid out as HdrHistogram's are; the first
// that wants to know moves it on. So recording is one increment.
type Histogram struct {
	hdr   *hdrhistogram.Histogram
	fresh []int64
	some  bool // there is something in fresh
}

// The buckets: as many as halfBuckets for each power of two, so that each is exact to a part in so many.
const (
	halfBuckets = 1 << 10
	exactBits   = 11 // the durations of so many bits have a bucket each
)

// NewHistogram is an empty histogram.
func NewHistogram() *Histogram {
	return &Histogram{hdr: hdrhistogram.New(1, int64(MaxValue), 3)}
}

// bucket is the place of a duration in fresh; of one that is negative, beyond any.
func bucket(ns int64) int {
	power := bits.Len64(uint64(ns)|(1<<exactBits-1)) - exactBits
	return power*halfBuckets + int(uint64(ns)>>power)
}

// bucketStart is the shortest duration that is in a bucket.
func bucketStart(i int) int64 {
	power := max(i/halfBuckets-1, 0)
	return int64(i-power*halfBuckets) << power
}

// Record adds a duration in nanoseconds. One that is negative counts as 0.
func (h *Histogram) Record(ns int64) {
	i := bucket(ns)
	if i >= len(h.fresh) {
		i = h.grow(ns)
	}
	h.fresh[i]++
	h.some = true
}

// grow makes the buckets at the first time, and finds that of a duration which is out of range.
func (h *Histogram) grow(ns int64) int {
	if h.fresh == nil {
		h.fresh = make([]int64, bucket(int64(MaxValue))+1)
	}
	return bucket(min(max(ns, 0), int64(MaxValue)))
}

// whole is the histogram with all that was recorded.
func (h *Histogram) whole() *hdrhistogram.Histogram {
	if h.some {
		for i, n := range h.fresh {
			if n != 0 {
				_ = h.hdr.RecordValues(bucketStart(i), n) // it is in the range
			}
		}
		clear(h.fresh)
		h.some = false
	}
	return h.hdr
}

// Add adds all that g has.
func (h *Histogram) Add(g *Histogram) {
	if g.Count() != 0 {
		h.hdr.Merge(g.whole())
	}
}

// Reset empties it.
func (h *Histogram) Reset() {
	if h.Count() != 0 {
		h.hdr.Reset()
	}
}

// Count is how many durations it holds.
func (h *Histogram) Count() int64 { return h.whole().TotalCount() }

// At is the duration that p per cent of all do not exceed; 0 of none.
func (h *Histogram) At(p float64) time.Duration { return time.Duration(h.whole().ValueAtPercentile(p)) }

// Max is the longest.
func (h *Histogram) Max() time.Duration { return time.Duration(h.whole().Max()) }

// Min is the shortest.
func (h *Histogram) Min() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.whole().Min())
}

// Mean is the average.
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
