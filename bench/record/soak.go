package record

// Sample is what the target held at one time of a soak.
type Sample struct {
	Seconds     float64 `json:"seconds"`     // since the run started
	Kind        Kind    `json:"kind"`        // of the phase
	Connections int64   `json:"connections"` // opened since the run started
	Memory      int64   `json:"memory_bytes"`
	Descriptors int     `json:"descriptors"`
	Threads     int     `json:"threads"`
	LiveHeap    int64   `json:"live_heap_bytes,omitempty"` // after the last garbage collection, if the target exports it
	Goroutines  int     `json:"goroutines,omitempty"`      // if the target exports it
}

// Trend is the change of one figure of the samples in the second half of a soak, which is judged.
type Trend struct {
	Figure  string  `json:"figure"`
	Unit    string  `json:"unit,omitempty"` // B, or none
	Median  float64 `json:"median"`
	After   float64 `json:"after"` // the figure after the load
	Slope   float64 `json:"slope_per_second"`
	Low     float64 `json:"slope_low_per_second"` // lower bound of the slope, with a confidence of 97.5 %
	Allowed float64 `json:"allowed_per_second"`
	Grows   bool    `json:"grows"`
}
