package main

import (
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
)

var datagramCase = &benchCase{Name: "udp", Conns: 8, Size: 128, Method: datagramTime}

func TestDatagramsAreMeasured(t *testing.T) {
	w := testWorkshop(t)
	for _, p := range datagramPeers() {
		t.Run(p.name, func(t *testing.T) {
			_, err := p.prepare(t.Context(), w)
			testenv.NeedIOUring(t, err) // nothing else can be missing
			found, err := measure(t.Context(), w, datagramCase, p, 300*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			r := found.Result
			if r.Messages == 0 || r.Elapsed < 200*time.Millisecond || r.ServerCPU <= 0 || r.LoadCPU <= 0 {
				t.Errorf("%+v", r)
			}
			if want := r.ServerCPU.Seconds() * 1e6 / float64(r.Messages); math.Abs(found.Figure-want) > 1e-6 {
				t.Errorf("%v µs, want %v", found.Figure, want)
			}
		})
	}
}

// A server that changes or drops datagrams fails.
func TestDatagramsThatDoNotComeBack(t *testing.T) {
	for _, test := range []struct {
		name, want string
		answer     func(number int, p []byte) []byte
	}{
		{"corrupts", "corrupt", func(_ int, p []byte) []byte { p[len(p)-1] ^= 1; return p }},
		{"drops", "lost", func(number int, p []byte) []byte {
			if number%50 == 49 {
				return nil
			}
			return p
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := testWorkshop(t)
			p := &peer{name: test.name, command: func(_ *workshop, listen, _ string) ([]string, error) {
				answerDatagrams(t, listen, test.answer)
				return []string{"sleep", "60"}, nil
			}}
			if _, err := measure(t.Context(), w, datagramCase, p, 100*time.Millisecond); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("a server that %s: %v", test.name, err)
			}
		})
	}
}

// answerDatagrams serves at address until the test ends.
func answerDatagrams(t *testing.T, address string, answer func(number int, p []byte) []byte) {
	c, err := net.ListenPacket("udp4", address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	t.Cleanup(func() { c.Close(); <-done })
	go func() {
		defer close(done)
		buf := make([]byte, 2048)
		for number := 0; ; number++ {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			if p := answer(number, buf[:n]); p != nil {
				c.WriteTo(p, from)
			}
		}
	}()
}
