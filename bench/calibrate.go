package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/bench/stats"
)

// calibrateCommand measures the load generator itself, on one thread with its own CPU, and compares it with a client in
// C on epoll and with other load generators. The server is also in C, and has another CPU. In every round each
// generator is measured once.
type calibrateCommand struct {
	Rounds      int           `default:"9" help:"Number of measurements of each generator."`
	Time        time.Duration `default:"2s" help:"Duration of each measurement."`
	Connections int           `short:"c" default:"64" help:"Number of connections."`
	Size        int           `default:"128" help:"Bytes of a message."`
	ServerCPU   int           `default:"0" help:"The CPU of the server."`
	LoadCPU     int           `default:"1" help:"The CPU of the clients."`
	Only        []string      `enum:"closed,open,others" default:"closed,open,others" help:"What to measure: closed loops, open loops, or other load generators."`
}

// generator is a program that generates load.
type generator struct {
	name string
	argv func(d demand) []string
	read func(said string) (made, error) // parses its output
}

// demand is the load that a generator is asked for.
type demand struct {
	target string
	depth  int
	rate   float64 // 0: a closed loop
}

// made is what a generator did. Durations are in µs. The percentiles and the mean are of the latency.
type made struct {
	rate, cpu, p50, p99, mean, lag float64
	messages                       float64
	wait                           float64 // the share of the time that it waited for its CPU
}

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
	fmt.Printf("%s\n\nC by %s. %d connections, %d rounds of %v; server on CPU %d, clients on CPU %d. "+
		"Medians, in brackets the extremes.\n",
		thisMachine(ctx, w), built, c.Connections, c.Rounds, c.Time, c.ServerCPU, c.LoadCPU)
	if err := c.besideC(ctx, w); err != nil {
		return err
	}
	if !slices.Contains(c.Only, "others") {
		return nil
	}
	return c.besideOthers(ctx, w)
}

// besideC compares echoes with the client in C.
func (c *calibrateCommand) besideC(ctx context.Context, w *workshop) error {
	server := referencePeer(cEpoll, "echo_epoll")
	if _, err := server.prepare(ctx, w); err != nil {
		return err
	}
	child, listen, err := startPeer(ctx, w, server, "", awaitListening)
	if err != nil {
		return err
	}
	defer child.Stop()
	fastest := 0.0
	for _, depth := range []int{1, 16} {
		if !slices.Contains(c.Only, "closed") && (depth > 1 || !slices.Contains(c.Only, "open")) {
			continue
		}
		found, err := c.measure(ctx, w, c.echoGenerators(w, depth), demand{target: listen, depth: depth})
		if err != nil {
			return err
		}
		fmt.Printf("\n### A closed loop of echoes, %d × %d B outstanding on each connection\n\n%s", depth, c.Size,
			closedTable(found, "C"))
		if depth == 1 {
			fastest = stats.Of(found[0].values(func(m made) float64 { return m.rate })).Median
		}
	}
	if !slices.Contains(c.Only, "open") {
		return nil
	}
	for _, part := range []float64{8, 2} {
		rate := math.Floor(fastest / part)
		found, err := c.measure(ctx, w, c.echoGenerators(w, 1), demand{target: listen, depth: 1, rate: rate})
		if err != nil {
			return err
		}
		fmt.Printf("\n### An open loop of echoes, %.0f/s: 1/%.0f of what C reaches\n\n%s\n%s", rate, part, openTable(found),
			verdicts(found))
	}
	return nil
}

// echoGenerators returns the reference in C, which sends messages one by one or all that are due together, and this
// program on each ring.
func (c *calibrateCommand) echoGenerators(w *workshop, depth int) []*generator {
	all := []*generator{c.reference(w, "C epoll, a send a message", "each")}
	if depth > 1 {
		all = append(all, c.reference(w, "C epoll, one send for all", "all"))
	}
	for _, ring := range []string{"io_uring", "epoll"} {
		all = append(all, c.self(w, "bench, "+ring, "echo", "--ring", ring, "--size", strconv.Itoa(c.Size)))
	}
	return all
}

func (c *calibrateCommand) reference(w *workshop, name, how string) *generator {
	return &generator{
		name: name,
		argv: func(d demand) []string {
			host, port, _ := strings.Cut(d.target, ":")
			return []string{w.path("client_epoll"), host, port, strconv.Itoa(c.Connections), strconv.Itoa(c.Size),
				strconv.FormatFloat(c.Time.Seconds(), 'f', 3, 64), strconv.Itoa(d.depth), how,
				strconv.FormatFloat(d.rate, 'f', 0, 64)}
		},
		read: func(said string) (m made, err error) {
			var seconds, messages, cpu float64
			if _, err := fmt.Sscan(said, &messages, &seconds, &cpu, &m.p50, &m.p99, &m.mean, &m.wait); err != nil {
				return m, err
			}
			return m.scaled(messages, seconds, cpu)
		},
	}
}

