package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"github.com/reactord/reactord/bench/record"
)

// UDP sends numbered datagrams and expects each of them back. A datagram that does not come back within Wait is lost.
// One that comes after a later one is reordered. One that comes twice, or after it was counted as lost, is a duplicate.
// Loss is counted, but is not a failure.
type UDP struct {
	Depth int           `yaml:"depth" default:"1" help:"Outstanding datagrams on each socket."`
	Size  Sizes         `yaml:"size" default:"128" help:"Bytes of a datagram, at least 8."`
	Wait  time.Duration `yaml:"wait" default:"1s" help:"After this time a datagram without an echo is lost."`
}

// udpHeader is the size of a datagram's number, in bytes. It is big-endian, and precedes the pattern.
const udpHeader = 8

// maxDatagram is the largest datagram of IPv4 in bytes. See udp(7).
const maxDatagram = 65507

func (m *UDP) prepare(cfg *Config) error {
	setDefault(&m.Size, 128)
	if m.Wait <= 0 {
		m.Wait = time.Second
	}
	if !cfg.Target.Datagrams() {
		return errors.New("this mode needs a udp:// target")
	}
	if m.Size.Max() > maxDatagram {
		return errors.New("a datagram has at most 65507 bytes")
	}
	for _, c := range m.Size.choices {
		if c.low < udpHeader {
			return errors.New("a datagram has at least 8 bytes")
		}
	}
	cfg.Timeout = m.Wait
	return checkDepth(&m.Depth)
}

func (m *UDP) persistent() bool { return true }
func (m *UDP) maxPiece() int    { return m.Size.Max() }

func (m *UDP) session(c *conn) session {
	s := &udpSession{base: base{c}, mode: m, slots: make([]udpSlot, m.Depth), free: make([]int, 0, m.Depth)}
	s.memory = make([]byte, m.Depth*m.Size.Max())
	s.random = newEchoCodec(c, &m.Size)
	return s
}

// udpSession is a socket. Each outstanding datagram has a slot. The index of the slot is the datagram's number modulo
// the depth.
type udpSession struct {
	base
	mode   *UDP
	random *echoCodec
	slots  []udpSlot
	free   []int
	memory []byte // a datagram for each slot
	round  uint64 // how often all slots were used
	latest uint64 // the largest number that was received
}

type udpSlot struct {
	stamp
	number uint64 // 0: the slot is free
	size   int
}

func (s *udpSession) opened() {
	s.free = s.free[:0]
	now := s.c.clock()
	for i := range s.slots {
		s.free = append(s.free, len(s.slots)-1-i)
	}
	for range s.slots {
		s.c.group.ready(s.c, now)
	}
}

func (s *udpSession) begin(intended, now int64) {
	i := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	s.round++
	slot := &s.slots[i]
	*slot = udpSlot{stamp{intended, now}, s.round*uint64(len(s.slots)) + uint64(i),
		max(s.mode.Size.next(&s.random.out), udpHeader)}
	p := s.memory[i*s.mode.Size.Max():][:slot.size]
	binary.BigEndian.PutUint64(p, slot.number)
	copy(p[udpHeader:], s.body(slot))
	if s.c.since == 0 {
		s.c.since = slot.sent
	}
	s.c.write(p)
}

// body returns the bytes of a datagram after its number. The number determines their place in the pattern.
func (s *udpSession) body(slot *udpSlot) []byte {
	return s.c.worker().g.pattern.At(int64(slot.number%(1<<40))*31, slot.size-udpHeader)
}

func (s *udpSession) received(p []byte) {
	g := s.c.group
	if len(p) < udpHeader {
		g.win.Errors[record.Short]++
		return
	}
	number := binary.BigEndian.Uint64(p)
	i := int(number % uint64(len(s.slots)))
	slot := &s.slots[i]
	switch {
	case number > (s.round+1)*uint64(len(s.slots)):
		g.win.Errors[record.Corrupt]++ // it was never sent
		return
	case slot.number != number:
		g.win.Duplicates++
		return
	case len(p) < slot.size:
		g.win.Errors[record.Short]++
	case len(p) > slot.size:
		g.win.Errors[record.Excess]++
	case g.w.verify && !bytes.Equal(p[udpHeader:], s.body(slot)):
		g.win.Errors[record.Corrupt]++
	default:
		if g.w.verify {
			g.win.Verified += int64(len(p))
		}
		s.came(slot, i)
		return
	}
	s.give(slot, i, s.c.clock())
}

// came records a datagram that is complete.
func (s *udpSession) came(slot *udpSlot, i int) {
	g, now := s.c.group, s.c.clock()
	round := slot.number / uint64(len(s.slots))
	if round < s.latest {
		g.win.Reordered++
	}
	s.latest = max(s.latest, round)
	g.win.Messages++
	g.win.Latency.Record(now - slot.intended)
	g.win.Service.Record(now - slot.sent)
	s.give(slot, i, now)
}

// give frees a slot.
func (s *udpSession) give(slot *udpSlot, i int, now int64) {
	slot.number = 0
	s.free = append(s.free, i)
	s.oldest()
	s.c.group.done(1, now)
	s.c.group.ready(s.c, now)
}

// oldest finds the oldest outstanding datagram.
func (s *udpSession) oldest() {
	s.c.since = 0
	if len(s.free) == len(s.slots) {
		return
	}
	for i := range s.slots {
		if at := s.slots[i].sent; s.slots[i].number != 0 && (s.c.since == 0 || at < s.c.since) {
			s.c.since = at
		}
	}
}

// overdue counts datagrams as lost that have waited for too long.
func (s *udpSession) overdue() {
	now := s.c.clock()
	for i := range s.slots {
		if slot := &s.slots[i]; slot.number != 0 && now-slot.sent >= int64(s.mode.Wait) {
			s.c.group.win.Lost++
			s.give(slot, i, now)
		}
	}
}

func (s *udpSession) closed() {
	n := len(s.slots) - len(s.free)
	if s.c.life == 1 && !s.c.stood {
		n = 0 // it was never open, and has no slots
	}
	for i := range s.slots {
		s.slots[i].number = 0
	}
	s.free = s.free[:0]
	for i := range s.slots {
		s.free = append(s.free, i)
	}
	if n > 0 {
		s.c.group.done(n, s.c.clock())
	}
	s.c.reopen()
}
