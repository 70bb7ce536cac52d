package record

// Counts are what a span of time saw.
type Counts struct {
	Messages   int64    `json:"messages"`             // that came back whole; connections, where those are what is measured
	Sent       int64    `json:"sent"`                 // that were begun
	BytesOut   int64    `json:"bytes_out"`            // handed to the kernel
	BytesIn    int64    `json:"bytes_in"`             // received
	Opened     int64    `json:"opened"`               // connections that came to stand
	Verified   int64    `json:"verified_bytes"`       // received bytes that were compared
	Lost       int64    `json:"lost,omitempty"`       // datagrams without a reply
	Reordered  int64    `json:"reordered,omitempty"`  // datagrams that came behind a later one
	Duplicates int64    `json:"duplicates,omitempty"` // datagrams that came again, or after they had been given up
	Errors     Failures `json:"errors"`
}

// Add adds the counts of d.
func (c *Counts) Add(d *Counts) {
	c.Messages += d.Messages
	c.Sent += d.Sent
	c.BytesOut += d.BytesOut
	c.BytesIn += d.BytesIn
	c.Opened += d.Opened
	c.Verified += d.Verified
	c.Lost += d.Lost
	c.Reordered += d.Reordered
	c.Duplicates += d.Duplicates
	c.Errors.Add(&d.Errors)
}

// Window is what happened in a span of time. See the package comment for its histograms.
type Window struct {
	Counts
	Latency *Histogram `json:"latency"`
	Service *Histogram `json:"service"`
	Connect *Histogram `json:"connect"`
	Lag     *Histogram `json:"lag"`
}

// NewWindow is an empty window.
func NewWindow() *Window {
	return &Window{Latency: NewHistogram(), Service: NewHistogram(), Connect: NewHistogram(), Lag: NewHistogram()}
}

// Add adds all that v has.
func (w *Window) Add(v *Window) {
	w.Counts.Add(&v.Counts)
	w.Latency.Add(v.Latency)
	w.Service.Add(v.Service)
	w.Connect.Add(v.Connect)
	w.Lag.Add(v.Lag)
}

// Reset empties it.
func (w *Window) Reset() {
	w.Counts = Counts{}
	w.Latency.Reset()
	w.Service.Reset()
	w.Connect.Reset()
	w.Lag.Reset()
}
