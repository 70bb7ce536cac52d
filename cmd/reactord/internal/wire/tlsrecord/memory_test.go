package tlsrecord

import (
	"crypto/tls"
	"runtime"
	"testing"
	"unsafe"
)

// allocating counts what a call allocates. A buffer of the transport is there before.
func allocating(t *testing.T, what string, f func()) {
	t.Helper()
	f()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%s allocates %v times", what, n)
	}
}

// Reading and writing a message allocates nothing.
func TestMessagesAllocateNothing(t *testing.T) {
	eachSuite(t, func(t *testing.T, _ uint16) {
		for _, size := range []int{1, 128, maxPlaintext} {
			client, server, clientSide, serverSide := pair(t)
			receive(client, make([]byte, 10)) // the ticket
			message, p := make([]byte, size), make([]byte, 18<<10)
			for _, s := range []*side{clientSide, serverSide} {
				s.out.b = make([]byte, 0, 32<<10)
			}
			allocating(t, "a message", func() {
				for _, ends := range []struct{ from, to *Conn }{{client, server}, {server, client}} {
					e := ends.from.transport.(*end)
					e.out.b = e.out.b[:0]
					whole := e.out.b
					if n, err := ends.from.Write(message); n != size || err != nil {
						t.Fatal(n, err)
					}
					if n, err := ends.to.Read(p); n != size || err != nil {
						t.Fatal(n, err)
					}
					e.out.b = whole
				}
			})
		}
	})
}

// heap returns the bytes of live objects.
func heap() int {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// held returns how many bytes an object holds that make returns, without those of before.
func held[T any](n int, create func() T) int {
	all := make([]T, n)
	before := heap()
	for i := range all {
		all[i] = create()
	}
	after := heap()
	runtime.KeepAlive(all)
	return (after - before) / n
}

// An idle connection holds one object besides the key schedules of its AEADs, also after it has moved data.
func TestIdleMemory(t *testing.T) {
	const (
		connections = 1000
		limit       = 512
	)
	eachSuite(t, func(t *testing.T, id uint16) {
		client, server, clientSide, _ := pair(t)
		receive(client, make([]byte, 10))
		state := client.State()
		schedule := held(connections, func() any {
			aead, err := client.in.suite.newAEAD(make([]byte, client.in.suite.key))
			if err != nil {
				t.Fatal(err)
			}
			return aead
		})
		if _, err := server.Write(zeros(2 * maxPlaintext)); err != nil {
			t.Fatal(err)
		}
		received := clientSide.in.b
		idle := held(connections, func() *Conn {
			clientSide.in.b = received
			c, err := New(clientSide.end, state)
			if err != nil {
				t.Fatal(err)
			}
			for got := 0; got < 2*maxPlaintext; { // in place, and through a buffer
				n, err := c.Read(make([]byte, []int{18 << 10, 100}[got/maxPlaintext]))
				if err != nil {
					t.Fatal(err)
				}
				got += n
			}
			return c
		})
		own := idle - 2*schedule
		t.Logf("%d bytes, and 2 key schedules of %d; the object is %d", own, schedule, unsafe.Sizeof(Conn{})+
			unsafe.Sizeof([2]half{}))
		if own > limit {
			t.Errorf("%s: an idle connection holds %d bytes, want %d at most", tls.CipherSuiteName(id), own, limit)
		}
	})
}
