package record

// Counts are the counts of a span of time.
type Counts struct {
	Messages   int64    `json:"messages"`             // completed messages; in the mode connect, connections
	Sent       int64    `json:"sent"`                 // messages that were sent, or connections that were started
	BytesOut   int64    `json:"bytes_out"`            // handed to the kernel
	BytesIn    int64    `json:"bytes_in"`             // received
	Opened     int64    `json:"opened"`               // connections that were opened
	Resumed    int64    `json:"resumed,omitempty"`    // of these: connections that resumed a TLS session
	Verified   int64    `json:"verified_bytes"`       // received bytes that were compared
	Lost       int64    `json:"lost,omitempty"`       // datagrams without a reply
	Reordered  int64    `json:"reordered,omitempty"`  // datagrams that came after a later one
	Duplicates int64    `json:"duplicates,omitempty"` // datagrams that came twice, or after they counted as lost
	Errors     Failures `json:"errors"`
}

// Add adds the counts of d.
func (c *Counts) Add(d *Counts) {
	c.Messages += d.Messages
	c.Sent += d.Sent
	c.BytesOut += d.BytesOut
	c.BytesIn += d.BytesIn
	c.Opened += d.Opened
	c.Resumed += d.Resumed
	c.Verified += d.Verified
	c.Lost += d.Lost
	c.Reordered += d.Reordered
	c.Duplicates += d.Duplicates
	c.Errors.Add(&d.Errors)
}

// Window has the counts and histograms of a span of time. The package comment describes the histograms.
type Window struct {
	Counts
	Latency *Histogram `json:"latency"`
	Service *Histogram `json:"service"`
	Connect *Histogram `json:"connect"`
	Lag     *Histogram `json:"lag"`
}

// NewWindow returns an empty window.
func NewWindow() *Window {
	return &Window{Latency: NewHistogram(), Service: NewHistogram(), Connect: NewHistogram(), Lag: NewHistogram()}
}

// Add adds the counts and durations of v.
func (w *Window) Add(v *Window) {
	w.Counts.Add(&v.Counts)
	w.Latency.Add(v.Latency)
	w.Service.Add(v.Service)
	w.Connect.Add(v.Connect)
	w.Lag.Add(v.Lag)
}

// Reset removes all counts and durations.
func (w *Window) Reset() {
	w.Counts = Counts{}
	w.Latency.Reset()
	w.Service.Reset()
	w.Connect.Reset()
	w.Lag.Reset()
}
