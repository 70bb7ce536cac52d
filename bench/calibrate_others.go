package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// contest compares another load generator with this program, under the same load. The server does as little as
// possible for a reply.
type contest struct {
	name        string // of the program
	what        string
	depth       int
	mark, reply string // the server sends reply for each mark that it receives
	other       func(d demand) []string
	read        func(said string) (made, error)
	mode        string // of this program
}

func (c *calibrateCommand) contests() []contest {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhello world\n"
	all := []contest{{
		name: "wrk", what: "HTTP", depth: 1, mark: "\r\n\r\n", reply: ok, mode: "http",
		other: func(d demand) []string {
			seconds := max(1, int(c.Time.Round(time.Second)/time.Second))
			return []string{"wrk", "-t1", "-c", strconv.Itoa(c.Connections), "-d", strconv.Itoa(seconds),
				"http://" + d.target + "/"}
		},
		read: readWrk,
	}}
	for _, depth := range []int{1, 16} {
		requests := int(60_000*c.Time.Seconds()) * depth // it takes a number of requests instead of a duration
		all = append(all, contest{
			name: "redis-benchmark", what: "redis, PING", depth: depth, mark: "*", reply: "+PONG\r\n", mode: "redis",
			other: func(d demand) []string {
				host, port, _ := strings.Cut(d.target, ":")
				return []string{"redis-benchmark", "-h", host, "-p", port, "-c", strconv.Itoa(c.Connections), "-P",
					strconv.Itoa(d.depth), "-n", strconv.Itoa(requests), "-t", "ping_mbulk", "--csv"}
			},
			read: func(said string) (made, error) { return readRedisBenchmark(said, requests) },
		})
	}
	return all
}

// besideOthers measures the other load generators that are installed.
func (c *calibrateCommand) besideOthers(ctx context.Context, w *workshop) error {
	if _, err := w.compile(ctx, "reply_epoll"); err != nil {
		return err
	}
	for _, contest := range c.contests() {
		if _, err := exec.LookPath(contest.name); err != nil {
			fmt.Printf("\nNot measured beside %s, which is not installed (Debian: apt install wrk redis-tools).\n", contest.name)
			continue
		}
		if err := c.contest(ctx, w, contest); err != nil {
			return err
		}
	}
	return nil
}

func (c *calibrateCommand) contest(ctx context.Context, w *workshop, o contest) error {
	server := &peer{name: "reply_epoll", command: func(w *workshop, listen, _ string) ([]string, error) {
		host, port, _ := strings.Cut(listen, ":")
		return []string{w.path("reply_epoll"), host, port, o.mark, o.reply}, nil
	}}
	child, listen, err := startPeer(ctx, w, server, "", awaitListening)
	if err != nil {
		return err
	}
	defer child.Stop()
	all := []*generator{{name: o.name, argv: o.other, read: o.read}}
	for _, ring := range []string{"io_uring", "epoll"} {
		all = append(all, c.self(w, "bench, "+ring, o.mode, "--ring", ring))
	}
	found, err := c.measure(ctx, w, all, demand{target: listen, depth: o.depth})
	if err != nil {
		return err
	}
	fmt.Printf("\n### Compared with %s: %s, %d outstanding on each connection\n\n%s", o.name, o.what, o.depth,
		closedTable(found, o.name))
	return nil
}

// readWrk parses the output of wrk: 126043 requests in 2.02s, 6.13MB read.
func readWrk(said string) (m made, err error) {
	if strings.Contains(said, "Socket errors") || strings.Contains(said, "Non-2xx") {
		return m, errors.New("requests failed")
	}
	for line := range strings.Lines(said) {
		var requests float64
		var took string
		if n, _ := fmt.Sscanf(strings.TrimSpace(line), "%f requests in %s", &requests, &took); n == 2 {
			d, err := time.ParseDuration(strings.TrimSuffix(took, ","))
			if err != nil {
				return m, err
			}
			return m.scaled(requests, d.Seconds(), 0)
		}
	}
	return m, fmt.Errorf("the output has no requests: %q", said)
}

// readRedisBenchmark parses the CSV of redis-benchmark: "PING_MBULK","61728.40", and so on.
func readRedisBenchmark(said string, requests int) (m made, err error) {
	r := csv.NewReader(strings.NewReader(said))
	r.FieldsPerRecord = -1
	lines, err := r.ReadAll()
	if err != nil {
		return m, err
	}
	for _, fields := range lines {
		if len(fields) > 1 && fields[0] == "PING_MBULK" {
			rate, err := strconv.ParseFloat(fields[1], 64)
			if err != nil {
				return m, err
			}
			return m.scaled(float64(requests), float64(requests)/rate, 0)
		}
	}
	return m, fmt.Errorf("the output has no rate: %q", said)
}
