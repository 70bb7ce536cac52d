package health

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// hostileChecks are checks that must end whatever the server does.
var hostileChecks = map[string]config.Check{
	"postgresql":  {Protocol: config.CheckPostgreSQL, Password: "s3same", Role: config.Primary},
	"pg over tls": {Protocol: config.CheckPostgreSQL, TLS: true},
	"mysql":       {Protocol: config.CheckMySQL, User: "check"},
	"redis":       {Protocol: config.CheckRedis, Password: "s3same", Role: config.Primary},
	"steps":       {Steps: login},
}

// A server cannot hold a check, or make it pass or panic, by saying nothing, too much, or anything at all.
func TestHostileServers(t *testing.T) {
	endless := func(piece []byte) func(*net.TCPConn) {
		return func(c *net.TCPConn) {
			for {
				if _, err := c.Write(piece); err != nil {
					return
				}
			}
		}
	}
	says := func(text string) func(*net.TCPConn) {
		return func(c *net.TCPConn) { _, _ = io.WriteString(c, text); _ = c.CloseWrite(); silent(c) }
	}
	servers := map[string]func(*net.TCPConn){
		"silent":        silent,
		"closes":        func(*net.TCPConn) {},
		"resets":        func(c *net.TCPConn) { _ = c.SetLinger(0) },
		"zeros":         endless(make([]byte, 4096)),
		"ones":          endless(bytes.Repeat([]byte{0xff}, 4096)),
		"notices":       endless([]byte("N\x00\x00\x00\x05x")),
		"large packets": endless(append([]byte("N\x00\x00\xff\xff"), make([]byte, 0xffff-4)...)),
		"small packets": endless([]byte("\x01\x00\x00\x00\xfe")),
		"huge packets":  endless([]byte("R\x7f\xff\xff\xff")),
		"negative":      endless([]byte("R\x80\x00\x00\x00")),
		"no end":        endless([]byte("+OK")),
		"empty lines":   endless([]byte("\r\n")),
		"injected":      says("SSSS"),
		"half":          says("R\x00\x00"),
		"short login":   says("R\x00\x00\x00\x04"),
		"drip": func(c *net.TCPConn) {
			for {
				if _, err := c.Write([]byte("N")); err != nil {
					return
				}
				time.Sleep(time.Millisecond) // a drip, not a flood
			}
		},
	}
	for name, serve := range servers {
		t.Run(name, func(t *testing.T) {
			onRings(t, func(t *testing.T, l *looping) {
				for protocol, check := range hostileChecks {
					check.Timeout = 50 * time.Millisecond
					err := l.check(server(t, serve), check)
					if err == nil || errors.Is(err, ErrInconclusive) || len(err.Error()) > 1000 {
						t.Errorf("%s: %v", protocol, err)
					}
				}
			})
		})
	}
}

// pgServer logs a client in by SCRAM-SHA-256, one byte at a time, with as many iterations as it likes.
type pgServer struct {
	iterations string
	repeats    bool // it challenges again and again
	forger     bool // it does not know the password
}

