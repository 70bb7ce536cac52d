package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// childVariable makes the test binary behave as the program.
const childVariable = "REACTORD_PEERS_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// limit bounds every wait.
const limit = 30 * time.Second

func names() []string {
	var all []string
	for name := range libraries {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// start runs a server on one library, and returns when it listens. At the end of the test it is stopped by
// SIGTERM, and must exit without an error.
func start(t *testing.T, library, server string, loops int) (address string) {
	t.Helper()
	address = freeAddress(t)
	said := &bytes.Buffer{}
	c := exec.Command(os.Args[0], library, server, "--listen", "tcp://"+address, "--loops", fmt.Sprint(loops))
	c.Env = append(os.Environ(), childVariable+"=1")
	c.Stdout, c.Stderr = said, said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s ended with %v: %s", library, err, said)
			}
		case <-time.After(limit):
			_ = c.Process.Kill()
			t.Errorf("%s does not end", library)
		}
	})
	for deadline := time.Now().Add(limit); ; {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return address
		}
		select {
		case err := <-ended:
			t.Fatalf("%s ended with %v: %s", library, err, said)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen", library)
		}
	}
}

func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// stream returns an endless sequence of bytes that depends on its number only.
func stream(number uint64) io.Reader {
	return rand.NewChaCha8([32]byte{byte(number), byte(number >> 8)})
}

// exchange sends the first total bytes of a stream in pieces of up to most bytes. Meanwhile it compares what comes
// back.
func exchange(address string, number uint64, total, most int) error {
	c, err := net.DialTimeout("tcp", address, limit)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() { sent <- send(c, stream(number), total, most) }()
	want, got, buf := stream(number), 0, make([]byte, 64<<10)
	expected := make([]byte, len(buf))
	for got < total {
		n, err := c.Read(buf)
		if err != nil {
			return fmt.Errorf("connection %d, byte %d: %w", number, got, err)
		}
		if _, err := io.ReadFull(want, expected[:n]); err != nil {
			return err
		}
		if got+n > total || !bytes.Equal(buf[:n], expected[:n]) {
			return fmt.Errorf("connection %d: not what was sent, within %d bytes behind byte %d", number, n, got)
		}
		got += n
	}
	return <-sent
}

// send writes total bytes of source in pieces of 1 to most bytes.
func send(to io.Writer, source io.Reader, total, most int) error {
	sizes := rand.New(rand.NewPCG(uint64(total), uint64(most)))
	for total > 0 {
		n, err := io.CopyN(to, source, int64(min(total, 1+sizes.IntN(most))))
		if err != nil {
			return err
		}
		total -= int(n)
	}
	return nil
}

// Many connections send together, in small and in large pieces. Everything comes back complete and in order.
func TestEchoUnderLoad(t *testing.T) {
	for _, name := range names() {
		for _, loops := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s/%d", name, loops), func(t *testing.T) {
				address := start(t, name, "echo", loops)
				var all sync.WaitGroup
				for i := range uint64(64) {
					total, most := 16<<10, 300
					if i%4 == 0 {
						total, most = 1<<20, 128<<10
					}
					all.Go(func() {
						if err := exchange(address, i, total, most); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
			})
		}
	}
}

// A client that disconnects in the middle of a message does not affect other clients.
func TestResets(t *testing.T) {
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			address := start(t, name, "echo", 1)
			for range 50 {
				c, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				c.Write(make([]byte, 256<<10))
				c.(*net.TCPConn).SetLinger(0)
				c.Close()
			}
			if err := exchange(address, 1, 64<<10, 8<<10); err != nil {
				t.Error(err)
			}
		})
	}
}

// A server whose address is in use fails with an error that says so.
func TestTakenAddress(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, name := range names() {
		err := run(t.Context(), []string{name, "echo", "--listen", "tcp://" + l.Addr().String()}, io.Discard)
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCommandLine(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a server that starts by mistake ends immediately
	for _, args := range [][]string{
		{}, {"gnet"}, {"evio", "echo", "--listen", "tcp://127.0.0.1:0"}, {"gnet", "proxy"},
		{"nbio", "redis", "--listen", "tcp://127.0.0.1:0"},
		{"gnet", "echo"}, {"gnet", "echo", "--listen", "127.0.0.1:0"}, {"gnet", "echo", "--loop", "1"},
		{"nbio", "echo", "--listen", "tcp://127.0.0.1:0", "--loops", "0"},
		{"nbio", "echo", "--listen", "tcp://127.0.0.1:0", "more"},
	} {
		if err := run(ctx, args, io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// The versions are known.
func TestVersions(t *testing.T) {
	for name, want := range map[string]string{"gnet": "v2.9.7", "netpoll": "v0.7.2", "nbio": "v1.6.7"} {
		var out bytes.Buffer
		if err := run(t.Context(), []string{name, "version"}, &out); err != nil || out.String() != want+"\n" {
			t.Errorf("%s: %q, %v, want %s", name, &out, err, want)
		}
	}
}
