package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/pool"
	"github.com/reactord/reactord/internal/assert"
	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/reactor"
)

// Closed connections are used again, and are kept alive neither by open ones nor by what connections take from pools.
// Here they open and close beside others, so that each has neighbours in the list, and end in all ways.
func TestClosedConnectionsAreReused(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, refusing(t), ln) // every second connection is refused first
		const standing, rounds, atATime = 4, 100, 8
		for range standing {
			c, s := pair(t, p, ln)
			swap(t, c, s, 100)
		}
		seen := map[weak.Pointer[conn]]bool{}
		var open [][2]*net.TCPConn
		for i := range rounds * atATime {
			c, s := pair(t, p, ln)
			swap(t, c, s, 100)
			if open = append(open, [2]*net.TCPConn{c, s}); len(open) < atATime {
				continue
			}
			if i%atATime == 0 {
				p.note(seen)
			}
			leave(t, i, open[0][0], open[0][1])
			open = open[1:]
		}
		c, s := pair(t, p, ln)
		swap(t, c, s, 16<<20) // splices
		p.note(seen)
		leave(t, 0, c, s)
		for i, o := range open {
			leave(t, i, o[0], o[1])
		}
		if n := len(seen); n < atATime || n > 4*(standing+atATime) {
			t.Errorf("%d connections were made for %d, of which %d were open at a time", n, rounds*atATime, standing+atATime)
		}
		waitFor(t, "only those that stand are open", func() bool { return p.Open() == standing })
		dropped := make(chan struct{}, len(p.workers))
		p.each(func(w *worker) {
			w.closedConns = pool.Of[conn]{}
			dropped <- struct{}{}
		})
		for range p.workers {
			<-dropped
		}
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			runtime.GC()
			alive := 0
			for c := range seen {
				if c.Value() != nil {
					alive++
				}
			}
			if alive == standing {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d connections are alive, want the %d open ones", alive, len(seen), standing)
			}
		}
	})
}

// note adds the open connections.
func (p *Proxy) note(seen map[weak.Pointer[conn]]bool) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	wg.Add(len(p.workers))
	p.each(func(w *worker) {
		defer wg.Done()
		mu.Lock()
		defer mu.Unlock()
		for l := w.conns.First(); l != nil; l = l.Next() {
			seen[weak.Make(connOf(l))] = true
		}
	})
	wg.Wait()
}

// swap sends n bytes in both directions.
func swap(t *testing.T, c, s *net.TCPConn, n int) {
	t.Helper()
	want := bytes.Repeat([]byte{1}, n)
	for _, way := range [][2]*net.TCPConn{{c, s}, {s, c}} {
		go way[0].Write(want)
		if _, err := io.ReadFull(way[1], make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
}

// leave ends a connection in one of several ways, and waits for its end.
func leave(t *testing.T, how int, c, s *net.TCPConn) {
	t.Helper()
	first, second := c, s
	if how&1 != 0 {
		first, second = s, c
	}
	switch how >> 1 & 3 {
	case 0: // one direction after the other
		_ = first.CloseWrite()
		expectEOF(t, second)
		pass(t, second, first)
		_ = second.CloseWrite()
		expectEOF(t, first)
	case 1:
		_ = first.SetLinger(0)
		first.Close()
		expectReset(t, second)
	case 2: // a reset after EOF
		_ = first.CloseWrite()
		expectEOF(t, second)
		_ = first.SetLinger(0)
		first.Close()
		for { // a write is told of the reset, a read is not
			if _, err := second.Write([]byte{1}); err != nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
	case 3:
		first.Close()
		expectEOF(t, second)
	}
	first.Close()
	second.Close()
}

func pass(t *testing.T, from, to *net.TCPConn) {
	t.Helper()
	if _, err := from.Write([]byte{1}); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(to, make([]byte, 1)); err != nil {
		t.Error(err)
	}
}

func expectEOF(t *testing.T, c *net.TCPConn) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("%d bytes and %v, want EOF", n, err)
	}
}

// heldConn returns a path of references from a worker to a connection, other than those that are kept to be used again,
// or "" if there is none.
func heldConn(w *worker) string {
	seen := map[any]bool{}
	var walk func(v reflect.Value, way string) string
	fields := func(n int, of func(i int) (reflect.Value, string), way string) string {
		for i := range n {
			v, name := of(i)
			if found := walk(v, way+name); found != "" {
				return found
			}
		}
		return ""
	}
	walk = func(v reflect.Value, way string) string {
		if v.Type() == reflect.TypeFor[pool.Of[conn]]() {
			return ""
		}
		switch v.Kind() {
		case reflect.Pointer:
			key := [2]any{v.Type(), v.Pointer()}
			if v.IsNil() || seen[key] {
				return ""
			}
			seen[key] = true
			if v.Type() == reflect.TypeFor[*conn]() || v.Type() == reflect.TypeFor[*intrusive.Links]() {
				return way
			}
			return walk(v.Elem(), way)
		case reflect.Interface:
			if !v.IsNil() {
				return walk(v.Elem(), way)
			}
		case reflect.Struct:
			field := func(i int) (reflect.Value, string) { return v.Field(i), "." + v.Type().Field(i).Name }
			return fields(v.NumField(), field, way)
		case reflect.Slice:
			if v.Type().Elem().Kind() <= reflect.Complex128 {
				return "" // numbers: a walk over all of them would take long
			}
			v = v.Slice3(0, v.Cap(), v.Cap()) // elements beyond the length are alive, too
			fallthrough
		case reflect.Array:
			element := func(i int) (reflect.Value, string) { return v.Index(i), fmt.Sprintf("[%d]", i) }
			return fields(v.Len(), element, way)
		}
		return ""
	}
	return walk(reflect.ValueOf(w), "worker")
}

// A connection takes no more than the size class of 768 bytes. The allocator adds 8 bytes to objects of more than 512
// bytes that have pointers.
func TestConnectionFitsItsSizeClass(t *testing.T) {
	if assert.Enabled {
		t.Skip("assertions take memory")
	}
	if size := unsafe.Sizeof(conn{}) + 8; size > 768 {
		t.Errorf("it takes %d bytes", size)
	}
}
