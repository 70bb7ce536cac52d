package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/bench/proc"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/uring"
)

// childVariable makes the test binary behave as the program, because a suite starts itself as its children.
const childVariable = "REACTORD_BENCH_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func testWorkshop(t *testing.T) *workshop {
	t.Helper()
	w, err := newWorkshop(0, min(1, runtime.NumCPU()-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	w.env = []string{childVariable + "=1"}
	w.warmup, w.settle = 20*time.Millisecond, 200*time.Millisecond
	return w
}

func TestTinySuite(t *testing.T) {
	s := &suiteCommand{Rounds: 2, Time: 200 * time.Millisecond, Cases: []string{"echo-128"}, Only: []string{goNet}}
	chosen, err := s.chooseCases()
	if err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	rep, err := s.measureAll(t.Context(), testWorkshop(t), chosen, &progress)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Cases) != 1 || len(rep.Cases[0].Peers) != 1 {
		t.Fatalf("measured %d cases, want one with one peer", len(rep.Cases))
	}
	p := rep.Cases[0].Peers[0]
	if p.Failed != "" || len(p.Samples) != 2 || len(p.Figures) != 2 {
		t.Fatalf("%d samples, failed: %s", len(p.Samples), p.Failed)
	}
	for i, found := range p.Samples {
		r := found.Result
		if r.Verified == 0 || r.Messages == 0 || r.Elapsed < s.Time {
			t.Errorf("round %d: %+v", i, r)
		}
		if r.ServerCPU <= 0 || r.LoadCPU <= 0 {
			t.Errorf("round %d: no CPU time: %+v", i, r)
		}
		if want := r.ServerCPU.Seconds() * 1e6 / float64(r.Messages); math.Abs(found.Figure-want) > 1e-6 ||
			found.Figure != p.Figures[i] {
			t.Errorf("round %d: figure %v and %v, want %v", i, found.Figure, p.Figures[i], want)
		}
	}
	text := rep.markdown()
	for _, want := range []string{"Linux ", runtime.Version(), "| Go net | ", "× C io_uring", "| not measured |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	if _, err := json.Marshal(rep); err != nil {
		t.Error(err)
	}
	if n := strings.Count(progress.String(), "CPU µs/message"); n != 2 {
		t.Errorf("%d lines of progress, want 2:\n%s", n, &progress)
	}
}

func TestMissingCompilerIsNamed(t *testing.T) {
	w := testWorkshop(t)
	t.Setenv("PATH", t.TempDir())
	for _, p := range echoPeers()[:2] {
		if _, err := p.prepare(t.Context(), w); err == nil || !strings.Contains(err.Error(), "gcc") {
			t.Errorf("%s without gcc: %v", p.name, err)
		}
	}
	for _, p := range proxyPeers(proxySetup{Loops: 1})[2:] {
		if _, err := p.prepare(t.Context(), w); err == nil {
			t.Errorf("%s was found nowhere", p.name)
		}
	}
}

func TestAFailingPeerIsReported(t *testing.T) {
	s := &suiteCommand{Rounds: 2, Time: time.Millisecond, Only: []string{"broken"},
		With: []string{"broken=false {host}"}, Cases: []string{"echo-128"}}
	chosen, err := s.chooseCases()
	if err != nil {
		t.Fatal(err)
	}
	rep, err := s.measureAll(t.Context(), testWorkshop(t), chosen, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if !rep.failed() || rep.allMet() || !strings.Contains(rep.markdown(), "| broken | failed: exit status 1 |") {
		t.Errorf("failed %v, all met %v:\n%s", rep.failed(), rep.allMet(), rep.markdown())
	}
}

// writerFunc is a function as an io.Writer.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// An interrupted suite keeps what it has measured.
func TestInterruptedSuite(t *testing.T) {
	s := &suiteCommand{Rounds: 100, Time: 10 * time.Millisecond, Only: []string{goNet}, Cases: []string{"echo-128"}}
	chosen, err := s.chooseCases()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	rep, err := s.measureAll(ctx, testWorkshop(t), chosen, writerFunc(func(p []byte) (int, error) {
		cancel()
		return len(p), nil
	}))
	if !errors.Is(err, context.Canceled) || len(rep.Cases[0].Peers[0].Samples) != 1 ||
		!strings.Contains(rep.markdown(), "| Go net | ") {
		t.Errorf("%v: %+v", err, rep)
	}
	// Its peers are not reported as missing if there was no time to find them.
	if rep, err = s.measureAll(ctx, testWorkshop(t), chosen, io.Discard); !errors.Is(err, context.Canceled) ||
		len(rep.Peers) != 0 {
		t.Errorf("%v: %+v", err, rep)
	}
}

func TestUnknownCase(t *testing.T) {
	s := &suiteCommand{Cases: []string{"echo-128", "echo-129"}}
	if _, err := s.chooseCases(); err == nil || !strings.Contains(err.Error(), "echo-129") {
		t.Errorf("an unknown case: %v", err)
	}
}

func TestCancelEndsAMeasurement(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := testWorkshop(t)
	c := cases()[0]
	time.AfterFunc(100*time.Millisecond, cancel)
	done := make(chan error, 1)
	go func() {
		_, err := measure(ctx, w, c, echoPeers()[len(echoPeers())-1], time.Minute)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a cancelled measurement succeeded")
		}
	case <-time.After(20 * time.Second):
		t.Error("a cancelled measurement still runs")
	}
}

