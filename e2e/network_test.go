package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/e2e/blackbox"
)

// network is three machines, as network namespaces: the clients', the proxy's and the servers', which has two
// addresses. Faults are rules of nftables in the proxy's or the servers' namespace.
type network struct {
	t                       *testing.T
	clients, proxy, servers string // namespaces
}

const (
	proxyForClients = "10.77.1.1:8080"
	firstServer     = "10.77.2.2:9000"
	secondServer    = "10.77.2.3:9000"
	comesLater      = "10.77.9.9:8080" // an address that the proxy has at times
)

func newNetwork(t *testing.T) *network {
	t.Helper()
	need(t, "ip", "iproute2")
	need(t, "nft", "nftables")
	if os.Getuid() != 0 {
		missing(t, "network namespaces need root")
	}
	prefix := fmt.Sprintf("rd%d-", os.Getpid())
	n := &network{t, prefix + "c", prefix + "p", prefix + "s"}
	for _, ns := range []string{n.clients, n.proxy, n.servers} {
		n.sh("ip netns add " + ns)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", ns).Run() })
		n.sh("ip -n " + ns + " link set lo up")
	}
	n.link(n.clients, "10.77.1.2/24", n.proxy, "10.77.1.1/24")
	n.link(n.servers, "10.77.2.2/24", n.proxy, "10.77.2.1/24")
	n.sh("ip -n " + n.servers + " address add 10.77.2.3/24 dev to-" + n.proxy)
	n.nft(n.proxy, "add table inet faults", "add chain inet faults in { type filter hook input priority 0; }",
		"add chain inet faults out { type filter hook output priority 0; }")
	n.nft(n.servers, "add table inet faults", "add chain inet faults in { type filter hook input priority 0; }")
	return n
}

func (n *network) sh(command string) {
	n.t.Helper()
	argv := strings.Fields(command)
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		n.t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// link connects two namespaces.
func (n *network) link(a, addressA, b, addressB string) {
	n.t.Helper()
	toB, toA := "to-"+b, "to-"+a
	n.sh(fmt.Sprintf("ip link add %s netns %s type veth peer name %s netns %s", toB, a, toA, b))
	n.sh(fmt.Sprintf("ip -n %s address add %s dev %s", a, addressA, toB))
	n.sh(fmt.Sprintf("ip -n %s address add %s dev %s", b, addressB, toA))
	n.sh(fmt.Sprintf("ip -n %s link set %s up", a, toB))
	n.sh(fmt.Sprintf("ip -n %s link set %s up", b, toA))
}

// nft runs commands of nftables in a namespace.
func (n *network) nft(ns string, commands ...string) {
	n.t.Helper()
	out, err := exec.Command("ip", "netns", "exec", ns, "nft", strings.Join(commands, "; ")).CombinedOutput()
	if err != nil {
		n.t.Fatalf("nft: %v\n%s", err, out)
	}
}

// fault adds a rule, until the test ends.
func (n *network) fault(t *testing.T, ns, chain, rule string) {
	t.Helper()
	n.nft(ns, "add rule inet faults "+chain+" "+rule)
	t.Cleanup(func() { n.heal(ns, chain) })
}

func (n *network) heal(ns, chain string) { n.nft(ns, "flush chain inet faults "+chain) }

// within runs f on a thread in a namespace: sockets that it opens belong there. The thread goes back afterwards. It
// must not end: the kernel kills a process with Pdeathsig when the thread that has started it ends.
func within(t *testing.T, ns string, f func() error) error {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		home, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			done <- err
			return
		}
		defer unix.Close(home)
		if err = enter(filepath.Join("/run/netns", ns)); err == nil {
			err = f()
			if failed := unix.Setns(home, unix.CLONE_NEWNET); failed != nil {
				panic(failed) // other tests would have this thread
			}
		}
		done <- err
	}()
	return <-done
}

// enter moves the thread into a namespace.
func enter(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Setns(fd, unix.CLONE_NEWNET)
}

