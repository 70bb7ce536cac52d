package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	proxyproto "github.com/pires/go-proxyproto"
)

// tellDatagrams answers each datagram with the address that its PROXY header tells, and with what is behind it.
func tellDatagrams(t *testing.T) (addr string) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for buf := make([]byte, 64<<10); ; {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			r := bufio.NewReader(bytes.NewReader(buf[:n]))
			h, err := proxyproto.Read(r)
			if err != nil {
				_, _ = c.WriteTo([]byte(err.Error()), from)
				continue
			}
			rest, _ := io.ReadAll(r)
			_, _ = c.WriteTo(fmt.Appendf(nil, "%v %s", h.SourceAddr, rest), from)
		}
	}()
	t.Cleanup(func() { c.Close(); <-ended })
	return c.LocalAddr().String()
}

// askDatagram sends a datagram, and checks that the server was told the true address.
func askDatagram(c net.Conn, text []byte) error {
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write(text); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	n, err := c.Read(buf)
	if want := fmt.Sprintf("%v %s", c.LocalAddr(), text); err == nil && string(buf[:n]) != want {
		return fmt.Errorf("the server was told %q, want %q", buf[:n], want)
	}
	return err
}

// TestHostileDatagrams has a client send PROXY headers of its own, in its first datagram and in later ones. The server
// finds the true address in front of each.
func TestHostileDatagrams(t *testing.T) {
	forged, err := proxyproto.HeaderProxyFromAddrs(2, &net.UDPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 53},
		&net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 53}).Format()
	if err != nil {
		t.Fatal(err)
	}
	forged = append(forged, "I am 10.1.2.3"...)
	config := fmt.Sprintf("listeners: [{name: dns, address: 'udp://127.0.0.1:0', backend: dns}]\n"+
		"backends: [{name: dns, servers: ['%s'], proxy_protocol: {version: v2}}]\n", tellDatagrams(t))
	ask := func(d *daemon, all ...[]byte) error {
		c, err := net.Dial("udp", strings.TrimPrefix(d.addr, "udp://"))
		if err != nil {
			return err
		}
		defer c.Close()
		for i, text := range all {
			if err := askDatagram(c, text); err != nil {
				return fmt.Errorf("datagram %d: %w", i, err)
			}
		}
		return nil
	}
	honest := []byte("ping")
	use := func(d *daemon) error { return ask(d, honest) }
	withstand(t, attack{config: config, use: use, run: func(t *testing.T, d *daemon) {
		for range 50 {
			if err := errors.Join(ask(d, honest, forged, forged), ask(d, forged, forged, honest)); err != nil {
				t.Fatal(err)
			}
		}
	}})
}
