package tlsrecord

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"
)

// speaker is a *tls.Conn or a *Conn.
type speaker interface {
	io.ReadWriter
	CloseWrite() error
}

// talk is a random conversation, and what each side is to receive.
type talk struct {
	t      *testing.T
	random *rand.Rand
	sides  [2]*side
	ends   [2]speaker
	sent   [2][]byte // by the receiver: not read yet
	closed [2]bool   // by the receiver: the other side has ended
	eof    [2]bool
	keys   int // KeyUpdates that were sent
}

// step does something at one side.
func (k *talk) step(i int) {
	c, isOurs := k.ends[i].(*Conn)
	switch r := k.random.IntN(20); {
	case r < 7:
		k.write(i)
	case r < 14:
		k.read(i)
	case isOurs && r < 16:
		k.ends[i] = moved(k.t, c, k.sides[i].end)
	case isOurs && !k.closed[1-i] && r < 17:
		c.requestUpdate(k.t)
		k.keys++
	case isOurs && !k.closed[1-i] && r < 18:
		if err := c.updateKey(); err != nil {
			k.t.Fatal(err)
		}
		k.keys++
	}
}

func (k *talk) write(i int) {
	if k.closed[1-i] {
		return
	}
	b := make([]byte, []int{0, 1, 100, 5000, maxPlaintext, 3 * maxPlaintext}[k.random.IntN(6)])
	for j := range b {
		b[j] = byte(k.random.Uint32())
	}
	if n, err := k.ends[i].Write(b); n != len(b) || err != nil {
		k.t.Fatalf("side %d: wrote %d of %d: %v", i, n, len(b), err)
	}
	k.sent[1-i] = append(k.sent[1-i], b...)
}

func (k *talk) read(i int) {
	p := make([]byte, []int{1, 200, 1 << 10, maxPlaintext, 18 << 10}[k.random.IntN(5)])
	n, err := k.ends[i].Read(p)
	if n > len(k.sent[i]) || !bytes.Equal(p[:n], k.sent[i][:n]) {
		k.t.Fatalf("side %d: read %d bytes that were not sent", i, n)
	}
	k.sent[i] = k.sent[i][n:]
	switch {
	case err == io.EOF && k.closed[i] && len(k.sent[i]) == 0:
		k.eof[i] = true
	case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
		k.t.Fatalf("side %d: %v; %d bytes left, closed: %t", i, err, len(k.sent[i]), k.closed[i])
	}
}

// close half-closes from one side.
func (k *talk) close(i int) {
	if err := k.ends[i].CloseWrite(); err != nil {
		k.t.Fatal(err)
	}
	k.closed[1-i] = true
}

// A Conn takes the place of a tls.Conn, or of both, and is moved from process to process, with a peer that is none the
// wiser.
func TestConversations(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 4
	}
	eachSuite(t, func(t *testing.T, _ uint16) {
		client, server := configs(t)
		for name, ours := range map[string][2]bool{
			"client": {true, false}, "server": {false, true}, "both": {true, true},
		} {
			t.Run(name, func(t *testing.T) {
				keys := 0
				for seed := range seeds {
					config := server.Clone()
					if seed%2 == 1 {
						config.ClientAuth = tls.RequestClientCert // then the tickets are sent behind the client's flight
					}
					k := talk{t: t, random: rand.New(rand.NewPCG(seed, 0))}
					k.sides[0], k.sides[1] = shake(t, k.random, client, config)
					for i, s := range k.sides {
						if k.ends[i] = s.tls; ours[i] {
							k.ends[i] = s.conn(t)
						}
					}
					k.run()
					keys += k.keys
				}
				if keys == 0 {
					t.Error("no key was updated")
				}
			})
		}
	})
}

// run talks, half-closes at one side, goes on at the other one, and ends.
func (k *talk) run() {
	first := k.random.IntN(2)
	for range 100 {
		k.step(k.random.IntN(2))
	}
	k.close(first)
	for range 50 {
		k.step(k.random.IntN(2))
	}
	k.close(1 - first)
	for i := range 20000 {
		if k.eof[0] && k.eof[1] {
			return
		}
		k.read(i % 2)
	}
	k.t.Fatalf("%d and %d bytes are missing", len(k.sent[0]), len(k.sent[1]))
}
