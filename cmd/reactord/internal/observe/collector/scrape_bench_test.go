package collector

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/metrics"
)

// BenchmarkScrape scrapes the page of a proxy with many servers, as text.
func BenchmarkScrape(b *testing.B) {
	all := seen()
	server := all.Servers[0]
	for i := range 640 {
		server.Name = fmt.Sprintf("10.0.%d.%d:8080", i/256, i%256)
		all.Servers = append(all.Servers, server)
	}
	h := metrics.Handler(NewCollector(func() stats.All { return all }))
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	size, before := 0, processTime(b)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request)
		size = w.Body.Len()
	}
	b.ReportMetric((processTime(b)-before).Seconds()*1e3/float64(b.N), "CPU-ms/op")
	b.ReportMetric(float64(size), "bytes")
}

// processTime returns the CPU time that the process has used.
func processTime(b *testing.B) time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
