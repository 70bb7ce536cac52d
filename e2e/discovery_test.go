package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
)

// startDiscovery starts a daemon whose only backend has the sources, and returns its address.
func startDiscovery(t *testing.T, ring, sources string) *daemon {
	t.Helper()
	d := spawn(t, nil, nil, "serve", "--config", writeConfig(t, fmt.Sprintf(`
ring: %s
loops: 1
metrics: 127.0.0.1:0
%s
listeners:
  - {name: l, address: 'tcp://127.0.0.1:0', backend: b}
`, ring, sources)))
	d.addr = d.await("listening").str("address")
	d.metrics = d.await("metrics").str("address")
	return d
}

// named is the name that a server answers with, or "".
func named(addr string) string {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return ""
	}
	defer c.Close()
	name, _ := io.ReadAll(c)
	return string(name)
}

// dnsmasq is a DNS server that reads its names from a file.
type dnsmasq struct {
	t           *testing.T
	addr, hosts string
	program     string
	cmd         *exec.Cmd
}

func newDnsmasq(t *testing.T) *dnsmasq {
	t.Helper()
	d := &dnsmasq{t: t, addr: testenv.Vacant(t), hosts: filepath.Join(t.TempDir(), "hosts")}
	d.program = need(t, "dnsmasq", "dnsmasq-base")
	t.Cleanup(d.stop)
	return d
}

// set replaces all names: lines of hosts(5).
func (d *dnsmasq) set(lines string) {
	d.t.Helper()
	if err := os.WriteFile(d.hosts, []byte(lines), 0o600); err != nil {
		d.t.Fatal(err)
	}
	if d.cmd != nil {
		if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *dnsmasq) start() {
	d.t.Helper()
	host, port, err := net.SplitHostPort(d.addr)
	if err != nil {
		d.t.Fatal(err)
	}
	d.cmd = exec.Command(d.program, "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
		"--user=root", "--pid-file=", "--bind-interfaces", "--log-facility=/dev/null", "--local=/test/", "--local-ttl=0",
		"--listen-address="+host, "--port="+port, "--addn-hosts="+d.hosts)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
}

func (d *dnsmasq) stop() {
	if d.cmd != nil {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
		d.cmd = nil
	}
}

// namesAt is a server at an address of this machine, on a port that it has on others too.
func namesAt(t *testing.T, host, port, name string) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, name)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-ended })
}

// failedLookups is the series of lookups that have failed, if there are some.
var failedLookups = regexp.MustCompile(`reactord_discovery_lookups_total{backend="b",result="error",[^}]*} [1-9]`)

// The servers of a name change while connections are made: none fails. When the DNS server dies, they stay.
func TestDiscoveryDNS(t *testing.T) {
	t.Parallel()
	onEachRing(t, func(t *testing.T, ring string) {
		a, port, err := net.SplitHostPort(testenv.Vacant(t))
		if err != nil {
			t.Fatal(err)
		}
		b := strings.TrimSuffix(a, ".1") + ".2"
		namesAt(t, a, port, "a")
		namesAt(t, b, port, "b")
		dns := newDnsmasq(t)
		dns.set(a + " app.test\n")
		dns.start()
		d := startDiscovery(t, ring, fmt.Sprintf(`
resolver: {servers: ['%s'], timeout: 500ms}
backends:
  - {name: b, dns: [{name: app.test, type: A, port: %s, min_interval: 100ms, max_interval: 1s}]}`, dns.addr, port))
		eventually(t, "a serves", func() bool { return named(d.addr) == "a" })
		var failed atomic.Int64
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for {
				select {
				case <-stop:
					return
				default:
					if named(d.addr) == "" {
						failed.Add(1)
					}
				}
			}
		}()
		for range 3 {
			dns.set(b + " app.test\n")
			eventually(t, "b serves", func() bool { return named(d.addr) == "b" })
			dns.set(a + " app.test\n")
			eventually(t, "a serves", func() bool { return named(d.addr) == "a" })
		}
		dns.stop()
		eventually(t, "lookups fail", func() bool {
			_, page := d.get("/metrics")
			return failedLookups.MatchString(page)
		})
		if got := named(d.addr); got != "a" {
			t.Errorf("%q serves without the DNS server", got)
		}
		dns.set(b + " app.test\n127.0.0.1 other.test\n")
		dns.start()
		eventually(t, "b serves", func() bool { return named(d.addr) == "b" })
		close(stop)
		<-ended
		if n := failed.Load(); n != 0 {
			t.Errorf("%d connections have failed", n)
		}
		d.stop()
	})
}

// Servers of files, which are replaced, and of an HTTP server, which dies and comes back.
func TestDiscoveryFileAndHTTP(t *testing.T) {
	t.Parallel()
	onEachRing(t, func(t *testing.T, ring string) {
		a, b := names(t, "a"), names(t, "b")
		var targets atomic.Pointer[string]
		set := func(addr string) {
			text := fmt.Sprintf(`[{"targets": [%q]}]`, addr)
			targets.Store(&text)
		}
		set(a)
		addr := testenv.Vacant(t) // that no other test takes while nothing listens
		serveTargets := func() func() {
			l, err := net.Listen("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, *targets.Load())
			})}
			ended := make(chan struct{})
			go func() { defer close(ended); _ = s.Serve(l) }()
			return func() { s.Close(); <-ended }
		}
		stop := serveTargets()
		d := startDiscovery(t, ring,
			fmt.Sprintf("backends:\n  - {name: b, http: [{url: 'http://%s', interval: 1s}]}", addr))
		eventually(t, "a serves", func() bool { return named(d.addr) == "a" })
		set(b)
		eventually(t, "b serves", func() bool { return named(d.addr) == "b" })
		stop()
		set(a)
		defer serveTargets()()
		eventually(t, "a serves again", func() bool { return named(d.addr) == "a" })
		d.stop()

		file := filepath.Join(t.TempDir(), "servers.yaml")
		writeFile(t, file, "- targets: ['"+a+"']\n")
		d = startDiscovery(t, ring, "backends:\n  - {name: b, files: [{path: '"+file+"'}]}")
		eventually(t, "a serves", func() bool { return named(d.addr) == "a" })
		writeFile(t, file, "- targets: ['"+b+"']\n  labels: {weight: 2000}\n")
		eventually(t, "the mistake is logged", func() bool {
			return len(d.logged(func(l line) bool { return strings.Contains(l.raw, file+":2:20: the label weight") })) > 0
		})
		if got := named(d.addr); got != "a" {
			t.Errorf("%q serves with a file that is wrong", got)
		}
		writeFile(t, file, "- targets: ['"+b+"']\n  labels: {weight: 20}\n")
		eventually(t, "b serves", func() bool { return named(d.addr) == "b" })
		d.stop()
	})
}