func (s pgServer) serve(c *net.TCPConn) {
	slowly := func(kind byte, body string) {
		for _, b := range fmt.Appendf([]byte{kind, 0, 0, byte((len(body) + 4) >> 8), byte(len(body) + 4)}, "%s", body) {
			_, _ = c.Write([]byte{b})
		}
	}
	b := make([]byte, 4096)
	read := func() string {
		n, _ := c.Read(b)
		return string(b[:n])
	}
	read()
	slowly('S', "client_encoding\x00UTF8\x00")
	slowly('R', "\x00\x00\x00\x0aSCRAM-SHA-256-PLUS\x00SCRAM-SHA-256\x00\x00")
	_, nonce, _ := strings.Cut(read(), "n=,r=")
	salt := []byte("salt")
	challenge := "r=" + nonce + "more,s=" + base64.StdEncoding.EncodeToString(salt) + ",i=" + s.iterations
	slowly('R', "\x00\x00\x00\x0b"+challenge)
	again := []byte{'R', 0, 0, 0, byte(len(challenge) + 8), 0, 0, 0, 11}
	again = append(again, challenge...)
	for s.repeats {
		if _, err := c.Write(again); err != nil {
			return
		}
	}
	message := read()
	if len(message) < 5 {
		return
	}
	answer, _, _ := strings.Cut(message[5:], ",p=")
	known := &scram{password: "s3same"}
	if s.forger {
		known.password = "guessed"
	}
	salted := must(known.salted(salt, 4096))
	all := "n=,r=" + nonce + "," + challenge + "," + answer
	m := hmac.New(sha256.New, sum(salted, "Server Key"))
	m.Write([]byte(all))
	slowly('R', "\x00\x00\x00\x0cv="+base64.StdEncoding.EncodeToString(m.Sum(nil)))
	slowly('R', "\x00\x00\x00\x00")
	slowly('Z', "I")
	read()
	slowly('T', "\x00\x01")
	slowly('D', "\x00\x01\x00\x00\x00\x01f")
	silent(c)
}

// The server must prove that it knows the password, too, and cannot occupy the loop by iterations.
func TestSCRAM(t *testing.T) {
	for _, c := range []struct {
		name   string
		server pgServer
		want   string // of the error; "": none
	}{
		{"one byte at a time", pgServer{iterations: "4096"}, ""},
		{"forger", pgServer{iterations: "4096", forger: true}, "the server does not know the password"},
		{"too many iterations", pgServer{iterations: "2000000000"}, "2000000000 iterations"},
		{"no number", pgServer{iterations: "x"}, "not one of SCRAM"},
		{"repeated", pgServer{iterations: "20000", repeats: true}, "not supported (11)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onRings(t, func(t *testing.T, l *looping) {
				check := hostileChecks["postgresql"]
				err := l.check(server(t, c.server.serve), check)
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%v, want %q", err, c.want)
				}
			})
		})
	}
}

// A role that is not the wanted one, and errors in words of the protocol, are reasons.
func TestProtocolReasons(t *testing.T) {
	packet := func(body string) string { return string([]byte{byte(len(body)), 0, 0, 0}) + body }
	for _, c := range []struct {
		name, says string
		check      config.Check
		want       string // of the error; "": none
	}{
		{"mysql", packet("\x0a8.4.0\x00rest"), config.Check{Protocol: config.CheckMySQL}, ""},
		{"blocked", packet("\xff\x69\x04Host '10.0.0.1' is blocked"), config.Check{Protocol: config.CheckMySQL},
			`greeting: receive: the server answers with error 1129: "Host '10.0.0.1' is blocked"`},
		{"old mysql", packet("\x093.23\x00"), config.Check{Protocol: config.CheckMySQL}, "does not greet as MySQL"},
		{"starting", "E\x00\x00\x00\x3bSFATAL\x00C57P03\x00Mthe database system is starting up\x00\x00\x00\x00\x00\x00\x00",
			config.Check{Protocol: config.CheckPostgreSQL},
			`login: receive: the server answers with an error: "FATAL 57P03 the database system is starting up"`},
		{"loading", "-LOADING Redis is loading the dataset in memory\r\n", config.Check{Protocol: config.CheckRedis},
			`PING: receive: the server answers "-LOADING`},
		{"sentinel", "*2\r\n$8\r\nsentinel\r\n*0\r\n", config.Check{Protocol: config.CheckRedis, Role: config.Replica},
			`neither a primary nor a replica: "sentinel"`},
		{"it quotes the password", "-ERR unknown command, with args: 's3same'\r\n", hostileChecks["redis"], "'[redacted]'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onRings(t, func(t *testing.T, l *looping) {
				err := l.check(server(t, func(conn *net.TCPConn) {
					_, _ = io.WriteString(conn, c.says)
					silent(conn)
				}), c.check)
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%v, want %q", err, c.want)
				}
				if errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%v: the answer is there", err)
				}
			})
		})
	}
}
