//go:build linux

package server_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
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
