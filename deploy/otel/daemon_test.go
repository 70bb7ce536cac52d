package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

var update = flag.Bool("update", false, "write testdata/access.log anew")

// recorded is lines that a daemon has written.
const recorded = "testdata/access.log"

var reactord string // the binary

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "reactord-otel-")
	code := 1
	if err == nil {
		reactord = filepath.Join(dir, "reactord")
		build := exec.Command("go", "build", "-o", reactord, "./cmd/reactord")
		build.Dir = "../.."
		build.Stderr = os.Stderr
		if err = build.Run(); err == nil {
			code = m.Run()
		}
		_ = os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "building reactord:", err)
	}
	os.Exit(code)
}

// The fields of a line are those of the daemon's own definition: none is missing here, and none is gone there.
func TestFieldsAreTheDaemons(t *testing.T) {
	text, err := exec.CommandContext(t.Context(), reactord, "schema").Output()
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs struct {
			AccessLog struct {
				Properties struct {
					Fields struct {
						Items struct {
							AnyOf []struct{ Enum []string }
						}
					}
				}
			} `json:"access_log"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	var daemons, own []string
	for _, one := range schema.Defs.AccessLog.Properties.Fields.Items.AnyOf {
		daemons = append(daemons, one.Enum...)
	}
	of := reflect.TypeFor[line]()
	for i := range of.NumField() {
		own = append(own, of.Field(i).Tag.Get("json"))
	}
	slices.Sort(daemons)
	slices.Sort(own)
	if len(daemons) == 0 || !slices.Equal(daemons, own) {
		t.Errorf("the daemon has %v, and this program reads %v", daemons, own)
	}
}

// echo serves connections that it sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

const daemonConfig = `
ring: epoll
loops: 1
access_log: {path: %s}
listeners:
  - {name: web, address: "tcp://127.0.0.1:0", backend: app}
  - {name: broken, address: "tcp://127.0.0.1:0", backend: dead}
backends:
  - {name: app, servers: ["tcp://%s"]}
  - {name: dead, retries: 0, servers: ["tcp://%s"]}
`

// daemon starts a daemon that logs to a file, and returns the addresses of its listeners.
func daemon(t *testing.T, path string) map[string]string {
	t.Helper()
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	config := filepath.Join(t.TempDir(), "reactord.yaml")
	text := fmt.Sprintf(daemonConfig, path, echo(t), dead.Addr())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d := exec.Command(reactord, "serve", "--config", config)
	d.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	logged, err := d.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.Process.Kill()
		_ = d.Wait() // it was killed
	})
	at := map[string]string{}
	for s := bufio.NewScanner(logged); len(at) < 2 && s.Scan(); {
		var l struct{ Msg, Listener, Address string }
		if json.Unmarshal(s.Bytes(), &l) == nil && l.Msg == "listening" {
			at[l.Listener] = l.Address
		}
	}
	if len(at) != 2 {
		t.Fatal("the daemon has not started")
	}
	go func() { _, _ = io.Copy(io.Discard, logged) }()
	return at
}

// connect sends bytes to a listener, and waits for the end.
func connect(t *testing.T, address, text string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if errors.Is(err, syscall.ECONNRESET) {
		return // a connection that is refused may be reset before this end knows that it was accepted
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, text)
	_ = c.(*net.TCPConn).CloseWrite() // the end of the refused one may have come already
	_, _ = io.Copy(io.Discard, c)
}

// TestDaemon exports what a daemon logs, while it does.
func TestDaemon(t *testing.T) {
	for _, protocol := range []string{"http/protobuf", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			got := receive(t, protocol)
			path := filepath.Join(t.TempDir(), "access.log")
			at := daemon(t, path)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- run(ctx, command{file: path, ratio: 1, fromStart: true}) }()
			connect(t, at["web"], "hello")
			connect(t, at["broken"], "")
			spans := got.await(t, 5)
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			checkTraces(t, spans)
			if *update {
				text, err := os.ReadFile(path)
				if err == nil {
					err = os.WriteFile(recorded, text, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestRecorded exports lines of a daemon from the standard input's side: a file to its end.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	for one := range strings.Lines(string(text)) {
		d := json.NewDecoder(strings.NewReader(one))
		d.DisallowUnknownFields()
		if err := d.Decode(&line{}); err != nil {
			t.Errorf("%v: %s", err, one)
		}
	}
	got := receive(t, "http/protobuf")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, command{file: recorded, ratio: 1, fromStart: true}) }()
	checkTraces(t, got.await(t, 5))
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// checkTraces checks the spans of one connection that was served, and of one whose server refused it.
func checkTraces(t *testing.T, spans []*tracepb.Span) {
	t.Helper()
	by := map[string]*tracepb.Span{}
	for _, s := range spans {
		root := s
		for _, other := range spans {
			if string(other.TraceId) == string(s.TraceId) && len(other.ParentSpanId) == 0 {
				root = other
			}
		}
		if len(s.ParentSpanId) != 0 && string(s.ParentSpanId) != string(root.SpanId) {
			t.Errorf("%s is not below the span of its connection", s.Name)
		}
		slack := uint64(time.Millisecond)
		if s.StartTimeUnixNano < root.StartTimeUnixNano || s.EndTimeUnixNano > root.EndTimeUnixNano+slack ||
			s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%s is not within its connection", s.Name)
		}
		by[strings.TrimSuffix(root.Name+"/"+s.Name, "/"+root.Name)] = s
	}
	for _, want := range []string{
		"web → app", "web → app/connect", "web → app/data", "broken → dead", "broken → dead/connect",
	} {
		if by[want] == nil {
			t.Fatalf("there is no span %q in %v", want, by)
		}
	}
	good, bad := by["web → app"], by["broken → dead"]
	for key, want := range map[string]string{
		"client.address": "127.0.0.1", "server.address": "127.0.0.1", "network.transport": "tcp",
		"reactord.listener": "web", "reactord.backend": "app", "reactord.bytes_from_client": "5", "reactord.end.by": "normal",
	} {
		if value := attributeOf(good, key); value != want {
			t.Errorf("%s is %q, want %q", key, value, want)
		}
	}
	if attributeOf(good, "reactord.connection.id") == attributeOf(bad, "reactord.connection.id") {
		t.Error("both connections have one id")
	}
	if good.Kind != tracepb.Span_SPAN_KIND_SERVER || by["web → app/connect"].Kind != tracepb.Span_SPAN_KIND_CLIENT ||
		attributeOf(by["web → app/connect"], "server.port") != portOf(attributeOf(good, "reactord.server_address")) {
		t.Errorf("the server is not that of the connection: %v", by["web → app/connect"])
	}
	if good.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET {
		t.Errorf("a connection without a fault: %v", good.Status)
	}
	for _, s := range []*tracepb.Span{bad, by["broken → dead/connect"]} {
		if s.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || attributeOf(s, "error.type") != "server" ||
			!strings.Contains(s.Status.Message, "could not be reached: ") {
			t.Errorf("the connection that was refused: %v", s)
		}
	}
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}