// listen opens a server's socket. A process that another test is starting may still hold the one of the case before.
func (n *network) listen(t *testing.T, addr string) *net.TCPListener {
	t.Helper()
	var l net.Listener
	err := within(t, n.servers, func() (err error) {
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			if l, err = net.Listen("tcp", addr); !errors.Is(err, unix.EADDRINUSE) || time.Now().After(deadline) {
				return err
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

// dial connects a client to the proxy.
func (n *network) dial(t *testing.T) blackbox.Dial { return n.dialTo(t, proxyForClients) }

func (n *network) dialTo(t *testing.T, address string) blackbox.Dial {
	return func(ctx context.Context) (c net.Conn, err error) {
		err = within(t, n.clients, func() (err error) {
			c, err = blackbox.To(address)(ctx)
			return err
		})
		return c, err
	}
}

// start starts reactord in the proxy's namespace, with servers and settings of the backend.
func (n *network) start(t *testing.T, ring, settings string, servers ...string) {
	t.Helper()
	n.startAt(t, ring, proxyForClients, "", settings, servers...)
}

// startAt does so with another address, and settings of the listener.
func (n *network) startAt(t *testing.T, ring, address, listener, settings string, servers ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "reactord.yaml")
	text := "ring: " + ring + "\nlisteners: [{name: in, address: \"" + address + "\", backend: all, " + listener + "}]\n" +
		"backends:\n- name: all\n  servers: [" + strings.Join(servers, ", ") + "]\n" + settings
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d := spawn(t, []string{"ip", "netns", "exec", n.proxy}, nil, "serve", "--config", file)
	d.await("listening")
	t.Cleanup(func() { d.stop() })
}

// run runs a case through the proxy.
func (n *network) run(t *testing.T, l *net.TCPListener, client, server string) {
	t.Helper()
	c := blackbox.Case{Name: t.Name(), Client: client, Server: server}
	if err := c.Run(t.Context(), n.dial(t), l); err != nil {
		t.Error(err)
	}
}

// The proxy between machines whose network loses packets, and machines that are gone.
func TestNetwork(t *testing.T) {
	t.Parallel()
	onEachRing(t, func(t *testing.T, ring string) {
		n := newNetwork(t)
		t.Run("packets are lost", func(t *testing.T) {
			l := n.listen(t, firstServer)
			n.start(t, ring, "", firstServer)
			n.fault(t, n.proxy, "in", "numgen random mod 100 < 5 drop")
			n.run(t, l, `connect; send 16MiB &; expect 16MiB; wait; shutdown; expect eof`,
				`accept; send 16MiB &; expect 16MiB; wait; shutdown; expect eof`)
		})
		t.Run("the server vanishes", func(t *testing.T) {
			l := n.listen(t, firstServer)
			n.start(t, ring, "  user_timeout: 1s\n", firstServer)
			n.vanish(t, l, "10.77.2.2", `connect; send "a"; expect "b"; await gone; send "c"; expect reset; signal seen`,
				`accept; expect "a"; send "b"; signal gone; await seen`)
		})
		t.Run("the client vanishes", func(t *testing.T) {
			l := n.listen(t, firstServer)
			n.start(t, ring, "  user_timeout: 1s\n", firstServer)
			n.vanish(t, l, "10.77.1.2", `connect; send "a"; expect "b"; signal gone; await seen`,
				`accept; expect "a"; send "b"; await gone; send "c"; expect reset; signal seen`)
		})
		t.Run("a server that does not answer is passed over", func(t *testing.T) {
			l := n.listen(t, secondServer)
			n.start(t, ring, "  connect_timeout: 300ms\n", firstServer, secondServer)
			n.fault(t, n.proxy, "out", "ip daddr 10.77.2.2 drop")
			n.runSome(t, l)
		})
		t.Run("a server without a route is passed over", func(t *testing.T) {
			l := n.listen(t, secondServer)
			n.start(t, ring, "", firstServer, secondServer)
			n.sh("ip -n " + n.proxy + " route add unreachable 10.77.2.2")
			t.Cleanup(func() { n.sh("ip -n " + n.proxy + " route del unreachable 10.77.2.2") })
			n.runSome(t, l)
		})
		t.Run("the address comes later", func(t *testing.T) {
			l := n.listen(t, firstServer)
			n.startAt(t, ring, comesLater, "socket: {free_bind: true}", "", firstServer)
			n.sh("ip -n " + n.proxy + " address add 10.77.9.9/32 dev lo")
			n.sh("ip -n " + n.clients + " route add 10.77.9.9 via 10.77.1.1")
			t.Cleanup(func() {
				n.sh("ip -n " + n.proxy + " address del 10.77.9.9/32 dev lo")
				n.sh("ip -n " + n.clients + " route del 10.77.9.9")
			})
			c := blackbox.Case{Name: t.Name(), Client: `connect; send "a"; expect "b"; shutdown; expect eof`,
				Server: `accept; expect "a"; send "b"; expect eof; close`}
			if err := c.Run(t.Context(), n.dialTo(t, comesLater), l); err != nil {
				t.Error(err)
			}
		})
		t.Run("a firewall resets the server's connection", func(t *testing.T) {
			l := n.listen(t, firstServer)
			n.start(t, ring, "", firstServer)
			n.whenGone(t, l, func() { n.nft(n.servers, "add rule inet faults in tcp dport 9000 reject with tcp reset") },
				`connect; send "a"; expect "b"; await gone; send "c"; expect reset; signal seen`,
				`accept; expect "a"; send "b"; signal gone; await seen`)
			n.heal(n.servers, "in")
		})
	})
}

// runSome runs some connections, each of which must be served.
func (n *network) runSome(t *testing.T, l *net.TCPListener) {
	t.Helper()
	for range 6 {
		n.run(t, l, `connect; send "ping"; expect "pong"; expect eof`, `accept; expect "ping"; send "pong"; close`)
	}
}

// vanish runs a case, and drops all packets of a machine when the case signals gone.
func (n *network) vanish(t *testing.T, l *net.TCPListener, machine, client, server string) {
	t.Helper()
	n.whenGone(t, l, func() {
		n.nft(n.proxy, "add rule inet faults in ip saddr "+machine+" drop",
			"add rule inet faults out ip daddr "+machine+" drop")
	}, client, server)
	n.heal(n.proxy, "in")
	n.heal(n.proxy, "out")
}

// whenGone runs a case, and calls f when the case signals gone.
func (n *network) whenGone(t *testing.T, l *net.TCPListener, f func(), client, server string) {
	t.Helper()
	c := blackbox.Case{Name: t.Name(), Client: client, Server: server, On: map[string]func(){"gone": f}}
	if err := c.Run(t.Context(), n.dial(t), l); err != nil {
		t.Error(err)
	}
}
