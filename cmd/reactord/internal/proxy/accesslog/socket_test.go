package accesslog

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// openSocketLog opens a log whose lines are the ids of their records.
func openSocketLog(t testing.TB, address string, set func(*config.AccessLog)) *log {
	t.Helper()
	to, err := config.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	return openLog(t, "", func(c *config.AccessLog) {
		c.Address, c.Format, c.Template = to, config.TextLines, "id={id}"
		if set != nil {
			set(c)
		}
	})
}

func (l *log) logIDs(from, to int) {
	for i := from; i < to; i++ {
		r := sample()
		r.ID = uint64(i)
		l.Log(&r)
	}
}

// datagrams listens for datagrams, and returns what comes.
func datagrams(t *testing.T, network, address string) (at string, received func() string) {
	t.Helper()
	c, err := net.ListenPacket(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	buffer := make([]byte, 1<<16)
	return c.LocalAddr().String(), func() string {
		n, _, err := c.ReadFrom(buffer)
		if err != nil {
			t.Fatal(err)
		}
		return string(buffer[:n])
	}
}

// A datagram has one line, without an end.
func TestDatagrams(t *testing.T) {
	for _, network := range []string{"udp", "unix"} {
		t.Run(network, func(t *testing.T) {
			var at string
			var received func() string
			if network == "udp" {
				at, received = datagrams(t, "udp", "127.0.0.1:0")
			} else {
				at, received = datagrams(t, "unixgram", filepath.Join(t.TempDir(), "log"))
			}
			l := openSocketLog(t, network+"://"+at, nil)
			l.logIDs(0, 3)
			for i := range 3 {
				if got, want := received(), fmt.Sprintf("id=%d", i); got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
			}
			await(t, "the count", func() bool { return l.stats.Lines.Load() == 3 })
		})
	}
}

// A line that no datagram can have is cut.
func TestLongDatagram(t *testing.T) {
	at, received := datagrams(t, "udp", "127.0.0.1:0")
	l := openSocketLog(t, "udp://"+at, func(c *config.AccessLog) {
		c.Template = strings.Repeat("x", maxDatagram+1000) + "{id}"
	})
	l.logIDs(0, 1)
	if got := received(); got != strings.Repeat("x", maxDatagram) {
		t.Errorf("%d bytes", len(got))
	}
}

// collector is a program that reads a stream of lines.
type collector struct {
	net.Listener
	lines chan string // without their ends
}

// collect accepts connections. read reads one line.
func collect(t *testing.T, ln net.Listener, read func(*bufio.Reader) (string, error)) *collector {
	c := &collector{ln, make(chan string, 1<<16)}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				for line, err := read(r); err == nil; line, err = read(r) {
					c.lines <- line
				}
			}()
		}
	}()
	return c
}

// byNewline reads a line that ends with a newline.
func byNewline(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

// byLength reads a line with its length before it: RFC 6587, section 3.4.1.
func byLength(r *bufio.Reader) (string, error) {
	length, err := r.ReadString(' ')
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(strings.TrimSpace(length))
	if err != nil {
		return "", err
	}
	line := make([]byte, n)
	_, err = io.ReadFull(r, line)
	return string(line), err
}

func listenAt(t *testing.T, network, address string) net.Listener {
	t.Helper()
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func expectIDs(t *testing.T, c *collector, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		line := <-c.lines
		if want := fmt.Sprintf("id=%d", i); !strings.HasSuffix(line, want) {
			t.Fatalf("got %q, want %q", line, want)
		}
	}
}

// A stream has all lines in order, also by a unix socket that is no datagram socket, and with syslog's lengths.
func TestStreams(t *testing.T) {
	for _, syslog := range []config.SyslogProtocol{config.NoSyslog, config.RFC5424} {
		for _, network := range []string{"tcp", "unix"} {
			t.Run(string(syslog)+" "+network, func(t *testing.T) {
				address, read := "127.0.0.1:0", byNewline
				if network == "unix" {
					address = filepath.Join(t.TempDir(), "log")
				}
				if syslog != config.NoSyslog {
					read = byLength
				}
				c := collect(t, listenAt(t, network, address), read)
				l := openSocketLog(t, network+"://"+c.Addr().String(), func(c *config.AccessLog) { c.Syslog = syslog })
				l.logIDs(0, 5000)
				expectIDs(t, c, 0, 5000)
				await(t, "the count", func() bool { return l.stats.Lines.Load() == 5000 })
			})
		}
	}
}

// Lines wait for a collector that does not run yet, and for one that is restarted while nothing is sent.
func TestCollectorRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := openSocketLog(t, "unix://"+path, nil)
	l.logIDs(0, 10)
	await(t, "an error", func() bool { return l.told.FilterMessageSnippet("cannot write").Len() > 0 })
	c := collect(t, listenAt(t, "unix", path), byNewline)
	expectIDs(t, c, 0, 10)

	c.Close()
	c2 := collect(t, listenAt(t, "unix", path), byNewline)
	l.logIDs(10, 11)
	// The first collector's connection is open still, and its program reads it.
	expectIDs(t, c, 10, 11)
	await(t, "the count", func() bool { return l.stats.Lines.Load() == 11 })

	// It ends its connection.
	l.target.(*socket).conn.(*net.UnixConn).CloseWrite()
	await(t, "the end", l.target.(*socket).ended)
	l.logIDs(11, 20)
	expectIDs(t, c2, 11, 20)
	l.Close()
	if n, lost := l.stats.Lines.Load(), l.stats.Dropped.Load(); n != 20 || lost != 0 {
		t.Errorf("%d lines, %d dropped", n, lost)
	}
}

