package quic

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
)

// A QUIC connection through a listener of UDP carries streams, and lives on over reloads that change the backend.
func TestQUIC(t *testing.T) {
	binary := os.Getenv("REACTORD_E2E_BINARY")
	if binary == "" {
		binary = filepath.Join(t.TempDir(), "reactord")
		build := exec.Command("go", "build", "-o", binary, "./cmd/reactord")
		build.Dir = "../.."
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, ring := range []string{"io_uring", "epoll"} {
		t.Run(ring, func(t *testing.T) { testQUIC(t, binary, ring) })
	}
}

func testQUIC(t *testing.T, binary, ring string) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	server, other := serve(ctx, t, "one"), serve(ctx, t, "two")
	path := filepath.Join(t.TempDir(), "quic.yaml")
	write(t, path, ring, "127.0.0.1:0", server)
	d := start(t, binary, path)

	c := dial(ctx, t, d.addr)
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	echo(ctx, t, c, "one", want)
	write(t, path, ring, "127.0.0.1:0", other)
	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	d.await(t, `"reloaded"|configuration is in force|"reload`)
	echo(ctx, t, c, "one", want)                    // the session keeps its server
	echo(ctx, t, dial(ctx, t, d.addr), "two", want) // another one gets the new server
	echo(ctx, t, c, "one", want)
}

func write(t *testing.T, path, ring, at, to string) {
	t.Helper()
	text := fmt.Sprintf("ring: %s\nlisteners:\n  - {name: q, address: 'udp://%s', backend: b}\n"+
		"backends:\n  - {name: b, servers: ['%s']}\n", ring, at, to)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// daemon is a running reactord.
type daemon struct {
	cmd   *exec.Cmd
	addr  string
	lines chan string
}

var listening = regexp.MustCompile(`"address":"udp://([^"]+)"`)

func start(t *testing.T, binary, path string) *daemon {
	t.Helper()
	d := &daemon{cmd: exec.Command(binary, "serve", "--config", path), lines: make(chan string, 100)}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			select {
			case d.lines <- s.Text():
			default:
			}
		}
		close(d.lines)
	}()
	t.Cleanup(func() { _ = d.cmd.Process.Kill(); _ = d.cmd.Wait() })
	d.addr = listening.FindStringSubmatch(d.await(t, listening.String()))[1]
	return d
}

// await waits for a line of the log.
func (d *daemon) await(t *testing.T, pattern string) string {
	t.Helper()
	var seen []string
	for deadline := time.After(20 * time.Second); ; {
		select {
		case line, ok := <-d.lines:
			if !ok {
				t.Fatalf("the daemon has ended:\n%s", strings.Join(seen, "\n"))
			}
			if seen = append(seen, line); regexp.MustCompile(pattern).MatchString(line) {
				return line
			}
		case <-deadline:
			t.Fatalf("no line matches %s:\n%s", pattern, strings.Join(seen, "\n"))
		}
	}
}

// serve is a QUIC server that answers each stream with its name and what it got.
func serve(ctx context.Context, t *testing.T, name string) (addr string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := quic.ListenAddr("127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"echo"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept(ctx)
			if err != nil {
				return
			}
			go answer(ctx, c, name)
		}
	}()
	return l.Addr().(*net.UDPAddr).String()
}

func answer(ctx context.Context, c *quic.Conn, name string) {
	for {
		s, err := c.AcceptStream(ctx)
		if err != nil {
			return
		}
		go func() {
			_, _ = io.WriteString(s, name)
			_, _ = io.Copy(s, s)
			_ = s.Close()
		}()
	}
}

func dial(ctx context.Context, t *testing.T, addr string) *quic.Conn {
	t.Helper()
	c, err := quic.DialAddr(ctx, addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"echo"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseWithError(0, "") })
	return c
}

// echo sends on a stream of its own, and wants all of it back behind the server's name.
func echo(ctx context.Context, t *testing.T, c *quic.Conn, name string, b []byte) {
	t.Helper()
	s, err := c.OpenStreamSync(ctx)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = s.Write(b)
		_ = s.Close()
	}()
	got, err := io.ReadAll(s)
	if err != nil || string(got) != name+string(b) {
		t.Fatalf("%d bytes, %.10q, %v", len(got), got, err)
	}
}
