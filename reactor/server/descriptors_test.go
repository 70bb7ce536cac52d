//go:build linux

package server_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
)

const (
	starving = "SERVER_TEST_RING" // the environment variable that makes TestOutOfDescriptors the server's process
	spare    = 16                 // descriptors that it has left
)

// A process without descriptors serves those that are connected, and the others when these have ended.
func TestOutOfDescriptors(t *testing.T) {
	if kind := os.Getenv(starving); kind != "" {
		starve(t, reactor.RingKind(kind))
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		child := exec.Command(self, "-test.run", "^TestOutOfDescriptors$", "-test.timeout", "1m")
		child.Env = append(os.Environ(), starving+"="+string(kind))
		in, err := child.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		var address string
		if _, err := fmt.Fscanln(lines, &address); err != nil {
			t.Fatal(err)
		}
		var conns []net.Conn
		for range 4 * spare {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			_ = c.SetDeadline(time.Now().Add(patience))
			_, _ = c.Write([]byte("x"))
			conns = append(conns, c)
		}
		answered := func(c net.Conn, by time.Duration) bool {
			_ = c.SetReadDeadline(time.Now().Add(by))
			_, err := c.Read(make([]byte, 1))
			return err == nil
		}
		if !answered(conns[0], patience) {
			t.Error("the first connection is not served")
		}
		if answered(conns[len(conns)-1], 50*time.Millisecond) {
			t.Error("there were enough descriptors")
		}
		conns[0].Close()
		for i, c := range conns[1 : len(conns)-1] {
			if !answered(c, patience) {
				t.Errorf("connection %d is not served", i+1)
			}
			c.Close()
		}
		if !answered(conns[len(conns)-1], patience) {
			t.Error("the last connection is not served")
		}
		conns[len(conns)-1].Close()
		in.Close()
		if err := child.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
}

// starve is the server's process. It ends at the EOF of its standard input.
func starve(t *testing.T, kind reactor.RingKind) {
	ctx, cancel := context.WithCancel(context.Background())
	cfg := server.Config{Addr: anyPort, Reactor: reactor.Config{Loops: 1, Loop: reactor.LoopConfig{Ring: kind}}}
	cfg.Ready = func(a net.Addr) {
		few := uint64(descriptors() + spare)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: few, Max: few}); err != nil {
			t.Error(err)
		}
		fmt.Println(a)
	}
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		cancel()
	}()
	err := server.Serve(ctx, cfg, func(*reactor.Loop) server.Handler { return &hooks{data: echo} })
	if err != nil {
		t.Error(err)
	}
}

const closers = "SERVER_TEST_CLOSERS" // the environment variable that makes TestManyClose the clients' process

// Ten thousand connections that end together leave nothing behind.
func TestManyClose(t *testing.T) {
	if address := os.Getenv(closers); address != "" {
		connectMany(t, address)
		return
	}
	if testing.Short() {
		t.Skip("ten thousand connections")
	}
	const n = 10_000
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < n+100 {
		t.Skipf("%d descriptors at most, %v", limit.Cur, err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		closed := make(chan error, n)
		r := serve(t, kind, server.Config{Reactor: reactor.Config{Loops: 2}, IdleTimeout: time.Hour}, &hooks{data: echo,
			closed: func(_ *server.Conn, err error) { closed <- err }})
		files, goroutines, heap := descriptors(), runtime.NumGoroutine(), heapInUse()
		child := exec.Command(self, "-test.run", "^TestManyClose$", "-test.timeout", "1m")
		child.Env = append(os.Environ(), closers+"="+r.addr.String(), fmt.Sprintf("%s_N=%d", closers, n))
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("the clients: %v\n%s", err, out)
		}
		began := time.Now()
		for i := range n {
			select {
			case <-closed:
			case <-time.After(patience):
				t.Fatalf("%d connections were closed after %v", i, time.Since(began))
			}
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
		awaitAtMost(t, "descriptors", files, descriptors)
		awaitAtMost(t, "goroutines", goroutines, runtime.NumGoroutine)
		if after := heapInUse(); after > heap+4<<20 {
			t.Errorf("the heap grew from %d to %d bytes", heap, after)
		}
		r.end()
	})
}

// connectMany is the clients' process. The kernel closes all connections when it ends.
func connectMany(t *testing.T, address string) {
	n := 0
	if _, err := fmt.Sscan(os.Getenv(closers+"_N"), &n); err != nil {
		t.Fatal(err)
	}
	conns := make([]net.Conn, n)
	for i := range conns {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(i, err)
		}
		_, _ = c.Write([]byte("x"))
		conns[i] = c
	}
	for i, c := range conns {
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(i, err)
		}
	}
	os.Exit(0)
}

func heapInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func awaitAtMost(t *testing.T, what string, most int, now func() int) {
	t.Helper()
	for by := time.Now().Add(patience); now() > most; time.Sleep(time.Millisecond) {
		if time.Now().After(by) {
			t.Errorf("%d %s are left, and %d were before", now(), what, most)
			return
		}
	}
}
