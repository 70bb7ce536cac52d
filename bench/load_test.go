package main

import (
	"encoding/csv"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/bench/proc"
	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/bench/report"
)

// bench runs the program with args, and returns its output and its error.
func bench(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return say(t, append(testWorkshop(t).self, args...)...)
}

// say runs a command.
func say(t *testing.T, command ...string) (string, error) {
	t.Helper()
	c, err := proc.Start(t.Context(), command, testWorkshop(t).env)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	var said strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := c.Stdout.Read(buf)
		said.Write(buf[:n])
		if err != nil {
			break
		}
	}
	<-c.Done()
	if err := c.Err(); !strings.HasPrefix(err.Error(), "it ended") {
		return said.String(), err
	}
	return said.String(), nil
}

// Connections that use up the descriptors do not take those for reading /proc.
func TestHoldUsesAllDescriptors(t *testing.T) {
	w := testWorkshop(t)
	_, listen := startServer(t, w, "echo")
	file := filepath.Join(t.TempDir(), "r.json")
	command := append([]string{"sh", "-c", `ulimit -n 60 && exec "$0" "$@"`}, w.self...)
	said, err := say(t, append(command, "hold", "--target", "tcp://"+listen, "-c", "100", "-t", "100ms", "--give-up",
		"500ms", "--json", file)...)
	if err == nil || !strings.Contains(said, "of 100 connections are open; raise the limit of open files") {
		t.Errorf("%v:\n%s", err, said)
	}
	r, err := record.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	up := r.Phases[0]
	if n := int(up.Total().Opened); n < 40 || n > 55 || up.Target == nil || up.Target.Descriptors != n {
		t.Errorf("%d of at most 60 connections were opened, and took of the target %+v", n, up.Target)
	}
}

// A run writes a table and its files, and they agree.
func TestRunLeavesItsFiles(t *testing.T) {
	server, listen := startServer(t, testWorkshop(t), "echo", "--style", "net")
	dir := t.TempDir()
	said, err := bench(t, "rate", "--target", "tcp://"+listen, "--rate", "0.5k", "--warmup", "100ms", "-t", "1100ms",
		"--repeats", "2", "-c", "5", "--verify",
		"--json", dir+"/r.json", "--csv", dir+"/r.csv", "--hlog", dir+"/r.hlog", "--html", dir+"/r.html",
		"--fail-if", "errors>0")
	if err != nil || strings.Count(said, "/s planned)") != 2 || !strings.Contains(said, "service time") {
		t.Fatalf("%v:\n%s", err, said)
	}
	r, err := record.ReadFile(dir + "/r.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Measured()) != 2 || len(r.Phases) != 4 || r.Processes[0] != server.Pid() || r.Machine.Kernel == "" ||
		r.Failed != "" {
		t.Errorf("%+v", r)
	}
	for _, p := range r.Measured() {
		w := p.Total()
		if w.Messages != 550 || w.Verified != w.BytesIn || w.BytesIn != 550*128 || p.Target == nil || p.Target.CPU <= 0 {
			t.Errorf("%d messages, %d bytes in, %d verified, target %+v", w.Messages, w.BytesIn, w.Verified, p.Target)
		}
	}
	sum := int64(0)
	for _, p := range r.Series {
		sum += p.Messages
	}
	if sum != 2*550+50 {
		t.Errorf("the series has %d messages, want all of the run's 1150", sum)
	}
	file, err := os.Open(dir + "/r.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if rows, err := csv.NewReader(file).ReadAll(); err != nil || len(rows) != len(r.Series)+1 {
		t.Errorf("%d rows for %d seconds, %v", len(rows), len(r.Series), err)
	}
	for name, want := range map[string]string{"/r.html": "</html>", "/r.hlog": "[Histogram log format version"} {
		if text, err := os.ReadFile(dir + name); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q: %v", name, want, err)
		}
	}
	if said, err := bench(t, "compare", "a="+dir+"/r.json", "b="+dir+"/r.json", "--html", dir+"/c.html"); err != nil ||
		!strings.Contains(said, "too few samples (2 and 2, not 5)") {
		t.Errorf("%v:\n%s", err, said)
	}
}

// The exit code of an exceeded bound differs from that of an error.
func TestExitCodes(t *testing.T) {
	_, listen := startServer(t, testWorkshop(t), "delay", "--delay", "20ms")
	common := []string{"echo", "--target", "tcp://" + listen, "--warmup", "0s", "-t", "200ms", "-c", "2"}
	for _, test := range []struct {
		args []string
		want string
	}{
		{append(common, "--fail-if", "p50<20ms"), ""},
		{append(common, "--fail-if", "p50>10ms"), "exit status 2"},
		{append(common, "--fail-if", "p50"), "exit status 1"},
		{append(common, "--rate", "x"), "exit status 80"},
		{[]string{"rate", "--target", "tcp://" + listen}, "exit status 1"},
	} {
		said, err := bench(t, test.args...)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want %q\n%s", test.args, err, test.want, said)
		}
	}
}