func TestExecPins(t *testing.T) {
	w := testWorkshop(t)
	begun := time.Now()
	c, err := w.start(t.Context(), 0, []string{"grep", "Cpus_allowed_list", "/proc/self/status"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	var said bytes.Buffer
	said.ReadFrom(c.Stdout)
	if got := strings.Fields(said.String()); len(got) != 2 || got[1] != "0" {
		t.Errorf("it runs on %q, want CPU 0", said.String())
	}
	if at, err := w.executed(); err != nil || at.Before(begun) || at.After(time.Now()) {
		t.Errorf("it was executed at %v, %v; the test began at %v", at, err, begun)
	}
}

// startServer starts one of the program's servers, and returns when it listens.
func startServer(t *testing.T, w *workshop, args ...string) (*proc.Child, string) {
	t.Helper()
	listen, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	argv := append(append(w.self, "serve"), args...)
	server, err := w.start(t.Context(), 0, append(argv, "--listen", "tcp://"+listen))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	if err := awaitListening(t.Context(), server, listen); err != nil {
		t.Fatal(err)
	}
	return server, listen
}

// eachEchoServer runs f as a sub-test for every style of echo server.
func eachEchoServer(t *testing.T, f func(t *testing.T, style []string)) {
	for _, style := range echoStyles {
		t.Run(strings.Join(style, " "), func(t *testing.T) {
			if slices.Contains(style, "io_uring") {
				_, err := uring.Probe()
				testenv.NeedIOUring(t, err)
			}
			f(t, style)
		})
	}
}

var echoStyles = [][]string{
	{"echo", "--style", "net"},
	{"echo", "--style", "receiver", "--ring", "io_uring"},
	{"echo", "--style", "receiver", "--ring", "epoll", "--loops", "2", "--pin"},
	{"echo", "--style", "handler", "--ring", "io_uring"},
	{"echo", "--style", "handler", "--ring", "epoll", "--loops", "2"},
	{"echo", "--style", "task", "--ring", "io_uring"},
	{"echo", "--style", "goroutine", "--ring", "epoll"},
}

// Messages that are much larger than a buffer come back complete and in order.
func TestEchoOfLargeMessages(t *testing.T) {
	w := testWorkshop(t)
	eachEchoServer(t, func(t *testing.T, style []string) {
		_, listen := startServer(t, w, style...)
		_, err := generate(t.Context(), w, nil, []string{"echo", "--target", "tcp://" + listen, "--connections", "20",
			"--size", "64k", "--verify", "--warmup", "0s", "--time", "100ms"})
		if err != nil {
			t.Error(err)
		}
	})
}

// Bytes that were sent before a half-close come back, and then EOF.
func TestEchoEndsAfterAll(t *testing.T) {
	w := testWorkshop(t)
	eachEchoServer(t, func(t *testing.T, style []string) {
		_, listen := startServer(t, w, style...)
		c, err := net.Dial("tcp", listen)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(10 * time.Second))
		sent := bytes.Repeat([]byte("0123456789"), 100_000)
		go func() {
			c.Write(sent)
			c.(*net.TCPConn).CloseWrite()
		}()
		if got, err := io.ReadAll(c); !bytes.Equal(got, sent) || err != nil {
			t.Errorf("%d of %d bytes came back, %v", len(got), len(sent), err)
		}
	})
}

func TestServersEndOnSIGTERM(t *testing.T) {
	w := testWorkshop(t)
	ends := func(t *testing.T, style []string) {
		server, listen := startServer(t, w, style...)
		c, err := net.Dial("tcp", listen) // an open connection does not keep it
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := syscall.Kill(server.Pid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case <-server.Done():
			if err := server.Err(); !strings.HasPrefix(err.Error(), "it ended") {
				t.Errorf("the server ended with %v, want success", err)
			}
		case <-time.After(10 * time.Second):
			t.Error("the server still runs")
		}
	}
	eachEchoServer(t, ends)
	t.Run("proxy", func(t *testing.T) { ends(t, []string{"proxy", "--to", "tcp://127.0.0.1:1"}) })
}

func TestWrongListenAddress(t *testing.T) {
	s := &serveEcho{serveFlags{Listen: "127.0.0.1:1", Style: "net"}}
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "SCHEME://ADDRESS") {
		t.Errorf("an address without tcp://: %v", err)
	}
}
