package stats

import (
	"encoding/json"
	"slices"
)

// Tally counts events by kind. Its elements are a fixed set, in a fixed order; a reading that
// is not full has only those that happened. Its JSON leaves out what never happened.
type Tally[T interface{ happened() bool }] []T

// IsZero reports whether nothing happened.
func (t Tally[T]) IsZero() bool { return !slices.ContainsFunc(t, T.happened) }

// Add adds a count, or leaves it out if nothing happened and zero is false.
func (t *Tally[T]) Add(c T, zero bool) {
	if zero || c.happened() {
		*t = append(*t, c)
	}
}

// MarshalJSON returns the counts above zero.
func (t Tally[T]) MarshalJSON() ([]byte, error) {
	all := make([]T, 0, len(t))
	for _, c := range t {
		if c.happened() {
			all = append(all, c)
		}
	}
	return json.Marshal(all)
}

// Count is the number of events with one reason. It is listed only if it is not 0.
type Count struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

func (c Count) happened() bool { return c.Count > 0 }

// Sum adds up counts, whatever the reason.
func Sum(all Tally[Count]) (n uint64) {
	for _, c := range all {
		n += c.Count
	}
	return n
}

// EndCount is the number of connections that ended in one way. It is listed only if it is not 0.
type EndCount struct {
	By    string `json:"by" doc:"What ended them, as in the metrics."`
	Phase string `json:"phase"`
	Fault string `json:"fault,omitempty" enum:"client,server,proxy,policy" doc:"Whose fault it is; policy: a limit, rule or timeout of idleness. Absent: a normal end."`
	Count uint64 `json:"count"`
}

func (e EndCount) happened() bool { return e.Count > 0 }

// Handshakes is the number of TLS handshakes with one result. It is listed only if it is not 0.
type Handshakes struct {
	Version string `json:"version" doc:"Of TLS, as 1.3; none: the sides have agreed on none."`
	Result  string `json:"result" doc:"As in the metrics: full, resumed, failed or timeout."`
	Count   uint64 `json:"count"`
}

func (h Handshakes) happened() bool { return h.Count > 0 }
