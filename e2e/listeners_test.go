package e2e

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

// socketPath is the path of a unix socket that is short enough.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "l") //nolint:usetesting // the path of TempDir is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// unixEcho sends some bytes through a unix socket, and gets them back.
func unixEcho(path string) error {
	c, err := net.DialTimeout("unix", path, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	return pingPong(c, 'u', 3)
}

func mustUnixEcho(t *testing.T, path string) {
	t.Helper()
	if err := unixEcho(path); err != nil {
		t.Fatal(err)
	}
}

// inode identifies a file.
func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); err != nil {
		t.Fatal(err)
	}
	return s.Ino
}

func gone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

// curl fetches a page through unix sockets, of a file and an abstract one.
func TestCurlThroughUnixSockets(t *testing.T) {
	curl := need(t, "curl", "curl")
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bulk[:300_000])
	}))
	defer page.Close()
	onEachRing(t, func(t *testing.T, ring string) {
		path := socketPath(t)
		abstract := "reactord-e2e-" + strconv.Itoa(os.Getpid())
		d := spawn(t, nil, nil, "serve", "--config", writeConfig(t, fmt.Sprintf(`
ring: %s
loops: 2
listeners:
  - {name: file, address: 'unix://%s', backend: b, socket: {mode: 0600}}
  - {name: abstract, address: 'unix://@%s', backend: b}
backends:
  - {name: b, servers: ['%s']}
`, ring, path, abstract, page.Listener.Addr())))
		d.await("started")
		for option, name := range map[string]string{"--unix-socket": path, "--abstract-unix-socket": abstract} {
			got, err := exec.Command(curl, "--silent", "--fail", "--max-time", "10", option, name, "http://page/").Output()
			if err != nil || string(got) != string(bulk[:300_000]) {
				t.Errorf("%s: %d bytes, %v", option, len(got), err)
			}
		}
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file: %v, %v", info, err)
		}
		d.stop()
		if !gone(path) {
			t.Error("the file is left")
		}
	})
}

// What a process that was killed has left is replaced, and a second process is refused.
func TestUnixSocketOfAnotherProcess(t *testing.T) {
	path := socketPath(t)
	argv := []string{"proxy", "--listen", "unix://" + path, "--to", serve(t, echo)}
	first := spawn(t, nil, nil, argv...)
	first.await("started")
	first.signal(syscall.SIGKILL)
	first.wait(patience)
	if gone(path) {
		t.Fatal("nothing is left")
	}
	second := spawn(t, nil, nil, argv...)
	second.await("started")
	mustUnixEcho(t, path)
	if r := run(t, argv...); r.code == 0 || !strings.Contains(r.stderr, "another process answers there") {
		t.Errorf("a third process: %d, %s", r.code, r.stderr)
	}
	mustUnixEcho(t, path)
	second.stop()
}

// An upgrade keeps a unix socket with its file, and connections that are made meanwhile. The successor makes the file
// anew if something has removed it.
func TestUpgradeKeepsUnixSockets(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		path, other := socketPath(t), socketPath(t)
		text := fmt.Sprintf(`
ring: %s
loops: 2
listeners:
  - {name: u, address: 'unix://%s', backend: b}
backends:
  - {name: b, servers: ['%s']}
`, ring, path, serve(t, echo))
		config := writeConfig(t, text)
		d := spawn(t, nil, nil, "serve", "--config", config)
		d.await("started")
		g := generationsOf(t, d)
		file := inode(t, path)
		stop, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			for {
				select {
				case <-stop:
					ended <- nil
					return
				default:
				}
				if err := unixEcho(path); err != nil {
					ended <- err
					return
				}
			}
		}()
		for range 2 {
			old := g.pid
			g.upgrade()
			g.awaitGone(old)
			mustUnixEcho(t, path)
		}
		close(stop)
		if err := <-ended; err != nil {
			t.Errorf("a connection during an upgrade: %v", err)
		}
		if inode(t, path) != file {
			t.Error("the file is another one")
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		g.upgrade()
		mustUnixEcho(t, path)
		writeFile(t, config, strings.Replace(text, path, other, 1))
		g.upgrade()
		mustUnixEcho(t, other)
		if !gone(path) {
			t.Error("the file of a listener that is gone is left")
		}
		g.end()
		if !gone(other) {
			t.Error("the file is left")
		}
	})
}

