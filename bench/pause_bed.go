package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"text/template"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/bench/engine"
	"github.com/reactord/reactord/bench/machine"
	"github.com/reactord/reactord/bench/proc"
	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/reactor"
)

// pauseBed is a proxy with servers behind it, which is upgraded under load.
type pauseBed struct {
	w           *workshop
	ring        string
	connections int
	listen      string // address of the proxy
	metrics     string
	servers     []*proc.Child
	proxy       *proc.Child // the process before the upgrade
}

// pauseConfig has a server for every so many connections, because a process has a limit on open files, and an address a
// limit on ports.
var pauseConfig = template.Must(template.New("pause.yaml").Parse(`ring: {{.Ring}}
loops: {{.Loops}}
metrics: {{.Metrics}}
admin: {address: unix://{{.Admin}}}
drain: {timeout: 1s}
listeners:
  - {name: bench, address: tcp://{{.Listen}}, backend: servers}
backends:
  - {name: servers, servers: [{{.Servers}}]}
`))

const (
	// spareFiles are those that a process needs besides its connections.
	spareFiles = 200
	// perServer is the largest number of connections to one address: there are about 28 000 ports.
	perServer = 16000
	// upgradeLimit bounds the time in which connections move.
	upgradeLimit = time.Minute
)

// openFiles returns the limit of this process, which is that of its children, too.
func openFiles() (int, error) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return int(min(limit.Max, math.MaxInt32)), err
}

// newPauseBed starts the servers and the proxy. It has room for the wanted connections, or for as many as the limit on
// open files allows.
func newPauseBed(ctx context.Context, w *workshop, c *pauseCommand, ring string,
	wanted int) (bed *pauseBed, err error) {
	bed = &pauseBed{w: w, ring: ring}
	defer func() {
		if err != nil {
			bed.stop()
		}
	}()
	files, err := openFiles()
	if err != nil {
		return bed, err
	}
	most := files - spareFiles
	bed.connections = min(wanted, most)
	servers := ""
	for left := bed.connections; left > 0; left -= min(perServer, most) {
		server, address, err := startUpstream(ctx, w, "echo")
		if err != nil {
			return bed, err
		}
		bed.servers = append(bed.servers, server)
		if servers != "" {
			servers += ", "
		}
		servers += fmt.Sprintf("'tcp://%s'", address)
	}
	if bed.metrics, err = freeAddress(); err != nil {
		return bed, err
	}
	if err := bed.startProxy(ctx, c, servers); err != nil {
		return bed, err
	}
	var status struct{ Limit int }
	if err := bed.ctl(ctx, &status, "status"); err != nil {
		return bed, err
	}
	bed.connections = min(bed.connections, status.Limit)
	return bed, nil
}

// startProxy starts the proxy. Its log is a file, because the new process inherits it.
func (b *pauseBed) startProxy(ctx context.Context, c *pauseCommand, servers string) (err error) {
	if b.listen, err = freeAddress(); err != nil {
		return err
	}
	file := b.w.path("pause.yaml")
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	err = pauseConfig.Execute(f, map[string]any{"Ring": b.ring, "Loops": c.Loops, "Metrics": b.metrics,
		"Admin": b.socket(), "Listen": b.listen, "Servers": servers})
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	b.proxy, err = b.w.start(ctx, b.w.serverCPU, []string{"sh", "-c", `exec "$@" 2>"$0"`, b.log(), b.w.path("reactord"),
		"serve", "--config", file})
	if err != nil {
		return err
	}
	if err := awaitListening(ctx, b.proxy, b.listen); err != nil {
		text, _ := os.ReadFile(b.log())
		return fmt.Errorf("proxy: %w %s", err, firstLine(text))
	}
	return nil
}

func (b *pauseBed) socket() string { return b.w.path("admin.sock") }
func (b *pauseBed) log() string    { return b.w.path("proxy.log") }

