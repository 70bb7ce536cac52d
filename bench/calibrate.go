package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/bench/stats"
)

// calibrateCommand measures the load generator itself beside a client in C on epoll, one thread each, on a
// CPU of their own; the echo server, in C as well, has another. In every round each has its turn.
type calibrateCommand struct {
	Rounds      int           `default:"5" help:"How often each is measured."`
	Time        time.Duration `default:"2s" help:"How long each measurement takes."`
	Connections int           `short:"c" default:"64" help:"Connections."`
	Size        int           `default:"128" help:"Bytes of a message."`
	ServerCPU   int           `default:"0" help:"The CPU of the server."`
	LoadCPU     int           `default:"1" help:"The CPU of the clients."`
}

// generator is a program that makes load.
type generator struct {
	name    string
	program string   // of the reference, "": this program
	args    []string // how it sends, of the reference; the ring, of this program
}

// The reference sends a message at a time, as wrk does, or all that are due in one piece, as tcpkali does.
const (
	cEach = "C epoll, a send a message"
	cAll  = "C epoll, one send for all"
)

func generators(depth int) []*generator {
	all := []*generator{{name: cEach, program: "client_epoll", args: []string{"each"}}}
	if depth > 1 {
		all = append(all, &generator{name: cAll, program: "client_epoll", args: []string{"all"}})
	}
	for _, ring := range []string{"io_uring", "epoll"} {
		all = append(all, &generator{name: "bench, " + ring, args: []string{"--ring", ring}})
	}
	return all
}

// demand is what is asked of a generator.
type demand struct {
	target string
	depth  int
	rate   float64 // 0: a closed loop
}

// made is what a generator did. Durations are in µs; those of a median or percentile, of the latency.
type made struct{ rate, cpu, p50, p99, mean, lag float64 }

func (c *calibrateCommand) Run(ctx context.Context) error {
	w, err := newWorkshop(c.ServerCPU, c.LoadCPU)
	if err != nil {
		return err
	}
	defer w.close()
	built, err := w.compile(ctx, "client_epoll")
	if err != nil {
		return err
	}
	server := referencePeer(cEpoll, "echo_epoll")
	if _, err := server.prepare(ctx, w); err != nil {
		return err
	}
	child, listen, err := startPeer(ctx, w, server, "", awaitListening)
	if err != nil {
		return err
	}
	defer child.Stop()
	fmt.Printf("%s\n\nC by %s. %d connections × %d B, %d rounds of %v; server on CPU %d, clients on CPU %d. Medians, in brackets the extremes.\n",
		thisMachine(ctx, w), built, c.Connections, c.Size, c.Rounds, c.Time, c.ServerCPU, c.LoadCPU)
	fastest := 0.0
	for _, depth := range []int{1, 16} {
		found, err := c.measure(ctx, w, demand{target: listen, depth: depth})
		if err != nil {
			return err
		}
		fmt.Printf("\n### A closed loop, %d under way on each connection\n\n%s", depth, closedTable(found))
		if depth == 1 {
			fastest = stats.Of(found[0].values(func(m made) float64 { return m.rate })).Median
		}
	}
	for _, part := range []float64{8, 2} {
		rate := math.Floor(fastest / part)
		found, err := c.measure(ctx, w, demand{target: listen, depth: 1, rate: rate})
		if err != nil {
			return err
		}
		fmt.Printf("\n### An open loop, %.0f/s: 1/%.0f of what the reference reaches\n\n%s", rate, part, openTable(found))
	}
	return nil
}

// turns are what one generator made, one a round.
type turns struct {
	*generator
	made []made
}

func (t *turns) values(of func(made) float64) []float64 {
	var v []float64
	for _, m := range t.made {
		v = append(v, of(m))
	}
	return v
}

// measure lets all generators take turns.
func (c *calibrateCommand) measure(ctx context.Context, w *workshop, d demand) (all []*turns, err error) {
	for _, g := range generators(d.depth) {
		all = append(all, &turns{generator: g})
	}
	for round := range c.Rounds {
		for i := range all {
			t := all[(round+i)%len(all)]
			m, err := c.turn(ctx, w, t.generator, d)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			t.made = append(t.made, m)
		}
	}
	return all, nil
}