// A reload adds and removes unix sockets and ranges of ports. Each port is a listener, with a name of its own.
func TestReloadOfListeners(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		kept, other := socketPath(t), socketPath(t)
		host, port := freeRange(t, 100)
		server := serve(t, echo)
		text := func(listeners ...string) string {
			return fmt.Sprintf("ring: %s\nloops: 1\nmetrics: 127.0.0.1:0\nlisteners:\n"+
				"  - {name: kept, backend: b, address: 'unix://%s'}\n%s\n"+
				"backends:\n  - {name: b, servers: ['%s']}\n", ring, kept, strings.Join(listeners, "\n"), server)
		}
		ports := fmt.Sprintf("  - {name: many, backend: b, address: '%s:%d-%d'}", host, port, port+99)
		path := writeConfig(t, text(ports))
		d := startFile(t, path)
		for i := range 100 {
			c := dial(t, fmt.Sprintf("%s:%d", host, port+i))
			c.send([]byte("x"))
			c.expect([]byte("x"))
			c.Close()
		}
		_, page := d.get("/metrics")
		for _, i := range []int{0, 99} {
			if want := fmt.Sprintf(`listener="many:%d"`, port+i); !strings.Contains(page, want) {
				t.Errorf("the metrics have no %s", want)
			}
		}
		held, err := net.Dial("unix", kept)
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		ports = fmt.Sprintf("  - {name: many, backend: b, address: '%s:%d-%d'}", host, port+50, port+99)
		replace(t, path, text(ports, "  - {name: other, backend: b, address: 'unix://"+other+"'}"))
		d.signal(syscall.SIGHUP)
		d.awaitLines("reloaded", 1)
		mustUnixEcho(t, other)
		if !refused(fmt.Sprintf("%s:%d", host, port+49)) || refused(fmt.Sprintf("%s:%d", host, port+50)) {
			t.Error("the wrong ports are open")
		}
		replace(t, path, text())
		d.signal(syscall.SIGHUP)
		d.awaitLines("reloaded", 2)
		if !gone(other) || gone(kept) {
			t.Error("the wrong files are left")
		}
		_ = held.SetDeadline(time.Now().Add(patience))
		if err := pingPong(held, 'h', 1); err != nil {
			t.Errorf("a connection of a listener that stays: %v", err)
		}
		held.Close()
		d.stop()
	})
}

// freeRange finds ports on which no process listens, on an address that only this process uses.
func freeRange(t *testing.T, n int) (host string, first int) {
	t.Helper()
	host, text, _ := net.SplitHostPort(testenv.Vacant(t))
	first, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return host, min(first, 65000-n)
}

// The service manager passes unix sockets and those of datagrams.
func TestSocketActivationOfOtherKinds(t *testing.T) {
	activate := need(t, "systemd-socket-activate", "systemd")
	path := socketPath(t)
	config := writeConfig(t, fmt.Sprintf("loops: 2\nlisteners:\n  - {name: a, address: 'fd://web', backend: b}\n"+
		"backends:\n  - {name: b, servers: ['%s']}\n", serve(t, echo)))
	g := generationsOf(t, spawn(t, []string{activate, "-l", path, "--fdname=web"}, nil, "serve", "--config", config))
	eventually(t, "a first connection, which starts the program", func() bool {
		c, err := net.Dial("unix", path)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	if at := g.await("listening").str("address"); at != "unix://"+path {
		t.Errorf("it listens on %s", at)
	}
	g.await("started")
	mustUnixEcho(t, path)
	g.upgrade()
	mustUnixEcho(t, path)
	g.end()
	if gone(path) {
		t.Error("the service manager's file was removed")
	}

	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	go func() {
		buf := make([]byte, 100)
		for {
			n, from, err := packets.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = packets.WriteTo(buf[:n], from)
		}
	}()
	at := testenv.Vacant(t)
	text := "loops: 2\nlisteners:\n  - {name: a, address: 'fd+udp://dns', backend: b, udp: {idle_timeout: 100ms}}\n" +
		"backends:\n  - {name: b, servers: ['udp://" + packets.LocalAddr().String() + "']}\n"
	config = writeConfig(t, text)
	g = generationsOf(t, spawn(t, []string{activate, "-d", "-l", at, "--fdname=dns"}, nil, "serve", "--config", config))
	c, err := net.Dial("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answers := func() bool {
		_, _ = c.Write([]byte("ask"))
		_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		n, err := c.Read(make([]byte, 10))
		return err == nil && n == 3
	}
	eventually(t, "a datagram is answered", answers)
	g.upgrade()
	eventually(t, "a datagram is answered after an upgrade", answers)
	g.end()
}
