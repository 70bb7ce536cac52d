package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A daemon is a running reactord, killed at the end of its test.
type daemon struct {
	t       *testing.T
	cmd     *exec.Cmd
	http    http.Client
	addr    string // of the listener, once startProxy has returned
	metrics string // of the metrics page, likewise

	mu     sync.Mutex
	lines  []line
	news   chan struct{} // closed, and made anew, with every line
	exited chan struct{} // closed once the process is reaped
}

// A line is one line of the daemon's log.
type line struct {
	Level string `json:"level"`
	Msg   string `json:"msg"`
	raw   string
	field map[string]any
}

func (l line) str(field string) string { s, _ := l.field[field].(string); return s }

// spawn starts reactord with the arguments, behind a command that executes it if one is given.
func spawn(t *testing.T, behind []string, env []string, args ...string) *daemon {
	t.Helper()
	return spawnCommand(t, slices.Concat(behind, []string{reactord}, args), env)
}

// spawnCommand starts a command line that becomes reactord.
func spawnCommand(t *testing.T, argv, env []string) *daemon {
	t.Helper()
	d := &daemon{
		t:      t,
		cmd:    exec.Command(argv[0], argv[1:]...),
		http:   http.Client{Timeout: patience, Transport: &http.Transport{}},
		news:   make(chan struct{}),
		exited: make(chan struct{}),
	}
	d.cmd.Env = append(cleanEnv(), env...)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// A file of its own: Wait does not wait for other processes that have inherited its stderr.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	d.cmd.Stderr = w
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	read := make(chan struct{})
	go func() { defer close(read); d.read(r) }()
	go func() {
		_ = d.cmd.Wait() // ProcessState has the result
		<-read
		close(d.exited)
	}()
	t.Cleanup(func() {
		d.http.CloseIdleConnections()
		_ = d.cmd.Process.Kill()
		<-d.exited
		if t.Failed() {
			t.Logf("%s\n%s", strings.Join(argv, " "), d.text())
		}
	})
	return d
}

// cleanEnv is this process's environment without the variables that the daemon reads.
func cleanEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "REACTORD_") })
}

// startProxy starts `reactord proxy` on a free port and waits until it listens.
func startProxy(t *testing.T, ring string, to []string, args ...string) *daemon {
	t.Helper()
	return startProxyBehind(t, nil, ring, to, args...)
}

func startProxyBehind(t *testing.T, behind []string, ring string, to []string, args ...string) *daemon {
	t.Helper()
	argv := []string{"proxy", "--listen", "tcp://127.0.0.1:0", "--metrics", "127.0.0.1:0", "--ring", ring}
	for _, addr := range to {
		argv = append(argv, "--to", "tcp://"+addr)
	}
	d := spawn(t, behind, nil, append(argv, args...)...)
	d.addr = d.await("listening").str("address")
	d.metrics = d.await("metrics").str("address")
	return d
}

func (d *daemon) read(r *os.File) {
	defer r.Close()
	for s := bufio.NewScanner(r); s.Scan(); {
		l := line{raw: s.Text()}
		if json.Unmarshal(s.Bytes(), &l.field) == nil {
			_ = json.Unmarshal(s.Bytes(), &l)
		}
		d.mu.Lock()
		d.lines = append(d.lines, l)
		close(d.news)
		d.news = make(chan struct{})
		d.mu.Unlock()
	}
}

// logged returns the lines logged so far for which match holds.
func (d *daemon) logged(match func(line) bool) []line {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []line
	for _, l := range d.lines {
		if match(l) {
			found = append(found, l)
		}
	}
	return found
}

// anything matches every line.
func anything(line) bool { return true }

func (d *daemon) text() string {
	var b strings.Builder
	for _, l := range d.logged(anything) {
		b.WriteString(l.raw + "\n")
	}
	return b.String()
}

// await returns the first line with the message, as soon as it is logged.
func (d *daemon) await(msg string) line {
	d.t.Helper()
	deadline := time.After(patience)
	for {
		d.mu.Lock()
		news := d.news
		d.mu.Unlock()
		if found := d.logged(func(l line) bool { return l.Msg == msg }); len(found) > 0 {
			return found[0]
		}
		select {
		case <-news:
		case <-d.exited:
			d.t.Fatalf("reactord has exited (%v) before it logged %q", d.cmd.ProcessState, msg)
		case <-deadline:
			d.t.Fatalf("reactord has not logged %q within %v", msg, patience)
		}
	}
}

func (d *daemon) pid() int { return d.cmd.Process.Pid }

func (d *daemon) signal(s os.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.t.Fatalf("signalling reactord: %v", err)
	}
}

// wait returns the exit code of the daemon, which must end within the time.
func (d *daemon) wait(limit time.Duration) int {
	d.t.Helper()
	select {
	case <-d.exited:
		return d.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		d.t.Fatalf("reactord is still running after %v", limit)
		return -1
	}
}

// stop drains the daemon, and checks that it exits with 0.
func (d *daemon) stop() {
	d.t.Helper()
	d.signal(syscall.SIGTERM)
	if code := d.wait(patience); code != 0 {
		d.t.Fatalf("exit code %d", code)
	}
}

// get fetches a page of the metrics listener.
func (d *daemon) get(path string) (status int, body string) {
	d.t.Helper()
	resp, err := d.http.Get("http://" + d.metrics + path)
	if err != nil {
		d.t.Fatalf("%s: %v", path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatalf("%s: %v", path, err)
	}
	return resp.StatusCode, string(b)
}

// result is the result of a command.
type result struct {
	stdout, stderr string
	code           int
}

// run runs reactord until it exits.
func run(t *testing.T, args ...string) result {
	t.Helper()
	return runCommand(t, append([]string{reactord}, args...)...)
}

// runCommand runs a command until it exits, which must be within a minute.
func runCommand(t *testing.T, argv ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Env = &stdout, &stderr, cleanEnv()
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, stderr.String())
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}
