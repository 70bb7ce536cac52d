package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// ecmp is deploy/ecmp/demo: a router that spreads connections to a virtual address over three proxies.
type ecmp struct {
	t      *testing.T
	prefix string
	dir    string
}

const (
	virtual     = "198.51.100.1:80"
	ecmpClients = 59 // addresses of clients, from 10.9.0.2 on
)

func newECMP(t *testing.T) *ecmp {
	t.Helper()
	need(t, "bird", "bird2")
	need(t, "ip", "iproute2")
	if os.Getuid() != 0 {
		missing(t, "network namespaces need root")
	}
	e := &ecmp{t, fmt.Sprintf("re%d", os.Getpid()), t.TempDir()}
	e.demo("up", reactord, e.dir)
	for i := 11; i <= 14; i++ {
		e.serve(fmt.Sprintf("192.0.2.%d", i))
	}
	t.Cleanup(func() {
		if t.Failed() {
			logs, _ := filepath.Glob(filepath.Join(e.dir, "*.log"))
			for _, name := range logs {
				t.Logf("%s:\n%s", filepath.Base(name), readFile(t, name))
			}
		}
		e.demo("down", e.dir)
	})
	return e
}

func (e *ecmp) demo(args ...string) {
	e.t.Helper()
	cmd := exec.Command("../deploy/ecmp/demo", args...)
	cmd.Env = append(os.Environ(), "ECMP="+e.prefix)
	if out, err := cmd.CombinedOutput(); err != nil {
		e.t.Fatalf("demo %v: %v\n%s", args, err, out)
	}
}

// serve starts a server that answers each byte with its address.
func (e *ecmp) serve(ip string) {
	e.t.Helper()
	if err := within(e.t, e.prefix+"-server", func() error {
		l, err := net.Listen("tcp", ip+":8080")
		if err != nil {
			return err
		}
		var (
			all  sync.WaitGroup
			open sync.Map // of connections
		)
		all.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				open.Store(c, nil)
				all.Go(func() { answerWith(c, ip) })
			}
		})
		e.t.Cleanup(func() {
			l.Close()
			open.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
			all.Wait()
		})
		return nil
	}); err != nil {
		e.t.Fatal(err)
	}
}

func answerWith(c net.Conn, text string) {
	defer c.Close()
	b := make([]byte, 1)
	for {
		if _, err := c.Read(b); err != nil {
			return
		}
		if _, err := io.WriteString(c, text+"\n"); err != nil {
			return
		}
	}
}

// dialFrom connects a client to the virtual address.
func (e *ecmp) dialFrom(client int) (c net.Conn, err error) {
	e.t.Helper()
	err = within(e.t, e.prefix+"-client", func() error {
		from := &net.TCPAddr{IP: net.IPv4(10, 9, 0, byte(2+client%ecmpClients))}
		c, err = (&net.Dialer{LocalAddr: from, Timeout: 2 * time.Second}).Dial("tcp", virtual)
		return err
	})
	return c, err
}

// ask is the server that a connection reaches.
func ask(c net.Conn) (string, error) {
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := c.Write([]byte{'?'}); err != nil {
		return "", err
	}
	var text []byte
	for b := make([]byte, 1); ; {
		if _, err := c.Read(b); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return string(text), nil
		}
		text = append(text, b[0])
	}
}

// weights is how many proxies the router sends connections to, and how many of them are leaving.
func (e *ecmp) weights() (members, leaving int) {
	out, err := exec.Command("ip", "-n", e.prefix+"-router", "nexthop", "show", "id", "100").Output()
	if err != nil {
		return 0, 0
	}
	fields := strings.Fields(string(out) + " id 100 group -")
	for member := range strings.SplitSeq(fields[3], "/") {
		if members++; !strings.HasSuffix(member, ",255") {
			leaving++
		}
	}
	return members, leaving
}

