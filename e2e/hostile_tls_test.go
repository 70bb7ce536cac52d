package e2e

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

// reencrypted returns a configuration with one listener that ends TLS, in front of servers with TLS whose name the
// client chooses, and the use of it by an innocent client.
func reencrypted(t *testing.T, servers int) (config string, use func(*daemon) error) {
	t.Helper()
	own := newPair(t, "good.test")
	config = fmt.Sprintf("listeners:\n  - name: tls\n    address: tcp://127.0.0.1:0\n    backend: app\n"+
		"    tls: {handshake_timeout: 2m, certificates: [{cert: %s}]}\n"+
		"backends:\n  - name: app\n    tls: {enabled: true, ca: %s}\n    servers:\n", own.both, own.cert)
	for range servers {
		config += "      - tcp://" + serve(t, func(c *net.TCPConn) {
			s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{own.loaded}})
			_, _ = io.Copy(s, s)
		}) + "\n"
	}
	return config, func(d *daemon) error {
		c, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", d.addr,
			&tls.Config{RootCAs: own.pool, ServerName: "good.test"})
		if err != nil {
			return err
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patience))
		if _, err := c.Write([]byte("ping")); err != nil {
			return err
		}
		_, err = io.ReadFull(c, make([]byte, 4))
		return err
	}
}

// TestHostileNames has a client ask for a name that no server has. No server is ejected for that, and each of its
// connections reaches one server only.
func TestHostileNames(t *testing.T) {
	config, use := reencrypted(t, 4)
	withstand(t, attack{config: config, use: use, run: func(t *testing.T, d *daemon) {
		const connections = 60
		for range connections {
			c := tls.Client(dial(t, d.addr), &tls.Config{InsecureSkipVerify: true, ServerName: "evil.test"})
			_, _ = c.Write([]byte("ping"))
			_, _ = c.Read(make([]byte, 1)) // until the daemon ends it
			c.Close()
		}
		page := d.scrape()
		if n := page.sum("reactord_server_ejections_total"); n != 0 {
			t.Errorf("%v servers are ejected", n)
		}
		if n := page.sum("reactord_server_retries_total"); n != 0 {
			t.Errorf("%v connections are retried", n)
		}
	}})
}

// recorder is a connection that keeps what is written to it, and has nothing to read.
type recorder struct {
	net.Conn
	bytes.Buffer
}

func (r *recorder) Read([]byte) (int, error)         { return 0, io.EOF }
func (r *recorder) Write(p []byte) (int, error)      { return r.Buffer.Write(p) }
func (r *recorder) Close() error                     { return nil }
func (r *recorder) SetDeadline(time.Time) error      { return nil }
func (r *recorder) SetWriteDeadline(time.Time) error { return nil }

// hello returns the ClientHello of crypto/tls.
func hello(name string, protocols []string) []byte {
	r := &recorder{}
	_ = tls.Client(r, &tls.Config{InsecureSkipVerify: true, ServerName: name, NextProtos: protocols}).Handshake()
	return r.Bytes()
}

// TestHostileHellos has 5 000 clients send as large a ClientHello as they may, without its end, or one of 32 000
// protocols. A client holds 64 KiB at most.
func TestHostileHellos(t *testing.T) {
	const clients, large = 5000, 500
	config, use := reencrypted(t, 1)
	unfinished := hello("good.test", slices.Repeat([]string{"0123456789abcdef0123456789abcdef"}, 480))
	unfinished = unfinished[:min(len(unfinished), 16<<10)-1]
	many := slices.Repeat([]string{"a"}, 32000)
	bound := cost{memory: clients * 64 << 10}
	withstand(t, attack{config: config, use: use, cost: bound, run: func(t *testing.T, d *daemon) {
		for i := range clients {
			c := dial(t, d.addr)
			if i%(clients/large) != 0 {
				_, _ = c.Write(unfinished)
				continue
			}
			err := tls.Client(c, &tls.Config{InsecureSkipVerify: true, ServerName: "good.test", NextProtos: many}).Handshake()
			if err == nil {
				t.Error("a ClientHello with 32 000 protocols is taken")
			}
		}
	}})
}
