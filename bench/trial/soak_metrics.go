package trial

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/bench/record"
)

// MetricsURL returns the HTTP URL of a page of Prometheus metrics, which may also be given as tcp://HOST:PORT/PATH. The
// default path is /metrics.
func MetricsURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Port() == "" && u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", fmt.Errorf("%q is no address of metrics: examples are tcp://127.0.0.1:9090 and "+
			"http://127.0.0.1:9090/metrics", text)
	}
	switch u.Scheme {
	case "tcp":
		u.Scheme = "http"
	case "http", "https":
	default:
		return "", fmt.Errorf("%q has an unknown scheme: metrics are read from tcp, http and https", text)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/metrics"
	}
	return u.String(), nil
}

// scrapeTimeout bounds the time of reading the metrics.
const scrapeTimeout = 5 * time.Second

// scrape reads the metrics that Prometheus' collector of the Go runtime exports.
func (s *Soak) scrape(ctx context.Context, out *record.Sample) error {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Metrics, nil)
	if err != nil {
		return err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: the reply is %s", s.Metrics, reply.Status)
	}
	if err := readMetrics(reply.Body, out); err != nil {
		return fmt.Errorf("%s: %w", s.Metrics, err)
	}
	return nil
}

// The metrics that a soak reads.
const (
	liveHeapMetric   = "go_gc_heap_live_bytes"
	goroutinesMetric = "go_goroutines"
)

func readMetrics(text io.Reader, out *record.Sample) error {
	found := false
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if name != liveHeapMetric && name != goroutinesMetric {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if found = true; name == goroutinesMetric {
			out.Goroutines = int(n)
		} else {
			out.LiveHeap = int64(n)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("the page has neither %s nor %s", liveHeapMetric, goroutinesMetric)
	}
	return nil
}