// await waits for such weights.
func (e *ecmp) await(what string, members, leaving int) {
	e.t.Helper()
	eventually(e.t, what, func() bool {
		m, l := e.weights()
		return m == members && l == leaving
	})
}

// on is the proxies' numbers of open connections.
func (e *ecmp) on(proxy int) (n int) {
	for line := range strings.Lines(e.ctl(proxy, "status")) {
		if _, err := fmt.Sscanf(line, "connections %d", &n); err == nil {
			return n
		}
	}
	return -1
}

func (e *ecmp) ctl(proxy int, args ...string) string {
	e.t.Helper()
	socket := fmt.Sprintf("unix://%s/proxy%d/admin.sock", e.dir, proxy)
	r := run(e.t, append([]string{"ctl", "--address", socket}, args...)...)
	if r.code != 0 {
		e.t.Fatalf("ctl %v: %s%s", args, r.stdout, r.stderr)
	}
	return r.stdout
}

// One of three proxies behind a router is held and made ready again, and then drains. While it is leaving it keeps its
// connections, and new ones go to others. The connections of the others do not notice. The clients of the one that has
// drained return to the servers that they had.
func TestECMP(t *testing.T) {
	t.Parallel()
	e := newECMP(t)
	e.await("all proxies are announced", 3, 0)
	eventually(t, "all servers are up", func() bool {
		for proxy := 1; proxy <= 3; proxy++ {
			if strings.Count(e.ctl(proxy, "servers"), " up ") != 4 {
				return false
			}
		}
		return true
	})
	const n = 150
	conns, servers := make([]net.Conn, n), make([]string, n)
	for i := range conns {
		c, err := e.dialFrom(i)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { c.Close() }()
		conns[i] = c
		if servers[i], err = ask(c); err != nil {
			t.Fatal(err)
		}
	}
	whole := func(when string) {
		t.Helper()
		for i, c := range conns {
			if server, err := ask(c); err != nil || server != servers[i] {
				t.Errorf("%s, client %d: server %s, and then %s, %v", when, i, servers[i], server, err)
			}
		}
	}
	const out = 3
	own := e.on(out)
	t.Logf("connections of the proxies: %d, %d, %d", e.on(1), e.on(2), own)

	e.ctl(out, "drain", "--hold")
	e.await("the proxy is leaving", 3, 1)
	whole("held")
	for i := range n {
		c, err := e.dialFrom(i)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := ask(c); err != nil {
			t.Fatal(err)
		}
	}
	if more := e.on(out) - own; more > n/10 {
		t.Errorf("%d of %d new connections have come to the proxy that is leaving", more, n)
	}
	e.ctl(out, "drain", "--undo")
	e.await("the proxy is back", 3, 0)
	whole("ready again")

	own = e.on(out)
	file := fmt.Sprintf("%s/proxy%d/reactord.yaml", e.dir, out)
	writeFile(t, file, strings.Replace(readFile(t, file), "delay: 10s, spread: 60s, timeout: 90s",
		"delay: 5s, spread: 1s, timeout: 2s", 1))
	e.ctl(out, "reload")
	e.ctl(out, "drain")
	e.await("the proxy is leaving", 3, 1)
	if e.on(out) < own {
		t.Error("connections have ended in the delay of the drain")
	}
	e.await("the route is withdrawn", 2, 0)
	broken := 0
	for i, c := range conns {
		if server, err := ask(c); err == nil && server == servers[i] {
			continue
		}
		broken++
		c.Close()
		again, err := e.dialFrom(i)
		if err != nil {
			t.Fatalf("client %d does not come back: %v", i, err)
		}
		defer again.Close()
		if server, err := ask(again); err != nil || server != servers[i] {
			t.Errorf("client %d had server %s, and has %s, %v", i, servers[i], server, err)
		}
	}
	t.Logf("%d connections are broken", broken)
	if broken > own {
		t.Errorf("%d connections are broken, and the proxy that has drained had %d", broken, own)
	}
}
