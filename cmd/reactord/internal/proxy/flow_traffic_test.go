package proxy

import (
	"io"
	"net"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/reactor"
)

// words reads the memory of a value.
func words[T any](v *T) []uint64 {
	out := make([]uint64, unsafe.Sizeof(*v)/8)
	for i := range out {
		out[i] = atomic.LoadUint64((*uint64)(unsafe.Add(unsafe.Pointer(v), 8*i)))
	}
	return out
}

// changes returns the fields of a value whose memory has changed, each by its path from the type on.
func changes[T any](v *T, before []uint64) (paths []string) {
	of := reflect.TypeFor[T]()
	for i, now := range words(v) {
		if now != before[i] {
			paths = append(paths, of.Name()+fieldAt(of, uintptr(8*i)))
		}
	}
	return paths
}

// fieldAt returns the path of the field of a struct in which an offset is.
func fieldAt(of reflect.Type, offset uintptr) string {
	if of.Kind() != reflect.Struct || of.PkgPath() == "sync/atomic" {
		return ""
	}
	for f := range of.Fields() {
		if offset+8 > f.Offset && offset < f.Offset+f.Type.Size() {
			return "." + f.Name + fieldAt(f.Type, max(offset, f.Offset)-f.Offset)
		}
	}
	return ""
}

// sharedMemory holds the memory of what the loops of a proxy share: the process, a listener, a backend and its server.
type sharedMemory struct {
	p      *Proxy
	l      *sharedListener
	up     *upstream.Backend
	b      *sharedBackend
	server *upstream.Server
	memory [5][]uint64
}

func sharedBy(p *Proxy) *sharedMemory {
	s := &sharedMemory{p: p, l: p.table.Load().listeners[0]}
	for b, servers := range p.upstreams.All() {
		s.up, s.b, s.server = b, p.backends.find(b), servers[0]
	}
	s.memory = [5][]uint64{words(s.p), words(s.l), words(s.up), words(s.b), words(s.server)}
	return s
}

// changes returns the fields that have changed since.
func (s *sharedMemory) changes() []string {
	all := slices.Concat(changes(s.p, s.memory[0]), changes(s.l, s.memory[1]), changes(s.up, s.memory[2]),
		changes(s.b, s.memory[3]), changes(s.server, s.memory[4]))
	slices.Sort(all)
	return slices.Compact(all)
}

// Messages write to nothing that loops share, and a connection only to what it must.
func TestWhatLoopsShare(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := start(t, ring, Backend{}, ln)
		exchange := func(c, s net.Conn) {
			for _, way := range [][2]net.Conn{{c, s}, {s, c}} {
				if _, err := way[0].Write(make([]byte, 100)); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(way[1], make([]byte, 100)); err != nil {
					t.Fatal(err)
				}
			}
		}
		c, s := pair(t, p, ln)
		exchange(c, s) // the first bytes are timed
		idle := sharedBy(p)
		for range 100 {
			exchange(c, s)
		}
		if got := idle.changes(); len(got) != 0 {
			t.Errorf("messages have changed %q", got)
		}
		if n := moved(idle.l, client); n != 101*100 {
			t.Errorf("%d bytes are counted", n)
		}

		before := sharedBy(p)
		c, s = pair(t, p, ln)
		exchange(c, s)
		if got := before.changes(); !slices.Equal(got, writtenAtFirst) {
			t.Errorf("a connection that is open has changed\n%q, want\n%q", got, writtenAtFirst)
		}
		before = sharedBy(p)
		resetConn(c)
		awaitOpen(t, p, 1)
		if got := before.changes(); !slices.Equal(got, writtenAtLast) {
			t.Errorf("the end of a connection has changed\n%q, want\n%q", got, writtenAtLast)
		}
	})
}

// What a connection writes to that loops share: docs/performance.md says why.
var (
	writtenAtFirst = []string{
		"Backend.Load.n", "Backend.began", "Backend.retries.connections.slots", "Backend.time.counts", "Backend.time.sum",
		"Server.Load.n", "Server.counters.ServerCounts.Total",
		"sharedListener.admission.word", "sharedListener.stats.accepted", "sharedListener.stats.current",
		"sharedListener.stats.firstByte.counts", "sharedListener.stats.firstByte.sum",
	}
	writtenAtLast = []string{
		"Backend.Load.n", "Server.Load.n", "sharedListener.admission.word", "sharedListener.stats.closed",
		"sharedListener.stats.current", "sharedListener.stats.duration.counts", "sharedListener.stats.duration.sum",
	}
)