func (c *calibrateCommand) turn(ctx context.Context, w *workshop, g *generator, d demand) (m made, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Time+slack)
	defer cancel()
	result := w.path("result.json")
	child, err := w.start(ctx, w.loadCPU, c.argv(w, g, d, result))
	if err != nil {
		return m, err
	}
	defer child.Stop()
	said, err := io.ReadAll(child.Stdout)
	if err != nil {
		return m, err
	}
	if g.program == "" {
		return madeByBench(result)
	}
	var seconds, messages, cpu float64
	if _, err := fmt.Sscan(string(said), &messages, &seconds, &cpu, &m.p50, &m.p99, &m.mean); err != nil {
		<-child.Done()
		return m, child.Err()
	}
	return m.scaled(messages, seconds, cpu)
}

// argv is the command line that makes a generator do what is asked.
func (c *calibrateCommand) argv(w *workshop, g *generator, d demand, result string) []string {
	rate := strconv.FormatFloat(d.rate, 'f', 0, 64)
	if g.program != "" {
		host, port, _ := strings.Cut(d.target, ":")
		return append([]string{w.path(g.program), host, port, strconv.Itoa(c.Connections), strconv.Itoa(c.Size),
			strconv.FormatFloat(c.Time.Seconds(), 'f', 3, 64), strconv.Itoa(d.depth)}, g.args[0], rate)
	}
	mode := "echo"
	if d.rate > 0 {
		mode = "rate"
	}
	argv := append(w.self, mode, "--target", "tcp://"+d.target, "-c", strconv.Itoa(c.Connections), "--size", strconv.Itoa(c.Size),
		"--depth", strconv.Itoa(d.depth), "-t", c.Time.String(), "--warmup", "0s", "--rate", rate, "--json", result)
	return append(argv, g.args...)
}

func madeByBench(file string) (m made, err error) {
	r, err := record.ReadFile(file)
	if err != nil {
		return m, err
	}
	phases := r.Measured()
	if r.Failed != "" || len(phases) != 1 {
		return m, errors.New("the run failed: " + r.Failed)
	}
	p := phases[0]
	sum := p.Total()
	m = made{p50: float64(sum.Latency.At(50)), p99: float64(sum.Latency.At(99)), mean: float64(sum.Latency.Mean()), lag: float64(sum.Lag.At(99))}
	return m.scaled(float64(sum.Messages), p.Elapsed, float64(p.Client.CPU))
}

// scaled brings what is in nanoseconds into the units of made.
func (m made) scaled(messages, seconds, cpu float64) (made, error) {
	if messages == 0 {
		return m, errors.New("no message came back")
	}
	return made{messages / seconds, cpu / messages / 1e3, m.p50 / 1e3, m.p99 / 1e3, m.mean / 1e3, m.lag / 1e3}, nil
}

// table prints a row for each generator: figures, and how many times the first row's the given one is.
func table(all []*turns, head []string, columns []func(made) float64, times map[int]bool) string {
	var b strings.Builder
	writeRow(&b, head)
	b.WriteString("|---" + strings.Repeat("|---:", len(head)-1) + "|\n")
	for _, t := range all {
		row := []string{t.name}
		for i, of := range columns {
			v := t.values(of)
			row = append(row, stats.Of(v).Format(2))
			if times[i] {
				row = append(row, stats.Of(stats.Ratios(v, all[0].values(of))).Format(2))
			}
		}
		writeRow(&b, row)
	}
	return b.String()
}

func closedTable(all []*turns) string {
	return table(all, []string{"client", "messages/s ÷ 1000", "× C", "CPU µs/message", "× C", "p50 µs", "p99 µs"}, []func(made) float64{
		func(m made) float64 { return m.rate / 1e3 },
		func(m made) float64 { return m.cpu },
		func(m made) float64 { return m.p50 },
		func(m made) float64 { return m.p99 },
	}, map[int]bool{0: true, 1: true})
}

func openTable(all []*turns) string {
	return table(all, []string{"client", "messages/s ÷ 1000", "CPU µs/message", "p50 µs", "× C", "mean µs", "× C", "p99 µs", "× C", "schedule error p99 µs"}, []func(made) float64{
		func(m made) float64 { return m.rate / 1e3 },
		func(m made) float64 { return m.cpu },
		func(m made) float64 { return m.p50 },
		func(m made) float64 { return m.mean },
		func(m made) float64 { return m.p99 },
		func(m made) float64 { return m.lag },
	}, map[int]bool{2: true, 3: true, 4: true})
}