// self returns this program as a generator. With a rate its mode is rate, else echo.
func (c *calibrateCommand) self(w *workshop, name, mode string, args ...string) *generator {
	result := w.path("result.json")
	return &generator{
		name: name,
		argv: func(d demand) []string {
			mode, deep := mode, "--depth"
			switch {
			case d.rate > 0:
				mode = "rate"
			case mode != "echo":
				deep = "--pipeline"
			}
			argv := append(slices.Clone(w.self), mode, "--target", "tcp://"+d.target, "-c", strconv.Itoa(c.Connections),
				deep, strconv.Itoa(d.depth), "-t", c.Time.String(), "--warmup", "0s", "--json", result)
			if d.rate > 0 {
				argv = append(argv, "--rate", strconv.FormatFloat(d.rate, 'f', 0, 64))
			}
			return append(argv, args...)
		},
		read: func(string) (made, error) { return madeByBench(result) },
	}
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
	m = made{p50: float64(sum.Latency.At(50)), p99: float64(sum.Latency.At(99)), mean: float64(sum.Latency.Mean()),
		lag: float64(sum.Lag.At(99)), wait: float64(p.Client.Wait)}
	return m.scaled(float64(sum.Messages), p.Elapsed, float64(p.Client.CPU))
}

// scaled converts nanoseconds to the units of made.
func (m made) scaled(messages, seconds, cpu float64) (made, error) {
	if messages == 0 {
		return m, errors.New("no message came back")
	}
	return made{
		rate: messages / seconds, cpu: cpu / messages / 1e3,
		p50: m.p50 / 1e3, p99: m.p99 / 1e3, mean: m.mean / 1e3, lag: m.lag / 1e3,
		messages: messages, wait: m.wait / seconds / 1e9,
	}, nil
}

// turns are the measurements of one generator, one for each round.
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

// measure measures every generator once in every round.
func (c *calibrateCommand) measure(ctx context.Context, w *workshop, generators []*generator,
	d demand) (all []*turns, err error) {
	for _, g := range generators {
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
	before := childrenTime()
	child, err := w.start(ctx, w.loadCPU, g.argv(d))
	if err != nil {
		return m, err
	}
	defer child.Stop()
	said, err := io.ReadAll(child.Stdout)
	if err != nil {
		return m, err
	}
	<-child.Done()
	if m, err = g.read(string(said)); err != nil {
		return m, fmt.Errorf("%w: %w", err, child.Err())
	}
	if m.cpu == 0 { // it does not report its CPU time: take that of the process
		m.cpu = float64((childrenTime() - before).Microseconds()) / m.messages
	}
	return m, nil
}

// childrenTime returns the CPU time of all children that have ended. See getrusage(2).
func childrenTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_CHILDREN, &u) // it cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// table returns a row for each generator: its figures, and for some of them the ratio to the first row.
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

func rate(m made) float64 { return m.rate / 1e3 }
func cpu(m made) float64  { return m.cpu }
func p50(m made) float64  { return m.p50 }
func p99(m made) float64  { return m.p99 }
func mean(m made) float64 { return m.mean }
func lag(m made) float64  { return m.lag }

func waited(m made) float64 { return 100 * m.wait }

// perCPU returns the rate for each second of CPU time.
func perCPU(m made) float64 { return 1e3 / m.cpu }

func closedTable(all []*turns, first string) string {
	return table(all, []string{"client", "messages/s ÷ 1000", "× " + first, "CPU µs/message", "messages/CPU second ÷ 1000",
		"× " + first}, []func(made) float64{rate, cpu, perCPU}, map[int]bool{0: true, 2: true})
}

func openTable(all []*turns) string {
	return table(all, []string{"client", "messages/s ÷ 1000", "CPU µs/message", "p50 µs", "× C", "mean µs", "× C",
		"p99 µs", "schedule error p99 µs", "waited for its CPU %"},
		[]func(made) float64{rate, cpu, p50, mean, p99, lag, waited}, map[int]bool{2: true, 3: true})
}

// same is the largest relative difference of two latencies that count as equal.
const same = 0.02

// verdicts reports for each generator whether its latency equals the first one's.
func verdicts(all []*turns) string {
	var b strings.Builder
	for _, t := range all[1:] {
		low, high := interval(stats.Ratios(t.values(p50), all[0].values(p50)))
		verdict := "whether it is the same within %.0f %% cannot be told of these rounds"
		switch {
		case low >= 1-same && high <= 1+same:
			verdict = "the same within %.0f %%"
		case low > 1+same:
			verdict = "higher by more than %.0f %%"
		case high < 1-same:
			verdict = "lower by more than %.0f %%"
		}
		fmt.Fprintf(&b, "- %s: its p50 is %.3f to %.3f × C's: "+verdict+"\n", t.name, low, high, 100*same)
	}
	return b.String()
}

// interval returns an interval that contains the median of the distribution of the values, with a confidence of 95 %,
// or less if there are fewer than 6 values. The number of values below the median is binomially distributed.
func interval(values []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	outside, chance := 0.0, math.Pow(0.5, float64(n)) // chance: the probability that exactly k values are below
	k := 0
	for ; 2*k < n-1; k++ {
		if outside += 2 * chance; outside+2*chance*float64(n-k)/float64(k+1) > 0.05 {
			break
		}
		chance *= float64(n-k) / float64(k+1)
	}
	return sorted[k], sorted[n-1-k]
}
