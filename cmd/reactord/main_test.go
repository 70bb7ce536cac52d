package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/host/build"
	"go.uber.org/goleak"
)

// asReactord makes this test binary reactord itself; whose names are looked up at the address in withDNS, if it is set.
const (
	asReactord = "TEST_AS_REACTORD"
	withDNS    = "TEST_WITH_DNS"
)

func TestMain(m *testing.M) {
	if os.Getenv(asReactord) != "" {
		if at := os.Getenv(withDNS); at != "" {
			dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, at)
			}
			net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: dial}
		}
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// command is reactord with arguments.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), asReactord+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

func TestCommandLine(t *testing.T) {
	for _, test := range []struct {
		args           string
		code           int
		stdout, stderr string // what is said, or how it begins
	}{
		{"", 0, "Usage: reactord <command>", ""},
		{"version", 0, "reactord ", ""},
		{"--version", 0, "reactord " + build.Read().Version + ", revision ", ""},
		{"check --config example.yaml", 0, "example.yaml: ok\n",
			"warning: backends[1]: unused: no listener or route has backend: discovered\n"},
		{"check --config ../../docs/examples/redis.yaml", 0, "../../docs/examples/redis.yaml: ok\n", ""},
		{"config --config example.yaml", 0, "ring: auto # example.yaml:8\n", ""},
		{"config -c main.go", 1, "", "main.go:"},
		{"schema", 0, "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n", ""},
		{"man", 0, ".TH REACTORD 1 ", ""},
		{"man reactord.yaml.5", 0, ".TH REACTORD.YAML 5 ", ""},
		{"completion csh", 2, "", `reactord: error: <shell> must be one of "bash","zsh","fish" but got "csh"`},
		{"check -c doc.go", 1, "", "reactord: open doc.go: no such file or directory\n"},
		{"check -c main.go", 1, "", "main.go:"},
		{"serve -c main.go", 1, "", "main.go:"},
		{"bogus", 2, "", "reactord: error: unexpected argument bogus"},
		{"proxy", 2, "", "reactord: error: missing flags: --listen"},
		{"proxy --listen a --to a:1", 2, "", "reactord: error: --listen: no port: write tcp://a:PORT"},
		{"proxy --listen a:1 --to a:1 --buffer x", 2, "", `reactord: error: --buffer: "x" is not a size`},
		{"proxy --listen 8080 --to a:1", 2, "", "reactord: error: --listen: no host: write tcp://127.0.0.1:8080"},
		{"proxy --listen a:1 --to a:1 --listen b:1", 2, "", "reactord: error: --listen is given twice"},
		{"proxy --listen 192.0.2.1:1 --to 127.0.0.1:1", 1, "",
			"reactord: listener proxy: cannot listen on 192.0.2.1:1: bind: cannot assign requested address: this machine " +
				"has no such address"},
		{"envoy --version", 0, "envoy  version: ", ""},
		{"envoy --mode validate -c internal/envoy/bootstrap/testdata/consul.json", 0,
			"configuration 'internal/envoy/bootstrap/testdata/consul.json' OK\n", ""},
		{"envoy --service-node n", 2, "", "reactord: wrong command line: wrong flags of Envoy: neither --config-path nor"},
		{"envoy -c main.go", 1, "", "reactord: main.go:"},
		{"serve -c a -c b", 2, "", "reactord: error: --config is given twice"},
		{"proxy --listen a:1 --to a:0,b:1,b:1 --ring kqueue", 2, "", `reactord: --ring: "kqueue" is unknown: write one of "auto", "io_uring" and "epoll"
reactord: --to: port 0 is not allowed: write the port that the server listens on
reactord: --to: "tcp://b:1" is used twice
`},
	} {
		t.Run(test.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			c := command(t, strings.Fields(test.args)...)
			c.Stdout, c.Stderr = &stdout, &stderr
			err := c.Run()
			if got := c.ProcessState.ExitCode(); got != test.code {
				t.Errorf("exit code %d (%v), want %d", got, err, test.code)
			}
			for _, said := range []struct{ got, want string }{
				{stdout.String(), test.stdout}, {stderr.String(), test.stderr},
			} {
				if !strings.HasPrefix(said.got, said.want) || said.want == "" && said.got != "" {
					t.Errorf("said %q, want %q", said.got, said.want)
				}
			}
		})
	}
}

// TestDemo does what the demo proposes, and stops it as it says.
func TestDemo(t *testing.T) {
	c := command(t, "demo")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	proxy := wait(t, said, regexp.MustCompile(`nc -N (\S+) (\d+)`))
	metrics := wait(t, said, regexp.MustCompile(`curl (\S+)`))
	wait(t, said, regexp.MustCompile("Ctrl-C"))

	conn, err := net.Dial("tcp", net.JoinHostPort(proxy[1], proxy[2]))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintln(conn, "hello")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "hello\n" {
		t.Errorf("echoed %q, %v", got, err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(metrics[1])
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil || !bytes.Contains(page, []byte("\nreactord_build_info{")) {
		t.Errorf("%d bytes of metrics, %v", len(page), err)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// wait reads lines until one matches, and returns its parts.
func wait(t *testing.T, r *bufio.Reader, want *regexp.Regexp) []string {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if parts := want.FindStringSubmatch(line); parts != nil {
			return parts
		}
		if err != nil {
			t.Fatalf("waiting for %v: %v", want, err)
		}
	}
}
