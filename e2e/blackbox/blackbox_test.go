package blackbox

import (
	"net"
	"strings"
	"testing"
)

// Without a proxy every case passes: the kernel is right.
func TestDirect(t *testing.T) {
	for _, c := range Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			l := listen(t)
			if err := c.Run(t.Context(), To(l.Addr().String()), l); err != nil {
				t.Error(err)
			}
		})
	}
}

func listen(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

// What goes wrong is found, and the error says where.
func TestFailures(t *testing.T) {
	for _, c := range []struct{ client, server, want string }{
		{`connect; send "ab"`, `accept; expect "ax"`, `server: line 1: expect "ax": received "ab" at byte 0, want "ax"`},
		{`connect; send 10`, "accept;\nexpect 20", "server: line 2: expect 20: received 10 bytes of 20: EOF"},
		{`connect; reset`, `accept; expect eof`, `connection reset by peer`},
		{`connect; shutdown; expect gone`, `accept; expect eof; expect reset`, `received 0 bytes and EOF`},
		{`connect; send "x"; expect gone`, `accept; expect silence 1s`, `received 1 bytes`},
		{`send "x"`, `accept`, `there is no connection`},
		{`conect`, `accept`, `client: line 1: "conect": no such action`},
		{`connect`, `accept; send 1TiB`, `neither "text" nor a size`},
		{`connect; pause`, `accept`, `write pause TIME`},
	} {
		l := listen(t)
		err := Case{Name: "case", Client: c.client, Server: c.server}.Run(t.Context(), To(l.Addr().String()), l)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s | %s: %v, want %q", c.client, c.server, err, c.want)
		}
	}
}