// ctl runs reactord ctl, and reads its JSON.
func (b *pauseBed) ctl(ctx context.Context, into any, args ...string) error {
	args = append([]string{"ctl", "--address", "unix://" + b.socket(), "--json"}, args...)
	text, err := exec.CommandContext(ctx, b.w.path("reactord"), args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("reactord ctl: %w: %s", err, firstLine(exit.Stderr))
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// stop ends all processes.
func (b *pauseBed) stop() {
	if b.proxy != nil {
		b.stopSuccessor()
		b.proxy.Stop()
	}
	for _, server := range b.servers {
		server.Stop()
	}
}

// stopSuccessor ends the process after an upgrade, which is no child of this one.
func (b *pauseBed) stopSuccessor() {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	var status struct{ PID int }
	if b.ctl(ctx, &status, "status") != nil || status.PID == b.proxy.Pid() {
		return
	}
	ended, err := proc.Ended(status.PID)
	if err != nil {
		return // it has ended
	}
	_ = unix.Kill(status.PID, syscall.SIGTERM)
	select {
	case <-ended:
	case <-ctx.Done():
		_ = unix.Kill(status.PID, syscall.SIGKILL)
	}
}

// measure opens the connections, and measures a window without and one with an upgrade. The second one is longer than
// the first one if the upgrade takes longer, so that each connection sends a message after it. Then each connection has
// to answer once more.
func (b *pauseBed) measure(ctx context.Context, c *pauseCommand) (run *pauseRun, err error) {
	g, err := b.load(c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	opened, err := g.Open(ctx, nil)
	if err == nil && opened.Open != b.connections {
		err = fmt.Errorf("%d of %d connections are open", opened.Open, b.connections)
	}
	if err != nil {
		return nil, err
	}
	run = &pauseRun{Ring: b.ring, Loops: c.Loops, Connections: b.connections}
	if err := run.Quiet.measure(ctx, g, c.Time, &run.Failed); err != nil {
		return nil, err
	}
	window, end := context.WithCancelCause(ctx)
	defer end(nil)
	upgraded := make(chan error, 1)
	go func() {
		least := time.After(c.Time)
		_ = pass(ctx, time.After(c.Time/4))
		err := b.upgrade(ctx, run)
		upgraded <- err
		if err == nil {
			_ = errors.Join(pass(ctx, time.After(c.Every)), pass(ctx, least))
		}
		end(errWindowEnds)
	}()
	err = run.Upgrade.measure(window, g, c.Time+2*upgradeLimit, &run.Failed)
	if errors.Is(err, errWindowEnds) {
		err = nil
	}
	if err = errors.Join(err, <-upgraded); err != nil {
		return nil, err
	}
	var after pauseWindow
	if err := after.measure(ctx, g, 2*c.Every, &run.Failed); err != nil {
		return nil, err
	}
	if n := after.Longest.Count(); n != int64(b.connections) {
		return nil, fmt.Errorf("%d of %d connections answer after the upgrade", n, b.connections)
	}
	run.Pause, err = b.pauses(ctx)
	return run, err
}

// errWindowEnds ends a window.
var errWindowEnds = errors.New("the upgrade is over")

// pass waits for a time.
func pass(ctx context.Context, until <-chan time.Time) error {
	select {
	case <-until:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// load returns the load. Its loops run on their CPU.
func (b *pauseBed) load(c *pauseCommand) (*engine.Generator, error) {
	target, err := engine.ParseTarget("tcp://" + b.listen)
	if err != nil {
		return nil, err
	}
	sources, err := engine.ParseSources("127.0.0.2-127.0.0.9")
	if err != nil {
		return nil, err
	}
	hold := &engine.Hold{Every: c.Every, Size: engine.FixedSize(c.Size)}
	return engine.New(engine.Config{Target: target, Parts: []engine.Part{{Name: "hold", Mode: hold}},
		Connections: b.connections, Loops: c.LoadLoops, Sources: sources, Verify: true, Seed: 1, Timeout: upgradeLimit,
		Beside: func(*reactor.Loop) {
			var set unix.CPUSet
			set.Set(b.w.loadCPU)
			_ = unix.SchedSetaffinity(0, &set) // without it the load is disturbed, which the quiet window shows
		}})
}

// measure measures the echoes for a time.
func (w *pauseWindow) measure(ctx context.Context, g *engine.Generator, d time.Duration,
	failed *record.Failures) error {
	before, _ := machine.Use(os.Getpid()) // this process exists
	s, err := g.Run(ctx, engine.Phase{Time: d}, nil)
	after, _ := machine.Use(os.Getpid())
	echoes := s.Windows[0]
	*w = pauseWindow{Seconds: s.Elapsed.Seconds(), Messages: echoes.Messages, Echo: echoes.Service, Longest: s.Longest,
		LoadBusy: s.Busy, LoadWait: after.Since(before).Wait}
	failed.Add(&echoes.Errors)
	return err
}

// upgrade upgrades the proxy, and returns when the old process has ended, or keeps connections.
func (b *pauseBed) upgrade(ctx context.Context, run *pauseRun) error {
	ended, err := proc.Ended(b.proxy.Pid())
	if err != nil {
		return err
	}
	var answer struct {
		Served float64 `json:"served_seconds"`
		Moved  int
		Stay   []pauseStay
		Note   string
	}
	begun := time.Now()
	if err := b.ctl(ctx, &answer, "upgrade", "--wait", upgradeLimit.String()); err != nil {
		return err
	}
	run.Served, run.Moved, run.Stay, run.Note = time.Duration(answer.Served*1e9), answer.Moved, answer.Stay, answer.Note
	if len(answer.Stay) > 0 || answer.Note != "" {
		return nil
	}
	select {
	case at := <-ended:
		run.Ended = at.Sub(begun)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pauseMetric is the histogram of pauses.
const pauseMetric = "reactord_handover_pause_seconds"

// pauses reads the pauses that the new process has counted: the native histogram, which is finer than the text.
func (b *pauseBed) pauses(ctx context.Context) (p pauseCounts, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.metrics+"/metrics", nil)
	if err != nil {
		return p, err
	}
	format := expfmt.NewFormat(expfmt.TypeProtoDelim)
	request.Header.Set("Accept", string(format))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return p, err
	}
	defer answer.Body.Close()
	families := expfmt.NewDecoder(answer.Body, format)
	for {
		var family dto.MetricFamily
		switch err := families.Decode(&family); {
		case errors.Is(err, io.EOF):
			return p, fmt.Errorf("the metrics of the proxy lack %s", pauseMetric)
		case err != nil:
			return p, err
		}
		if family.GetName() == pauseMetric && len(family.GetMetric()) != 0 {
			return countPauses(family.GetMetric()[0].GetHistogram()), nil
		}
	}
}

// countPauses returns what a native histogram has counted.
func countPauses(h *dto.Histogram) pauseCounts {
	p := pauseCounts{Count: h.GetSampleCount(), Seconds: h.GetSampleSum()}
	add := func(bound float64, n uint64) {
		if n != 0 {
			p.Buckets = append(p.Buckets, pauseBucket{bound, n})
		}
	}
	add(h.GetZeroThreshold(), h.GetZeroCount())
	index, n, deltas := 0, int64(0), h.GetPositiveDelta()
	for _, span := range h.GetPositiveSpan() {
		index += int(span.GetOffset())
		for range span.GetLength() {
			n += deltas[0]
			deltas = deltas[1:]
			add(math.Exp2(float64(index)/math.Exp2(float64(h.GetSchema()))), uint64(n))
			index++
		}
	}
	return p
}
