//go:build linux

package reactor_test

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// TestRecvMsgManyWhole: the largest datagram is not truncated, an empty one is not the end, and the buffers come back.
func TestRecvMsgManyWhole(t *testing.T) {
	eachRingAndPlain(t, reactor.LoopConfig{}, func(t *testing.T, r *running) {
		got := make(chan []byte, 100)
		var s *reactor.Socket
		op := new(reactor.RecvMsgManyOp)
		var at reactor.Address
		r.do(func() {
			s, at = r.udp()
			s.RecvMsgMany(1, 24).Whole().Connect(op, &wholeReceiver{op: op, got: got})
			op.Start()
		})
		fd, _ := udpPeer(t, at)
		for i, n := range []int{65507, 0, 1, 65507, 17 << 10, 0, 40000} {
			want := bytes.Repeat([]byte{byte(i)}, n)
			if err := unix.Send(fd, want, 0); err != nil {
				t.Fatal(err)
			}
			if b := <-got; !bytes.Equal(b, want) {
				t.Errorf("a datagram of %d bytes came as %d", n, len(b))
			}
		}
		r.close(s)
		_ = unix.Close(fd)
	})
}

// wholeReceiver grants credit for each datagram.
type wholeReceiver struct {
	op  *reactor.RecvMsgManyOp
	got chan []byte
}

func (w *wholeReceiver) SetNext(d reactor.Datagram) {
	b := bytes.Clone(d.Bytes())
	if d.Truncated() {
		b = nil
	}
	d.Release()
	w.op.Grant(1)
	w.got <- b
}
func (w *wholeReceiver) SetValue(struct{}) {}
func (w *wholeReceiver) SetError(error)    {}
func (w *wholeReceiver) SetStopped()       {}
func (w *wholeReceiver) Env() sender.Env   { return sender.EmptyEnv{} }
