package record

// Sample is what the target held at one moment of a soak.
type Sample struct {
	Seconds     float64 `json:"seconds"`     // since the run started
	Kind        Kind    `json:"kind"`        // of the phase
	Connections int64   `json:"connections"` // made up to then
	Memory      int64   `json:"memory_bytes"`
	Descriptors int     `json:"descriptors"`
	Threads     int     `json:"threads"`
	LiveHeap    int64   `json:"live_heap_bytes,omitempty"` // what the last garbage collection left, if the target tells
	Goroutines  int     `json:"goroutines,omitempty"`      // if the target tells
}

// Trend is how one of the figures of a sample went in the second half of a soak, which is what is judged.
type Trend struct {
	Figure  string  `json:"figure"`
	Unit    string  `json:"unit,omitempty"` // B, or none
	Median  float64 `json:"median"`
	After   float64 `json:"after"` // once the load was over
	Slope   float64 `json:"slope_per_second"`
	Low     float64 `json:"slope_low_per_second"` // the slope is at least this, with a confidence of 97.5 %
	Allowed float64 `json:"allowed_per_second"`
	Grows   bool    `json:"grows"`
}
