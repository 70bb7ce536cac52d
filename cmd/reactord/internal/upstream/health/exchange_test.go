package health

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// login is a check of two steps.
var login = []config.CheckStep{{Send: "AUTH secret\r\n", Expect: "+OK"}, {Send: "ROLE\r\n", Expect: "master"}}

// answers reads lines, and answers each by a text, of which it writes so many bytes at a time.
func answers(c net.Conn, piece int, all ...string) {
	r := bufio.NewReader(c)
	for _, text := range all {
		if _, err := r.ReadString('\n'); err != nil {
			return
		}
		for len(text) > 0 {
			n := min(max(piece, len(text)/100), len(text))
			if _, err := io.WriteString(c, text[:n]); err != nil {
				return
			}
			text = text[n:]
		}
	}
}

func TestSteps(t *testing.T) {
	piece := 1 << 20
	says := func(all ...string) func(*net.TCPConn) {
		return func(c *net.TCPConn) { answers(c, piece, all...) }
	}
	master := "*3\r\n$6\r\nmaster\r\n"
	greeted := []config.CheckStep{
		{Expect: "220 "}, {Send: "EHLO x\r\n", Expect: "250 "}, {SendHex: "515549540d0a", ExpectHex: "323231"},
	}
	for _, c := range []struct {
		name  string
		serve func(*net.TCPConn)
		steps []config.CheckStep
		want  string // of the error; "": none
	}{
		{"all answers", says("+OK\r\n", master), login, ""},
		{"wrong password", says("-WRONGPASS no\r\n"), login,
			`step 1: receive: connection closed after "-WRONGPASS no\r\n", without "+OK"`},
		{"wrong role", says("+OK\r\n", "*5\r\n$5\r\nslave\r\n"), login,
			`step 2: receive: connection closed after "\r\n*5`},
		{"an early answer counts once", says("+OK master\r\n", "slave\r\n"), []config.CheckStep{
			{Send: "AUTH secret\r\n", Expect: "+OK master"}, {Send: "ROLE\r\n", Expect: "master"},
		}, "step 2: "},
		{"answers at once", says("+OK\r\n"+master, ""), login, ""},
		{"the server quotes the password", says("-ERR unknown command, with args beginning with: 'secret'\r\n"), login,
			"beginning with: '[redacted]'"},
		{"greeting", func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "220 hi\r\n")
			answers(c, piece, "250 x\r\n", "221 bye\r\n")
		}, greeted, ""},
		{"a step that only sends", says("", "+OK\r\n"),
			[]config.CheckStep{{Send: "a\n"}, {Send: "b\n"}, {Expect: "+OK"}}, ""},
		{"bad digits", silent, []config.CheckStep{{Send: "x"}, {ExpectHex: "0"}}, "step 2: expect_hex"},
		{"more than the bound in all", says("+OK"+strings.Repeat("x", answerLimit-4), "xx"), login,
			"step 2: receive: the first 65533 bytes"},
	} {
		for _, piece = range []int{1 << 20, 1} {
			t.Run(c.name, func(t *testing.T) {
				onRings(t, func(t *testing.T, l *looping) {
					err := l.check(server(t, c.serve), config.Check{Steps: c.steps})
					if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
						t.Errorf("%v, want %q", err, c.want)
					}
					if err != nil && strings.Contains(err.Error(), "secret") {
						t.Errorf("the password is in %v", err)
					}
				})
			})
		}
	}
}

// The timeout covers all steps together, so a server that delays each of them cannot hold a check.
func TestTimeoutOfSteps(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		const timeout = 200 * time.Millisecond
		slow := func(c *net.TCPConn) {
			for r := bufio.NewReader(c); ; {
				if _, err := r.ReadString('\n'); err != nil {
					return
				}
				time.Sleep(timeout / 4) // the delay is what is tested
				_, _ = io.WriteString(c, "+OK\r\n")
			}
		}
		steps := make([]config.CheckStep, 20)
		for i := range steps {
			steps[i] = config.CheckStep{Send: "PING\r\n", Expect: "+OK"}
		}
		err := l.check(server(t, slow), config.Check{Timeout: timeout, Steps: steps})
		if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.HasPrefix(err.Error(), "step ") {
			t.Errorf("%v, want the step and a timeout", err)
		}
	})
}

// Steps run over TLS, behind a PROXY header.
func TestStepsOverTLSAndPROXY(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		cfg := identity("server.test")
		to := server(t, func(c *net.TCPConn) {
			if _, err := io.ReadFull(c, make([]byte, len(proxyLocal))); err != nil {
				return
			}
			s := tls.Server(c, cfg)
			answers(s, 1, "+OK\r\n", "master\r\n")
			_ = s.Close()
		})
		c := config.Check{TLS: true, TLSServerName: "server.test", Proxy: true, Steps: login}
		if err := l.check(to, c); err != nil {
			t.Error(err)
		}
		c.Steps = append(login[:1:1], config.CheckStep{Send: "ROLE\r\n", Expect: "slave"})
		if err := l.check(to, c); err == nil || !strings.HasPrefix(err.Error(), "step 2: receive: ") {
			t.Errorf("%v, want the second step", err)
		}
	})
}
