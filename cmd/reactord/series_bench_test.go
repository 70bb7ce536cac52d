package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/daemon"
	"github.com/reactord/reactord/cmd/reactord/internal/loader"
	"golang.org/x/sys/unix"
)

// thousand has 1 000 services of two servers each.
var thousand = fleet{loops: 2, listeners: 1000, backends: 1000, servers: 2000}

// cpu is the time for which the process has used CPUs, in seconds.
func cpu(b *testing.B) float64 {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// serveInProcess runs the daemon of a file in this process, so that its CPU time counts. It returns the address of the
// metrics, and what ends the daemon.
func serveInProcess(b *testing.B, path string) (metrics string, end func()) {
	b.Helper()
	inherited, err := daemon.Inherit()
	if err != nil {
		b.Fatal(err)
	}
	file, err := loader.FromFile(path)
	if err != nil {
		b.Fatal(err)
	}
	file.Config().Log.Level = "error"
	started, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- daemon.Run(daemon.Config{
			Loader: file, Inherited: inherited,
			Started: func(a daemon.Addresses) { started <- a.Metrics.String() },
		})
	}()
	select {
	case metrics = <-started:
	case err := <-ended:
		b.Fatal(err)
	}
	return metrics, func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			b.Error(err)
		}
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}

// A scrape of 1 000 services over HTTP at each level of detail, asked for as Prometheus does: its time, the CPU time of
// the process, and its allocations, with the client's, which drops what it gets. The longest turn of a loop is that
// since the start.
func BenchmarkScrape1000(b *testing.B) {
	for _, detail := range []string{"summary", "normal", "full"} {
		f := thousand
		f.detail = detail
		b.Run(detail, func(b *testing.B) { benchmarkScrape(b, f) })
	}
}

func benchmarkScrape(b *testing.B, f fleet) {
	path := filepath.Join(b.TempDir(), "reactord.yaml")
	if err := os.WriteFile(path, []byte(f.yaml(b)), 0o600); err != nil {
		b.Fatal(err)
	}
	metrics, end := serveInProcess(b, path)
	defer end()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	scrape := func(encoding string, page io.Writer) {
		request, err := http.NewRequest(http.MethodGet, "http://"+metrics+"/metrics", nil)
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
	b.ReportAllocs()
	began := cpu(b)
	for b.Loop() {
		scrape("gzip", io.Discard)
	}
	b.ReportMetric(float64(series), "series")
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/scrape")
	b.ReportMetric((cpu(b)-began)*1000/float64(b.N), "cpu-ms/scrape")
	page.Reset()
	scrape("identity", &page)
	longest := 0.0
	for line := range strings.Lines(page.String()) {
		if strings.HasPrefix(line, "reactord_reactor_longest_turn_seconds{") {
			seconds, _ := strconv.ParseFloat(strings.Fields(line)[1], 64)
			longest = max(longest, seconds)
		}
	}
	b.ReportMetric(longest*1000, "longest-turn-ms")
}
