package program

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
)

// Talk is the parties of a run.
type Talk struct {
	k       *simring.Kernel
	parties []*Party
	Local   bool // some connections are of unix sockets, see [Party.Local]
	most    int  // bytes that a party sends
}

// NewTalk begins a talk on a kernel.
func NewTalk(k *simring.Kernel) *Talk {
	return &Talk{k: k, most: headerLen + k.Rand().IntN(1<<(1+k.Rand().IntN(12)))}
}

// SendUpTo lets each party that joins from now on send up to n bytes.
func (w *Talk) SendUpTo(n int) { w.most = n }

// Parties returns all that took part.
func (w *Talk) Parties() []*Party { return w.parties }

// Party is one side of a connection. It sends bytes that tell their sender and their place, then half-closes or
// resets, and reads what another party has sent.
type Party struct {
	talk *Talk
	id   uint32

	From      *Party // whose bytes it gets; nil: it has not got enough to tell
	Sent, Got int
	Ended     bool // it has sent its end
	Reset     bool // it has reset
	SawEnd    bool
	SawReset  bool
	Refused   bool // it could not connect
	Local     bool // its connection is one of unix sockets, which are not reset: what is closed early ends

	plan   int // bytes to be sent
	resets int // it resets when it has moved this many; < 0: it does not
	header [headerLen]byte
}

const headerLen = 4

// Join adds a party to the talk.
func (w *Talk) Join() *Party {
	rng := w.k.Rand()
	p := &Party{talk: w, id: uint32(len(w.parties)), plan: headerLen + rng.IntN(w.most), resets: -1}
	if rng.IntN(4) == 0 {
		p.resets = rng.IntN(2 * p.plan)
	}
	w.parties = append(w.parties, p)
	return p
}

// Clients makes up to six threads that wait until up reports true, connect to address, and run a party each. clients
// is how many of them are still running.
func (w *Talk) Clients(up func() bool) (clients *int) {
	n := 1 + w.k.Rand().IntN(6)
	for i := range n {
		p := w.Join()
		w.k.Go(fmt.Sprintf("client%d", i), func(t *simring.Thread) {
			defer func() { n-- }()
			t.Until(up)
			fd, err := t.Dial(address)
			if err != nil {
				p.Refused = true
				return
			}
			p.Run(t, fd)
		})
	}
	return &n
}

// at returns the i-th byte that the party sends.
func (p *Party) at(i int) byte {
	if i < headerLen {
		return binary.BigEndian.AppendUint32(nil, p.id)[i]
	}
	return byte((uint32(i)*2654435761 + p.id*40503) >> 13)
}

// Stream is what a party talks over, without waiting unless it says so. A Recv or Send that would wait returns EAGAIN.
type Stream interface {
	// Await waits until Recv may return something, or if write is set, also until Send may take something.
	Await(write bool)
	// Recv returns 0 bytes at the end of what the peer has sent.
	Recv(p []byte) (int, error)
	Send(p []byte) (int, error)
	// End half-closes the stream.
	End() error
	Reset()
	// Close closes the stream, when all was sent.
	Close()
}

// plainStream is a socket as a Stream.
type plainStream struct {
	*simring.Thread
	fd int
}

func (s plainStream) Await(write bool)           { s.Thread.Await(s.fd, write) }
func (s plainStream) Recv(p []byte) (int, error) { return s.Thread.Recv(s.fd, p) }
func (s plainStream) Send(p []byte) (int, error) { return s.Thread.Send(s.fd, p) }
func (s plainStream) End() error                 { return s.Machine().System().Shutdown(s.fd, unix.SHUT_WR) }
func (s plainStream) Reset()                     { s.Thread.Reset(s.fd) }
func (s plainStream) Close()                     { _ = s.Machine().System().Close(s.fd) }

// Run sends and receives over a socket until both directions have ended, or one side has reset.
func (p *Party) Run(t *simring.Thread, fd int) { p.RunOver(t, plainStream{t, fd}) }

