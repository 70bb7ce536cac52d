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

// A scrape of 10 000 series over HTTP: its time, the time of CPUs with the client's, and allocations with the client's.
// The longest turn of a loop is from the beginning on.
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
	scrape := func() (series int) {
		answer, err := client.Get("http://" + d.admin.Addr().String() + "/metrics")
		if err != nil {
			b.Fatal(err)
		}
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			b.Fatal(answer.Status, err)
		}
		return strings.Count("\n"+string(page), "\nreactord_")
	}
	series := scrape()
	if series < 10_000 {
		b.Fatalf("%d series", series)
	}
	b.ReportAllocs()
	began := cpu(b)
	for b.Loop() {
		scrape()
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
