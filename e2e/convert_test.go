package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
)

// naming returns a server that answers the first bytes of a connection with its name, and with what its PROXY header
// says of the client, if there is one.
func naming(t *testing.T, name string) string {
	return serve(t, func(c *net.TCPConn) {
		r := bufio.NewReader(c)
		first, err := r.Peek(5)
		if err != nil {
			return // a check
		}
		text := name
		if string(first) == "PROXY" {
			header, _ := r.ReadString('\n')
			text += " " + strings.Join(strings.Fields(header)[:3], " ")
		}
		_, _ = io.WriteString(c, text)
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, r)
	})
}

// replyOf returns what a client reads that sends something first; "" if it is refused.
func replyOf(t *testing.T, at string, sent []byte) string {
	t.Helper()
	c, err := net.DialTimeout("tcp", at, patience)
	if err != nil {
		return ""
	}
	defer c.Close()
	p := newPeer(t, c)
	if _, err := p.Write(sent); err != nil {
		return ""
	}
	text, _ := io.ReadAll(p)
	return string(text)
}

// A configuration of HAProxy that is converted sends clients where HAProxy sends them: by SNI, to a backup, with a
// PROXY header, and nowhere.
func TestConverted(t *testing.T) {
	one, rest, spare, headed := naming(t, "one"), naming(t, "rest"), naming(t, "spare"), naming(t, "headed")
	gone := testenv.Vacant(t)
	file := func() (path string, addrs []string) {
		for range 4 {
			addrs = append(addrs, testenv.Vacant(t))
		}
		path = filepath.Join(t.TempDir(), "haproxy.cfg")
		write(t, path, fmt.Sprintf(`
defaults
	mode tcp
	retries 1
	timeout connect 1s
	timeout client 10s
	timeout server 10s
frontend names
	bind %s
	tcp-request inspect-delay 5s
	tcp-request content accept if { req.ssl_hello_type 1 }
	use_backend one if { req.ssl_sni -i one.example.org } or { req.ssl_sni -m end .one.example.org }
	default_backend rest
backend one
	server one %s
backend rest
	server rest %s
listen spared
	bind %s
	server gone %s check inter 100ms rise 1 fall 1
	server spare %s check inter 100ms rise 1 fall 1 backup
listen headed
	bind %s
	server headed %s send-proxy
listen closed
	bind %s
	tcp-request connection reject if { src 127.0.0.0/8 }
	server rest %[3]s
`, addrs[0], one, rest, addrs[1], gone, spare, addrs[2], headed, addrs[3]))
		return path, addrs
	}
	ask := func(t *testing.T, addrs []string) {
		t.Helper()
		for _, test := range []struct {
			at   string
			sent []byte
			want string
		}{
			{addrs[0], hello("one.example.org", nil), "one"},
			{addrs[0], hello("ONE.example.org", nil), "one"},
			{addrs[0], hello("a.b.one.example.org", nil), "one"},
			{addrs[0], hello("two.example.org", nil), "rest"},
			{addrs[0], []byte("not TLS\r\n"), "rest"},
			{addrs[2], []byte("hello\r\n"), "headed PROXY TCP4 127.0.0.1"},
			{addrs[3], []byte("hello\r\n"), ""},
		} {
			if got := replyOf(t, test.at, test.sent); got != test.want {
				t.Errorf("%q: %q, want %q", test.sent, got, test.want)
			}
		}
		eventually(t, "the backup", func() bool { return replyOf(t, addrs[1], []byte("hello\r\n")) == "spare" })
	}
	t.Run("ours", func(t *testing.T) {
		path, addrs := file()
		converted := run(t, "convert", path)
		if converted.code != 0 {
			t.Fatal(converted.stderr)
		}
		yaml := writeConfig(t, "metrics: 127.0.0.1:0\n"+converted.stdout)
		if checked := run(t, "check", "--config", yaml); checked.code != 0 {
			t.Fatalf("%s\n%s", checked.stderr, converted.stdout)
		}
		startFile(t, yaml)
		ask(t, addrs)
	})
	t.Run("haproxy", func(t *testing.T) {
		program := need(t, "haproxy", "haproxy")
		path, addrs := file()
		launch(t, addrs[0], program, "-db", "-f", path)
		ask(t, addrs)
	})
}
