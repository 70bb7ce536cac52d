package e2e

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// asMailer connects to the daemon as a client whose address a PROXY header tells, and has bytes echoed.
func asMailer(addr, source string) error {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(c, "PROXY TCP4 %s 192.0.2.25 1000 25\r\nping", source)
	_, err = io.ReadFull(c, make([]byte, 4))
	return err
}

// mailServer speaks SMTP until TLS begins, and then echoes. It refuses the clients of a network, by their PROXY header.
func mailServer(t *testing.T, own pair, blocked string) (addr string) {
	t.Helper()
	return serve(t, func(c *net.TCPConn) {
		r := bufio.NewReader(c)
		header, _ := r.ReadString('\n')
		if strings.HasPrefix(header, "PROXY TCP4 "+blocked) {
			fmt.Fprint(c, "554 5.7.1 you are listed\r\n")
			_, _ = r.ReadByte() // until the daemon ends it
			return
		}
		fmt.Fprint(c, "220 mail\r\n")
		for _, answer := range []string{"250-mail\r\n250 STARTTLS\r\n", "220 begin\r\n"} {
			if _, err := r.ReadString('\n'); err != nil {
				return
			}
			fmt.Fprint(c, answer)
		}
		s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{own.loaded}})
		_, _ = io.Copy(s, s)
	})
}

// TestHostileMailer has a client that servers refuse, by their list of blocked addresses, before they speak TLS. No
// server is ejected for that, and each of its connections reaches one server only.
func TestHostileMailer(t *testing.T) {
	const servers, connections = 4, 60
	own := newPair(t, "good.test")
	config := fmt.Sprintf("listeners:\n  - name: mail\n    address: tcp://127.0.0.1:0\n    backend: mail\n"+
		"    proxy_protocol: {trusted: [127.0.0.0/8]}\n"+
		"backends:\n  - name: mail\n    proxy_protocol: {version: v1}\n"+
		"    tls: {enabled: true, start_tls: smtp, server_name: good.test, ca: %s}\n    servers:\n", own.cert)
	for range servers {
		config += "      - tcp://" + mailServer(t, own, "198.51.100.") + "\n"
	}
	use := func(d *daemon) error { return asMailer(d.addr, "203.0.113.7") }
	withstand(t, attack{config: config, use: use, run: func(t *testing.T, d *daemon) {
		for range connections {
			err := asMailer(d.addr, "198.51.100.9")
			if wait := net.Error(nil); err == nil || errors.As(err, &wait) && wait.Timeout() {
				t.Fatalf("the blocked client is not refused: %v", err)
			}
		}
		checkBlameless(t, d, servers)
	}})
}
