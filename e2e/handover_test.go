package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

const handoverConfig = `
ring: %s
loops: %d
admin: {address: 'unix://%s/admin'}
access_log: {format: json, path: '%[3]s/access.log'}
listeners:
  - {name: a, address: 'tcp://%[4]s', backend: b}
backends:
  - {name: b, servers: ['tcp://%[5]s']}
`

// Streams of bytes, small and bulk, live through upgrades that alternate the ring and the number of loops, under new
// connections: none breaks, no byte is wrong, every old process ends within seconds, and the access log has one line
// for each at its end.
func TestUpgradeMovesConnections(t *testing.T) {
	needIOURing(t)
	const streams, upgrades = 50, 6
	dir, addr, server := t.TempDir(), testenv.Vacant(t), serve(t, echo)
	text := func(i int) string {
		return fmt.Sprintf(handoverConfig, []string{"io_uring", "epoll"}[i%2], 1+i%3, dir, addr, server)
	}
	g, config, _ := configured(t, text(0))
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := range streams {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := echoes(c, uint64(i), stop); err != nil {
				t.Errorf("stream %d: %v", i, err)
			}
		})
	}
	load := startLoad(addr, 2)
	for i := range upgrades {
		old := g.pid
		writeFile(t, config, text(i+1))
		g.upgrade()
		g.awaitGone(old)
		before := load.connections.Load()
		eventually(t, "connections are made", func() bool {
			return load.connections.Load() > before+20 || len(load.errs) > 0
		})
	}
	status := run(t, "ctl", "--address", "unix://"+dir+"/admin", "status")
	if strings.Contains(status.stdout, "old process") {
		t.Errorf("an old process is left:\n%s", status.stdout)
	}
	close(stop)
	all.Wait()
	load.end(t)
	g.end()
	moved := 0
	for _, line := range linesOf(t, filepath.Join(dir, "access.log")) {
		var l struct {
			By    string
			Bytes int `json:"bytes_from_client"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.By != "normal" {
			t.Errorf("%v: %s", err, line)
		}
		if l.Bytes > 3*128 { // it is none of the load
			moved++
		}
	}
	if moved != streams {
		t.Errorf("%d lines of %d streams", moved, streams)
	}
}

// echoes sends bytes, and compares those that come back, until stop is closed; then it half-closes.
func echoes(c net.Conn, seed uint64, stop <-chan struct{}) error {
	defer c.Close()
	rng, src := rand.New(rand.NewPCG(seed, 2)), rand.NewChaCha8([32]byte{byte(seed)})
	_ = c.SetDeadline(time.Now().Add(8 * patience))
	for {
		b := make([]byte, 1+rng.IntN(1<<rng.IntN(16)))
		if rng.IntN(30) == 0 {
			b = make([]byte, 1<<20)
		}
		_, _ = src.Read(b)
		wrote := make(chan error, 1)
		go func() {
			_, err := c.Write(b)
			wrote <- err
		}()
		got := make([]byte, len(b))
		if _, err := io.ReadFull(c, got); err != nil {
			return errors.Join(err, <-wrote)
		}
		if err := <-wrote; err != nil || !bytes.Equal(got, b) {
			return fmt.Errorf("bytes have changed (%w)", err)
		}
		select {
		case <-stop:
			_ = c.(*net.TCPConn).CloseWrite()
			if n, err := c.Read(got[:1]); n != 0 || err != io.EOF {
				return fmt.Errorf("%d bytes instead of EOF, %w", n, err)
			}
			return nil
		case <-time.After(time.Duration(rng.Int64N(int64(10 * time.Millisecond)))):
		}
	}
}

// A connection keeps its id and its age when it moves, and one whose TLS ends here stays in the old process, which says
// so.
func TestUpgradeLeavesTLS(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		dir := t.TempDir()
		a := newAuthority(t)
		cert := a.issue("front", "front.test")
		text := fmt.Sprintf(handoverConfig, ring, 2, dir, testenv.Vacant(t), serve(t, echo))
		secure := testenv.Vacant(t)
		text = strings.Replace(text, "backends:", fmt.Sprintf(
			"  - {name: s, address: 'tcp://%s', backend: b, tls: {certificates: [{cert: '%s'}]}}\nbackends:",
			secure, cert), 1)
		g, _, _ := configured(t, text)
		plain := dial(t, g.addr)
		plain.send([]byte("x"))
		plain.expect([]byte("x"))
		c, err := tls.Dial("tcp", secure, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ping := func() {
			t.Helper()
			if err := pingPong(c, 'x', 2); err != nil {
				t.Error(err)
			}
		}
		ping()
		ch := &chain{generations: g, dir: dir}
		before := ch.ids()
		old := g.pid
		g.upgrade()
		eventually(t, "one has moved", func() bool {
			return strings.Contains(ch.ctl("status"), "1 moved, 1 stay (tls)")
		})
		plain.send([]byte("y"))
		plain.expect([]byte("y"))
		ping()
		after := ch.ids()
		if !sameBut(after, before, fmt.Sprint("@", old)) {
			t.Errorf("connections %q, before %q", after, before)
		}
		_ = c.Close()
		g.awaitGone(old)
		plain.finish()
		plain.expectEOF()
		g.end()
	})
}

// sameBut reports whether the ids are the same, but for a suffix of some.
func sameBut(a, b []string, suffix string) bool {
	for i := range a {
		a[i] = strings.TrimSuffix(a[i], suffix)
	}
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// If the new process is killed while it takes connections, each of them lives on in the old process, or has ended with
// the new one; none is stuck.
func TestUpgradeKilledWhileConnectionsMove(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		const streams = 200
		for _, delay := range []int{0, 2, 4, 8, 16, 32} {
			dir := t.TempDir()
			g, _, _ := configured(t, fmt.Sprintf(handoverConfig, ring, 2, dir, testenv.Vacant(t), serve(t, echo)))
			var conns []net.Conn
			for range streams {
				c, err := net.Dial("tcp", g.addr)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				conns = append(conns, c)
				if err := pingPong(c, 1, 1); err != nil {
					t.Fatal(err)
				}
			}
			n, old := len(g.logged(anything)), g.pid
			if err := unix.Kill(old, unix.SIGUSR2); err != nil {
				t.Fatal(err)
			}
			l := g.awaitSince(n, "upgraded: the new process accepts connections")
			pid, _ := l.field["successor"].(float64)
			time.Sleep(time.Duration(delay) * time.Millisecond)
			_ = unix.Kill(int(pid), unix.SIGKILL)
			g.awaitGone(int(pid))
			alive := 0
			for i, c := range conns {
				switch err := pingPong(c, 2, 2); {
				case err == nil:
					alive++
				case errors.Is(err, os.ErrDeadlineExceeded):
					t.Errorf("connection %d is stuck", i)
				}
			}
			t.Logf("%d of %d connections live on", alive, streams)
			_ = unix.Kill(old, unix.SIGKILL)
		}
	})
}
