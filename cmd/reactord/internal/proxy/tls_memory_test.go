package proxy

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
)

// How much memory an idle connection holds that TLS ends for, in comparison with net/http's server. It counts the heap
// and the stacks of the process, which has the clients, too: they are the same for both, and measured alone.
// REACTORD_TLS_MEMORY is the number of connections.
func TestTLSMemory(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("REACTORD_TLS_MEMORY"))
	if err != nil {
		t.Skip("REACTORD_TLS_MEMORY is not set")
	}
	onEachRing(t, func(t *testing.T, kind reactor.RingKind) {
		s := startTLS(t, kind, tlsMode{front: true}, tlsOptions{loops: 1})
		m := startTLS(t, kind, tlsMode{front: true}, moving())
		request := []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		answer := []byte("HTTP/1.1 204 No Content\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\n\r\n")
		serve := func(ln net.Listener) {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				t.Cleanup(func() { c.Close() })
				if _, err := io.ReadFull(c, make([]byte, len(request))); err == nil {
					_, _ = c.Write(answer)
				}
			}
		}
		go serve(s.ln)
		go serve(m.ln)
		// hold opens connections that have sent a request, without a tls.Conn on this side that stays.
		hold := func(address string, with *tls.Config) uint64 {
			before := memoryNow()
			for range n {
				c, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				_ = c.SetDeadline(time.Now().Add(time.Minute))
				client := tls.Client(c, with)
				if _, err := client.Write(request); err != nil {
					t.Fatal(err)
				}
				if _, err := client.Read(make([]byte, 4096)); err != nil {
					t.Fatal(err)
				}
			}
			return (memoryNow() - before) / uint64(n)
		}
		ours, moves := hold(s.p.Addrs()[0].String(), s.client), hold(m.p.Addrs()[0].String(), m.client)
		web := http.Server{
			Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
			TLSConfig: s.server.Clone(),
		}
		ln := listen(t)
		go func() { _ = web.ServeTLS(ln, "", "") }()
		defer web.Close()
		theirs := hold(ln.Addr().String(), s.client)
		t.Logf("%d bytes a connection, %d with handover, with the ends of clients and servers; net/http: %d", ours, moves,
			theirs)
		if ours > theirs/2 || moves > ours {
			t.Errorf("more than half, or more with handover")
		}
	})
}

// memoryNow is what the heap and the stacks hold.
func memoryNow() uint64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
