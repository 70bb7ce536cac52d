package collector

import (
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/internal/series"
)

// netstatFile has the counters of TCP of the network namespace of the process.
const netstatFile = "/proc/self/net/netstat"

var overflows = series.NewDesc("listen_queue_overflows_total",
	"Total number of connections that the kernel dropped because the queue of a listening socket was full, in the whole "+
		"network namespace.")

// NewListenQueues returns a collector of connections that the kernel drops before they can be accepted. The kernel
// counts them for the whole network namespace, since its start.
func NewListenQueues() prometheus.Collector { return newListenQueues(netstatFile) }

// newListenQueues returns a collector that has no series if the file cannot be read.
func newListenQueues(file string) prometheus.Collector {
	return series.NewCollector(func(s *series.Scrape) {
		text, err := os.ReadFile(file)
		if err != nil {
			return
		}
		if n, found := netstat(string(text), "TcpExt:", "ListenOverflows"); found {
			s.Of().Count(overflows, n)
		}
	}, overflows)
}

// netstat returns a counter from a file that has a line of names and a line of values for each protocol.
func netstat(text, protocol, name string) (float64, bool) {
	var names []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != protocol {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, n := range names[:min(len(names), len(fields))] {
			if n == name {
				v, err := strconv.ParseFloat(fields[i], 64)
				return v, err == nil
			}
		}
	}
	return 0, false
}
