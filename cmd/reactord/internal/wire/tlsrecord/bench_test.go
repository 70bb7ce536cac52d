package tlsrecord

import (
	"fmt"
	"io"
	"testing"
)

// sink is a transport that takes records into a buffer: in place if it has given out that buffer, or else by a copy.
type sink struct {
	*end
	buffer [18 << 10]byte
}

func (s *sink) Room(int) []byte { return s.buffer[:0] }

func (s *sink) Write(p []byte) (int, error) {
	if &p[0] != &s.buffer[0] {
		copy(s.buffer[:], p)
	}
	return len(p), nil
}

// eachKind runs a benchmark with a Conn and with a tls.Conn of a server, whose peer seals records.
func eachKind(b *testing.B, f func(b *testing.B, w *twins, theirs bool, size int)) {
	clientConfig, serverConfig := configs(b)
	serverConfig.DynamicRecordSizingDisabled = true
	for _, size := range []int{128, maxPlaintext} {
		for _, theirs := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/%d", map[bool]string{false: "conn", true: "crypto_tls"}[theirs], size), func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				f(b, newTwins(b, clientConfig, serverConfig, true), theirs, size)
			})
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	eachKind(b, func(b *testing.B, w *twins, theirs bool, size int) {
		s := &sink{end: w.oursEnd}
		w.ours.transport = s
		p := make([]byte, size)
		var to io.Writer = w.ours
		if theirs {
			w.theirs.end.sink = s
			to = w.theirs.tls
		}
		for b.Loop() {
			if _, err := to.Write(p); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	eachKind(b, func(b *testing.B, w *twins, theirs bool, size int) {
		const batch = 64
		p, content := make([]byte, 18<<10), make([]byte, size)
		var from io.Reader = w.ours
		in := w.oursEnd.in
		if theirs {
			from, in = w.theirs.tls, w.theirs.in
		}
		for i := range b.N {
			if i%batch == 0 {
				b.StopTimer()
				in.b = in.b[:0]
				for range batch {
					in.b = append(in.b, w.record(typeApplicationData, content)...)
				}
				b.StartTimer()
			}
			if n, err := from.Read(p); n != size || err != nil {
				b.Fatal(n, err)
			}
		}
	})
}

// BenchmarkIdle tells the memory of a connection that has received a message, and waits.
func BenchmarkIdle(b *testing.B) {
	eachKind(b, func(b *testing.B, w *twins, theirs bool, size int) {
		clientConfig, serverConfig := configs(b)
		if !theirs {
			state := w.ours.State()
			record := w.record(typeApplicationData, make([]byte, size))
			b.ReportMetric(float64(held(b.N, func() *Conn {
				c, err := New(w.oursEnd, state)
				if err != nil {
					b.Fatal(err)
				}
				w.oursEnd.in.b = record
				receive(c, make([]byte, 18<<10))
				return c
			})), "B/conn")
			return
		}
		type idle struct {
			tls any
			end *end
		}
		b.ReportMetric(float64(held(b.N, func() idle {
			w := newTwins(b, clientConfig, serverConfig, true)
			w.theirs.in.b = w.record(typeApplicationData, make([]byte, size))
			receive(w.theirs.tls, make([]byte, 18<<10))
			*w.theirs.in, *w.theirs.out, w.theirs.written = stream{}, stream{}, nil
			return idle{w.theirs.tls, w.theirs.end}
		})), "B/conn")
	})
}