// RunOver is Run over a stream.
func (p *Party) RunOver(t *simring.Thread, s Stream) {
	rng := p.talk.k.Rand()
	for !p.SawReset && !(p.Ended && p.SawEnd) {
		if p.resets >= 0 && p.Sent+p.Got >= p.resets {
			p.Reset = true
			s.Reset()
			return
		}
		if rng.IntN(8) == 0 {
			t.Sleep(time.Duration(1 + rng.Int64N(int64(5*time.Millisecond))))
		}
		if !p.SawEnd || !p.Ended && p.Sent < p.plan {
			p.turn(t, s)
		}
		if p.Sent == p.plan && !p.Ended && !p.SawReset {
			if err := s.End(); err != nil {
				p.SawReset = true
			} else {
				p.Ended = true
			}
		}
	}
	s.Close()
}

// turn sends and receives what it can.
func (p *Party) turn(t *simring.Thread, s Stream) {
	rng := p.talk.k.Rand()
	if !p.SawEnd {
		s.Await(p.Sent < p.plan)
		buf := make([]byte, 1+rng.IntN(2048))
		switch n, err := s.Recv(buf); {
		case err == nil && n == 0:
			p.SawEnd = true
		case err == nil:
			p.got(buf[:n])
		case !errors.Is(err, unix.EAGAIN):
			p.SawReset = true
			return
		}
	} else {
		s.Await(true)
	}
	if p.Sent == p.plan {
		return
	}
	piece := make([]byte, min(1+rng.IntN(1024), p.plan-p.Sent))
	for i := range piece {
		piece[i] = p.at(p.Sent + i)
	}
	switch n, err := s.Send(piece); {
	case err == nil:
		p.Sent += n
	case !errors.Is(err, unix.EAGAIN):
		p.SawReset = true
	default:
		t.Sleep(time.Microsecond)
	}
}

// got checks bytes that have arrived.
func (p *Party) got(b []byte) {
	for _, c := range b {
		if p.Got < headerLen {
			p.header[p.Got] = c
			if p.Got++; p.Got == headerLen {
				id := binary.BigEndian.Uint32(p.header[:])
				if int(id) >= len(p.talk.parties) {
					p.talk.k.Errorf("party %d gets bytes of no party: % x", p.id, p.header)
					return
				}
				p.From = p.talk.parties[id]
			}
			continue
		}
		if want := p.From.at(p.Got); c != want {
			p.talk.k.Errorf("party %d gets %#x as byte %d of party %d instead of %#x", p.id, c, p.Got, p.From.id, want)
			return
		}
		p.Got++
	}
}

// Judge asserts what must hold of every party in the end: EOF came only if the sender has half-closed, behind all
// bytes. resetsAllowed says that resets may come from elsewhere.
func (p *Party) Judge(resetsAllowed bool) {
	k := p.talk.k
	switch from := p.From; {
	case p.SawEnd && p.maySeeEndOfReset(resetsAllowed):
		if from != nil && p.Got > from.Sent {
			k.Errorf("party %d got EOF after %d bytes, and %d were sent", p.id, p.Got, from.Sent)
		}
	case p.SawEnd && (from == nil || !from.Ended):
		k.Errorf("party %d got EOF after %d bytes, and no party had half-closed: %+v", p.id, p.Got, from)
	case p.SawEnd && p.Got != from.Sent:
		k.Errorf("party %d got EOF after %d of %d bytes", p.id, p.Got, from.Sent)
	case p.SawReset && !resetsAllowed && from != nil && !from.Reset && !from.SawReset:
		k.Errorf("party %d was reset, and no party had reset", p.id)
	}
}

// maySeeEndOfReset reports whether the end that the party saw may be what it saw of a reset: one of the connections is
// of unix sockets.
func (p *Party) maySeeEndOfReset(resetsAllowed bool) bool {
	from := p.From
	if from == nil { // it got too little to tell
		return p.Local || p.talk.Local
	}
	return (p.Local || from.Local) && (from.Reset || from.SawReset || resetsAllowed)
}
