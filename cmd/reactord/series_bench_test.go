package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/logging"
)

// largeFleet has 10 000 series and a few more.
var largeFleet = fleet{
	loops: 2, listeners: 20, udp: 4, tls: 8, certificates: 8, backends: 40, servers: 190, sources: 10,
}

// cpu is the time for which the process has used CPUs, in seconds.
func cpu(b *testing.B) float64 {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// A scrape of 10 000 series over HTTP, asked for as Prometheus does: its time, the CPU time of the process, and
// its allocations, with the client's, which drops what it gets. The longest turn of a loop is that since the start.
func BenchmarkScrape10000(b *testing.B) {
	path := filepath.Join(b.TempDir(), "reactord.yaml")
	if err := os.WriteFile(path, []byte(largeFleet.yaml(b)), 0o600); err != nil {
		b.Fatal(err)
	}
	kin, err := inherit()
	if err != nil {
		b.Fatal(err)
	}
	conf, err := fromFile(path)
	if err != nil {
		b.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	log, err := logging.New(null, "error", "json")
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	d, err := start(context.Background(), conf, kin, log)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := d.close(); err != nil {
			b.Error(err)
		}
		if err := d.proxy.Close(); err != nil {
			b.Error(err)
		}
	}()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	scrape := func(encoding string, page io.Writer) {
		request, err := http.NewRequest(http.MethodGet, "http://"+d.admin.Addr().String()+"/metrics", nil)
		if err != nil {
			b.Fatal(err)
		}
		request.Header.Set("Accept-Encoding", encoding)
		answer, err := client.Do(request)
		if err != nil {
			b.Fatal(err)
		}
		defer answer.Body.Close()
		if _, err := io.Copy(page, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
			b.Fatal(answer.Status, err)
		}
	}
	var page strings.Builder
	scrape("identity", &page)
	series := strings.Count("\n"+page.String(), "\nreactord_")
	if series < 10_000 {
		b.Fatalf("%d series", series)
	}
	b.ReportAllocs()
	began := cpu(b)
	for b.Loop() {
		scrape("gzip", io.Discard)
	}
	b.ReportMetric(float64(series), "series")
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/scrape")
	b.ReportMetric((cpu(b)-began)*1000/float64(b.N), "cpu-ms/scrape")
	longest := 0.0
	for _, l := range d.proxy.Loops() {
		longest = max(longest, l.Stats().LongestTurn.Seconds())
	}
	b.ReportMetric(longest*1000, "longest-turn-ms")
}