// Without a listener the run fails, and still writes its result.
func TestRefusedRunLeavesAResult(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	name := t.TempDir() + "/r.json"
	_, err = bench(t, "echo", "--target", "tcp://"+l.Addr().String(), "--give-up", "500ms", "--json", name)
	if err == nil || !strings.Contains(err.Error(), "does the target listen?") {
		t.Errorf("%v", err)
	}
	if r, err := record.ReadFile(name); err != nil || !strings.Contains(r.Failed, "refused") ||
		r.Phases[0].Total().Errors[record.Refused] == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A run with failures only is an error, even if it is shorter than --give-up. A run whose files cannot be written does
// not begin.
func TestRunsInVain(t *testing.T) {
	_, listen := startServer(t, testWorkshop(t), "discard")
	common := []string{"echo", "--target", "tcp://" + listen, "--warmup", "0s", "-t", "200ms", "--timeout", "50ms"}
	if said, err := bench(t, common...); err == nil || !strings.Contains(err.Error(), "only failures") ||
		!strings.Contains(said, "timeout") {
		t.Errorf("%v:\n%s", err, said)
	}
	for _, flag := range []string{"--json", "--csv", "--html", "--hlog"} {
		if said, err := bench(t, append(common, flag, "/nonexistent/file")...); err == nil ||
			!strings.Contains(err.Error(), "/nonexistent/file") || said != "" {
			t.Errorf("%s: %v:\n%s", flag, err, said)
		}
	}
}

func TestProgressFitsTheTerminal(t *testing.T) {
	for _, test := range []struct {
		columns int
		want    string
	}{{0, "12 µs…"}, {80, "12 µs…"}, {7, "12 µs…"}, {6, "12 µs"}, {5, "12 µ"}} {
		if got := cut("12 µs…", test.columns); got != test.want {
			t.Errorf("%d columns: %q, want %q", test.columns, got, test.want)
		}
	}
	p := record.Point{Seconds: 1234.5, Kind: record.Measure, Length: 1, Messages: 123456, Open: 10000, P50: 123456,
		P99: 1234567, Max: 12345678}
	if line := report.ProgressLine(p); len([]rune(line)) >= 80 {
		t.Errorf("%q is longer than a line", line)
	}
}

// A killed target ends the run, and the result has what was measured before.
func TestKilledTargetLeavesAResult(t *testing.T) {
	server, listen := startServer(t, testWorkshop(t), "echo")
	go func() { // as soon as it has worked for a while
		for {
			if used, err := proc.CPUTime(server.Pid()); err != nil || used > 300*time.Millisecond {
				server.Stop()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	name := t.TempDir() + "/r.json"
	_, err := bench(t, "echo", "--target", "tcp://"+listen, "--warmup", "0s", "-t", "1h", "--give-up", "1s", "--json",
		name)
	if err == nil || !strings.Contains(err.Error(), "no progress") {
		t.Errorf("%v", err)
	}
	if r, err := record.ReadFile(name); err != nil || r.Failed == "" || r.Measured()[0].Total().Messages == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Connections resume TLS sessions if they are told to, and the output says how many did.
func TestResumption(t *testing.T) {
	listen, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	w := testWorkshop(t)
	server, err := w.start(t.Context(), 0, append(w.self, "serve", "echo", "--style", "net", "--listen", "tls://"+listen))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	if err := awaitListening(t.Context(), server, listen); err != nil {
		t.Fatal(err)
	}
	common := []string{"connect", "--target", "tls://" + listen, "--insecure", "--curves", "X25519", "--size", "128",
		"--close", "rst", "--warmup", "0s", "-t", "200ms", "-c", "2"}
	if said, err := bench(t, append(common, "--resume")...); err != nil ||
		!strings.Contains(said, " connections resumed a TLS session\n") {
		t.Errorf("%v:\n%s", err, said)
	}
	if said, err := bench(t, common...); err != nil || strings.Contains(said, "resumed") {
		t.Errorf("%v:\n%s", err, said)
	}
	if _, err := bench(t, append(common, "--curves", "X448")...); err == nil ||
		!strings.Contains(err.Error(), `"X448" is not one of P-256, `) {
		t.Errorf("an unknown key exchange: %v", err)
	}
}
