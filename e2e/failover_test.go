package e2e

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
)

// visitors connect for each request, as fast as they are answered.
type visitors struct {
	answered, refused, cut atomic.Int64 // requests: with an answer, with an error as one, and whose connection was cut
	stop                   atomic.Bool
	all                    sync.WaitGroup
}

// command has some clients send a request on a connection each, and read a line.
func command(t *testing.T, addr, request string, clients int) *visitors {
	t.Helper()
	v := &visitors{}
	for range clients {
		v.all.Go(func() {
			for !v.stop.Load() {
				answer, err := commandOnce(addr, request)
				switch {
				case err != nil:
					v.cut.Add(1)
				case strings.HasPrefix(answer, "-"):
					v.refused.Add(1)
				default:
					v.answered.Add(1)
				}
			}
		})
	}
	t.Cleanup(v.end)
	return v
}

func (v *visitors) end() {
	v.stop.Store(true)
	v.all.Wait()
}

// awaitMore waits until more requests were answered.
func (v *visitors) awaitMore(t *testing.T) {
	t.Helper()
	before := v.answered.Load()
	eventually(t, "requests are answered", func() bool { return v.answered.Load() > before+100 })
}

// commandOnce sends a request on a connection of its own, and returns the first line of the answer.
func commandOnce(addr, request string) (string, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write([]byte(request)); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}

// restartable is a server that a test starts again and again.
type restartable struct {
	t    *testing.T
	argv []string
	addr string
	cmd  *exec.Cmd
}

func (p *restartable) start() {
	p.t.Helper()
	p.cmd = exec.Command(p.argv[0], p.argv[1:]...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// stop ends it as a service manager does.
func (p *restartable) stop() {
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// newRedis returns a redis server that keeps nothing, with more arguments.
func newRedis(t *testing.T, args ...string) *restartable {
	t.Helper()
	p := &restartable{t: t, addr: testenv.Vacant(t)}
	host, port, _ := net.SplitHostPort(p.addr)
	p.argv = append([]string{need(t, "redis-server", "redis-server"), "--bind", host, "--port", port, "--save", "",
		"--appendonly", "no", "--dir", t.TempDir(), "--loglevel", "warning"}, args...)
	t.Cleanup(p.stop)
	return p
}

// TestRestartsUnderLoad restarts the only server of a backend again and again, each time with a gap of a second, while
// clients connect for each request. Each connection gets a server. Those that it had when it stopped are cut, as they
// are without a proxy.
func TestRestartsUnderLoad(t *testing.T) {
	const restarts = 10
	onEachRing(t, func(t *testing.T, ring string) {
		server := newRedis(t)
		server.start()
		a := startHolding(t, ring, "", server.addr)
		v := command(t, a.addr, "PING\r\n", 8)
		for range restarts {
			v.awaitMore(t)
			server.stop()
			time.Sleep(time.Second) // the gap is what is tested
			server.start()
		}
		v.awaitMore(t)
		v.end()
		t.Logf("%d requests were answered, %d were cut", v.answered.Load(), v.cut.Load())
		a.expectServers()
		if n := v.refused.Load(); n != 0 {
			t.Errorf("%d errors", n)
		}
	})
}

// expectServers fails unless each connection that has ended had a server until then.
func (a *administered) expectServers() {
	a.t.Helper()
	var all struct {
		Listeners []struct {
			Ended []struct {
				By, Phase string
				Count     int64
			}
		}
	}
	a.read(&all, "listeners")
	for _, e := range all.Listeners[0].Ended {
		a.t.Logf("ended by %s in phase %s: %d", e.By, e.Phase, e.Count)
		if !strings.HasSuffix(e.Phase, "data") {
			a.t.Errorf("%d connections have got no server: %s/%s", e.Count, e.By, e.Phase)
		}
	}
	if b := a.backend(); b.NoServer != 0 || b.QueueRefused != 0 {
		a.t.Errorf("%+v", b)
	}
}

// A failover of redis by its sentinel: clients that connect for each command see no failed connect. For a moment there
// may be two masters, or a replica that answers READONLY.
func TestFailoverOfRedis(t *testing.T) {
	sentinel, cli := need(t, "redis-sentinel", "redis-sentinel"), need(t, "redis-cli", "redis-tools")
	const failovers = 3
	onEachRing(t, func(t *testing.T, ring string) {
		one := newRedis(t)
		host, port, _ := net.SplitHostPort(one.addr)
		two := newRedis(t, "--replicaof", host, port, "--repl-diskless-sync-delay", "0")
		own, _, _ := net.SplitHostPort(two.addr)
		two.argv = append(two.argv, "--replica-announce-ip", own)
		one.start()
		two.start()
		watcher := testenv.Vacant(t)
		file := filepath.Join(t.TempDir(), "sentinel.conf") // it writes its own file
		watcherHost, watcherPort, _ := net.SplitHostPort(watcher)
		text := fmt.Sprintf("bind %s\nport %s\ndir %s\nsentinel monitor it %s %s 1\nsentinel failover-timeout it 2000\n"+
			"sentinel down-after-milliseconds it 1000\n", watcherHost, watcherPort, t.TempDir(), host, port)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		launch(t, watcher, sentinel, file)
		ask := func(args ...string) string {
			out, _ := exec.Command(cli, append([]string{"-h", watcherHost, "-p", watcherPort}, args...)...).CombinedOutput()
			return strings.TrimSpace(string(out))
		}
		a := startHolding(t, ring, "protocol: redis, role: primary, ", one.addr, two.addr)
		v := command(t, a.addr, "SET key value\r\n", 4)
		for range failovers {
			v.awaitMore(t)
			before := ask("sentinel", "get-master-addr-by-name", "it")
			eventually(t, "sentinel begins a failover", func() bool { return ask("sentinel", "failover", "it") == "OK" })
			eventually(t, "there is another master", func() bool {
				return ask("sentinel", "get-master-addr-by-name", "it") != before
			})
		}
		v.awaitMore(t)
		v.end()
		t.Logf("%d commands were answered, %d by an error such as READONLY, %d were cut", v.answered.Load(),
			v.refused.Load(), v.cut.Load())
		a.expectServers()
	})
}
