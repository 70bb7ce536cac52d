package discovery

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// dnsmasq is a running dnsmasq on a port.
type dnsmasq struct {
	t    *testing.T
	addr string
	args []string
	cmd  *exec.Cmd
}

func newDnsmasq(t *testing.T, args ...string) *dnsmasq {
	t.Helper()
	path, err := exec.LookPath("dnsmasq")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/dnsmasq"); err != nil {
			missing(t, "dnsmasq is not installed; it is in Debian's package dnsmasq-base")
		}
	}
	// A loopback address of this process alone: nothing else has taken the port there, neither for UDP nor for TCP.
	host, pid := "127.0.0.1", os.Getpid()
	port := strings.TrimPrefix(serveGone(t).addr, host+":")
	host = fmt.Sprintf("127.%d.%d.1", 100+pid>>8&63, pid&255)
	d := &dnsmasq{t: t, addr: net.JoinHostPort(host, port)}
	d.args = append([]string{
		path, "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--user=root", "--pid-file=",
		"--listen-address=" + host, "--bind-interfaces", "--log-facility=/dev/null",
		"--port=" + port,
	}, args...)
	t.Cleanup(d.stop)
	return d
}

// start starts it with further arguments. It answers some time later.
func (d *dnsmasq) start(args ...string) {
	d.t.Helper()
	argv := append(append([]string{}, d.args...), args...)
	d.cmd = exec.Command(argv[0], argv[1:]...)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	d.cmd.Stderr = os.Stderr
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

// The zone of a real server changes; the server dies, and comes back.
func TestDnsmasq(t *testing.T) {
	hosts := filepath.Join(t.TempDir(), "hosts")
	replace(t, hosts, "10.0.0.1 web.test\n10.0.0.2 web.test\nfd00::1 web.test\n")
	if err := os.Chmod(hosts, 0o644); err != nil {
		t.Fatal(err)
	}
	d := newDnsmasq(t, "--addn-hosts="+hosts, "--local-ttl=0", "--local=/test/")
	d.start()
	s := source("web.test", "ip", &nameServer{addr: d.addr})
	s.resolver.(*resolver).timeout = 200 * time.Millisecond
	r := start(t, s)
	r.await("10.0.0.1:80 w1 p0", "10.0.0.2:80 w1 p0", "[fd00::1]:80 w1 p0")
	if err := os.WriteFile(hosts, []byte("10.0.0.3 web.test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	r.await("10.0.0.3:80 w1 p0")
	d.stop()
	if got := r.awaitError("connection refused"); len(got.servers) != 1 {
		t.Errorf("not kept: %v", got)
	}
	d.start("--host-record=web.test,10.0.0.4")
	r.await("10.0.0.3:80 w1 p0", "10.0.0.4:80 w1 p0")
}

func TestDnsmasqServices(t *testing.T) {
	d := newDnsmasq(t, "--local=/test/",
		"--host-record=a.test,10.0.0.1", "--host-record=b.test,10.0.0.2,fd00::2", "--local-ttl=0")
	d.start("--srv-host=_pg._tcp.test,a.test,5432,10,20", "--srv-host=_pg._tcp.test,b.test,5433,20,0")
	s := source("_pg._tcp.test", "SRV", &nameServer{addr: d.addr})
	s.resolver.(*resolver).timeout = 200 * time.Millisecond
	r := start(t, s)
	r.await("10.0.0.1:5432 w20 p10", "10.0.0.2:5433 w1 p20", "[fd00::2]:5433 w1 p20")
	d.stop()
	d.start("--srv-host=_pg._tcp.test,a.test,5432,0,7")
	r.await("10.0.0.1:5432 w7 p0")
}

// An answer of 250 addresses does not fit into a datagram.
func TestDnsmasqTruncation(t *testing.T) {
	var args, want []string
	for i := range 250 {
		args = append(args, fmt.Sprintf("--host-record=big.test,10.0.1.%d", i))
		want = append(want, fmt.Sprintf("10.0.1.%d:80 w1 p0", i))
	}
	d := newDnsmasq(t, args...)
	d.start()
	s := source("big.test", "A", &nameServer{addr: d.addr})
	s.resolver.(*resolver).timeout = 200 * time.Millisecond
	start(t, s).await(want...)
}

// The system's servers are read again when the file changes.
func TestSystemServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resolv.conf")
	s := &system{path: path}
	check := func(want ...string) {
		t.Helper()
		if got := s.list(); len(got) != len(want) || got[0] != want[0] || got[len(got)-1] != want[len(want)-1] {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check("127.0.0.1:53", "[::1]:53")
	replace(t, path, "# nameserver 1.1.1.1\nsearch a b\nnameserver 10.0.0.1\n nameserver\tfe80::1%lo\nnameserver x\n")
	check("10.0.0.1:53", "[fe80::1%lo]:53")
	replace(t, path, "nameserver 10.0.0.2")
	check("10.0.0.2:53")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check("10.0.0.2:53")
}