// A collector that reads nothing costs lines, and does not keep the log from ending.
func TestStuckCollector(t *testing.T) {
	ln := listenAt(t, "tcp", "127.0.0.1:0")
	defer ln.Close()
	l := openSocketLog(t, "tcp://"+ln.Addr().String(), func(c *config.AccessLog) {
		c.Queue, c.Template = 64, strings.Repeat("x", 4000)+"{id}"
	})
	sent := 0
	await(t, "dropped lines", func() bool { l.logIDs(0, 1); sent++; return l.stats.Dropped.Load() > 0 })
	l.Close()
	if n := l.stats.Lines.Load() + l.stats.Dropped.Load(); n != uint64(sent) {
		t.Errorf("%d lines of %d are accounted for", n, sent)
	}
}

// Under TLS, the collector is verified, and verifies the log. A log that cannot be verified gets nothing.
func TestTLS(t *testing.T) {
	authority := certstest.New(t)
	server := authority.Issue("server", certstest.Key(t), time.Hour, "logs.example.org")
	client := authority.Issue("client", certstest.Key(t), time.Hour, "proxy.example.org")
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{authority.Pair(server)}, ClientCAs: authority.Pool,
		ClientAuth: tls.RequireAndVerifyClientCert,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := collect(t, ln, byLength)
	secure := func(name string) func(*config.AccessLog) {
		return func(c *config.AccessLog) {
			c.Syslog = config.RFC5424
			c.TLS = config.LogTLS{Enabled: true, CA: authority.File, Cert: client, ServerName: name}
		}
	}
	l := openSocketLog(t, "tcp://"+ln.Addr().String(), secure("logs.example.org"))
	l.logIDs(0, 1000)
	expectIDs(t, c, 0, 1000)

	other := openSocketLog(t, "tcp://"+ln.Addr().String(), secure("other.example.org"))
	other.logIDs(0, 1)
	await(t, "an error", func() bool { return other.told.FilterMessageSnippet("cannot write").Len() > 0 })
	said := other.told.FilterMessageSnippet("cannot write").All()[0].ContextMap()["error"]
	if !strings.Contains(fmt.Sprint(said), "other.example.org") {
		t.Errorf("it says %v", said)
	}
	other.Close()
	if other.stats.Lines.Load() != 0 {
		t.Error("a line was sent")
	}
}

// Files of TLS that cannot be read refuse the log.
func TestTLSFiles(t *testing.T) {
	c := config.New().AccessLog
	c.Address = config.Address{Host: "127.0.0.1", Port: 1}
	c.TLS = config.LogTLS{Enabled: true, CA: "/nowhere/ca.pem"}
	if _, err := Open(c, &Stats{}, nil); err == nil || !strings.Contains(err.Error(), "access_log: tls.ca: ") {
		t.Errorf("got %v", err)
	}
}

// The headers of syslog.
func TestSyslogHeaders(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(os.Getpid())
	for _, c := range []struct {
		address string
		syslog  config.SyslogProtocol
		want    string // a regular expression
	}{
		{"udp", config.RFC5424, `<158>1 2026-01-02T03:04:08\.178901Z ` + host + ` edge ` + pid + ` access - id=0`},
		{"udp", config.RFC3164, `<158>Jan  2 \d\d:\d\d:08 ` + host + ` edge\[` + pid + `\]: id=0`},
		{"unix", config.RFC3164, `<158>Jan  2 \d\d:\d\d:08 edge\[` + pid + `\]: id=0`},
	} {
		t.Run(c.address+" "+string(c.syslog), func(t *testing.T) {
			network, at := "udp", "127.0.0.1:0"
			if c.address == "unix" {
				network, at = "unixgram", filepath.Join(t.TempDir(), "log")
			}
			at, received := datagrams(t, network, at)
			l := openSocketLog(t, c.address+"://"+at, func(a *config.AccessLog) {
				a.Syslog, a.Facility, a.Tag = c.syslog, "local3", "edge"
			})
			l.logIDs(0, 1)
			if got := received(); !regexp.MustCompile("^" + c.want + "$").MatchString(got) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
