//go:build linux

package reactor_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// A message of no bytes may bring descriptors all the same. They are delivered, not lost, and the message is not
// taken for EOF.
func TestRecvMsgManyOfDescriptorsAlone(t *testing.T) {
	eachRingAndPlain(t, reactor.LoopConfig{}, func(t *testing.T, r *running) {
		a, b := r.openPair(unix.SOCK_SEQPACKET)
		fds := eventfds(t, 2)
		m := r.flow(b.RecvMsgMany(reactor.Unlimited, unix.CmsgSpace(4*len(fds))))
		for range 2 {
			must[int](r, a.SendMsg(nil, unix.UnixRights(fds...), reactor.Address{}), new(reactor.SendMsgOp))
			select {
			case d := <-m.items:
				n := 0
				for c := range reactor.ControlMessages(d.Control) {
					got, err := unix.ParseUnixRights(&unix.SocketControlMessage{
						Header: unix.Cmsghdr{Level: int32(c.Level), Type: int32(c.Type)}, Data: c.Data,
					})
					if err != nil {
						t.Error(err)
					}
					n += len(got)
					closeAll(got)
				}
				if n != len(fds) || len(d.Bytes()) != 0 {
					t.Errorf("%d descriptors with %d bytes", n, len(d.Bytes()))
				}
				r.do(d.Release)
			case how := <-m.ended:
				t.Fatalf("the sequence has ended: %s", how)
			case <-time.After(patience):
				t.Fatal("nothing comes")
			}
		}
		closeAll(fds)
		r.close(a)
		m.ended.expect(t, "{}")
		r.close(b)
	})
}

// Whatever a ring makes of control data, a sequence with more room for it than a buffer has ends immediately.
func TestRecvMsgManyWithoutRoom(t *testing.T) {
	for name, control := range map[string]int{"for the bytes": 512, "for the control data": 1 << 10} {
		t.Run(name, func(t *testing.T) {
			eachRingAndPlain(t, reactor.LoopConfig{Buffers: reactor.BufferConfig{Size: 512}}, func(t *testing.T, r *running) {
				s, at := r.udp()
				peer, _ := udpPeer(t, at)
				put(t, peer, "hello")
				m := r.flow(s.RecvMsgMany(1, control))
				m.ended.expect(t, "error: message too long")
				m = r.flow(s.RecvMsgMany(1, 16))
				if got, _ := m.take(r); got != "hello" {
					t.Errorf("got %q", got)
				}
				r.do(func() { m.source.RequestStop() })
				m.ended.expect(t, "stopped")
				r.close(s)
				unix.Close(peer)
			})
		})
	}
}
