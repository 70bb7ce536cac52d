package main

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/bench/proc"
)

// sample is a reading at one time. Counts are since the beginning.
type sample struct {
	seconds                                  float64
	memory, heap                             float64
	descriptors, threads, goroutines         float64
	cpu                                      float64 // s, of the daemon
	open, accepted                           float64
	done, broken, refused, late, wrong, lost int64
}

const header = "seconds\trss_bytes\theap_bytes\tdescriptors\tthreads\tgoroutines\tcpu_seconds\topen\taccepted\t" +
	"done\tbroken\trefused\tlate\twrong\tlost_datagrams"

func (s sample) String() string {
	return fmt.Sprintf("%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t%.0f\t%.0f\t%d\t%d\t%d\t%d\t%d\t%d",
		s.seconds, s.memory, s.heap, s.descriptors, s.threads, s.goroutines, s.cpu, s.open, s.accepted,
		s.done, s.broken, s.refused, s.late, s.wrong, s.lost)
}

func (d *daemon) sample(at time.Duration, c *clients) (s sample, err error) {
	s = sample{seconds: at.Seconds(), done: c.done.Load(), broken: c.broken.Load(), refused: c.refused.Load(),
		late: c.late.Load(), wrong: c.wrong.Load(), lost: c.lost.Load()}
	pid := d.cmd.Process.Pid
	memory, err := proc.RSS(pid)
	if err != nil {
		return s, fmt.Errorf("the daemon is gone: %w; see %s", err, d.log.Name())
	}
	descriptors, err := proc.Descriptors(pid)
	if err != nil {
		return s, err
	}
	threads, err := proc.Threads(pid)
	if err != nil {
		return s, err
	}
	cpu, err := proc.CPUTime(pid)
	if err != nil {
		return s, err
	}
	s.memory, s.descriptors, s.threads, s.cpu = float64(memory), float64(descriptors), float64(threads), cpu.Seconds()
	return s, s.scrape()
}

// scrape reads the page of metrics.
func (s *sample) scrape() error {
	client := http.Client{Timeout: 10 * time.Second}
	reply, err := client.Get("http://" + metricsAddress + "/metrics")
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	lines := bufio.NewScanner(reply.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue
		}
		name, _, _ = strings.Cut(name, "{")
		switch name {
		case "go_goroutines":
			s.goroutines = value
		case "go_gc_heap_live_bytes":
			s.heap = value
		case "reactord_connections":
			s.open += value
		case "reactord_listener_connections_total":
			s.accepted += value
		}
	}
	return lines.Err()
}
