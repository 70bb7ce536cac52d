package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// page is where a scraped page goes.
type page struct {
	header http.Header
	size   int
}

func (p *page) Header() http.Header            { return p.header }
func (p *page) WriteHeader(int)                {}
func (p *page) Write(line []byte) (int, error) { p.size += len(line); return len(line), nil }

// formats are what Prometheus asks for: without native histograms, and with them.
var formats = map[string]string{
	"text":     "text/plain;version=0.0.4",
	"protobuf": "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
}

// scrapeOnce scrapes as Prometheus does, and returns the bytes of the page.
func scrapeOnce(h http.Handler, format string) int {
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", formats[format])
	request.Header.Set("Accept-Encoding", "gzip")
	p := &page{header: http.Header{}}
	h.ServeHTTP(p, request)
	return p.size
}

// BenchmarkScrape scrapes a whole page, with the series of the process, of two loops and of as many as have nearly 10
// 000.
func BenchmarkScrape(b *testing.B) {
	for _, loops := range []int{2, 193} {
		for _, format := range []string{"text", "protobuf"} {
			b.Run(fmt.Sprintf("%d series/%s", 51*loops+2, format), func(b *testing.B) {
				l, err := reactor.NewLoop(reactor.LoopConfig{})
				if err != nil {
					b.Fatal(err)
				}
				defer l.Discard()
				h := Handler(NewLoops(slices.Repeat([]*reactor.Loop{l}, loops)))
				size, before := 0, processTime(b)
				b.ReportAllocs()
				for b.Loop() {
					size = scrapeOnce(h, format)
				}
				b.ReportMetric((processTime(b)-before).Seconds()*1e3/float64(b.N), "CPU-ms/op")
				b.ReportMetric(float64(size), "bytes")
			})
		}
	}
}

// BenchmarkScrapedLoop runs a loop that echoes all the time, and scrapes it this often a second. An op is a second. On
// one CPU:
//
//	go test -c ./metrics && taskset -c 1 ./metrics.test -test.run ^$ -test.bench ScrapedLoop -test.benchtime 5x
//
// It reports how much the loop did in a second of its own CPU time, and how much CPU time the rest of the process used,
// which is the scrapes and some 3 % for the Go runtime, as a part of the loop's.
func BenchmarkScrapedLoop(b *testing.B) {
	for _, scrapes := range []struct {
		name string
		rate int
	}{{"never", 0}, {"once a second", 1}, {"100 a second", 100}} {
		b.Run(scrapes.name, func(b *testing.B) {
			l := echoing(b)
			h := Handler(NewLoops([]*reactor.Loop{l}))
			scrapeOnce(h, "text")
			completions, cpu, process := l.Stats().Completions, loopTime(l), processTime(b)
			b.ResetTimer()
			for range b.N {
				for begin, i := time.Now(), 0; i < scrapes.rate; i++ {
					time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / time.Duration(scrapes.rate))))
					scrapeOnce(h, "text")
				}
				time.Sleep(time.Second / time.Duration(max(scrapes.rate, 1)))
			}
			b.StopTimer()
			completions, cpu, process = l.Stats().Completions-completions, loopTime(l)-cpu, processTime(b)-process
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(completions)/cpu.Seconds(), "completions/CPU-s")
			b.ReportMetric(100*(process-cpu).Seconds()/cpu.Seconds(), "%loop")
		})
	}
}

// loopTime returns the CPU time that the loop's thread has used.
func loopTime(l *reactor.Loop) time.Duration {
	c := &clock{used: make(chan time.Duration, 1)}
	c.Runner = c
	l.Enqueue(&c.Work)
	return <-c.used
}

// clock is work that reads the CPU time of the thread it runs on.
type clock struct {
	sender.Work
	used chan time.Duration
}

func (c *clock) Run() {
	var usage unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &usage)
	c.used <- time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
func (c *clock) Abandon(error) { c.used <- 0 }

// processTime returns the CPU time that the process has used.
func processTime(tb testing.TB) time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// echoing runs a loop in which two tasks send a message to and fro until the benchmark ends.
func echoing(tb testing.TB) *reactor.Loop {
	tb.Helper()
	l, err := reactor.NewLoop(reactor.LoopConfig{SlowTurn: -1})
	if err != nil {
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- l.Run(func() { echo(l) }) }()
	tb.Cleanup(func() {
		l.Stop()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
	return l
}

// echo starts the tasks.
func echo(l *reactor.Loop) {
	var pair [2]reactor.Socket
	if err := reactor.OpenPair(l, unix.SOCK_STREAM, &pair[0], &pair[1]); err != nil {
		l.Fail(err)
		return
	}
	for i := range pair {
		s := &pair[i]
		l.Spawn(task.New(func(t *task.T) error {
			defer task.Unstoppable(t, func() { _, _ = task.Await(t, s.Close()) })
			message := make([]byte, 128)
			if i == 0 {
				if _, err := task.Await(t, s.SendAll(message)); err != nil {
					return err
				}
			}
			for {
				n, err := task.Await(t, s.Recv(message))
				if err != nil || n == 0 {
					return err
				}
				if _, err := task.Await(t, s.SendAll(message[:n])); err != nil {
					return err
				}
			}
		}))
	}
}
