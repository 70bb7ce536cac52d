//go:build linux

package reactor

import (
	"fmt"
	"os"

	"github.com/reactord/reactord/epoll"
	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/uring"
)

// RingKind is a kind of ring.
type RingKind string

// The kinds of ring. IOUring and Epoll are strict: if the ring is not available, that is an error. The empty RingKind
// is Auto.
const (
	Auto    RingKind = "auto"     // io_uring, or epoll if io_uring is not available for any reason
	IOUring RingKind = "io_uring" // the kernel's ring, see package uring
	Epoll   RingKind = "epoll"    // the software ring of package epoll
)

// RingVariable is the environment variable that overrides LoopConfig.Ring of every loop of the process.
const RingVariable = "REACTORD_RING"

// RingChoice describes the ring that a loop got, and why.
type RingChoice struct {
	Kind   RingKind // IOUring or Epoll
	Asked  RingKind // what was asked for: Auto, IOUring or Epoll
	Reason string   // why Auto chose epoll, in one line; "" if it did not
	Err    error    // the error behind Reason
}

// ChooseRing returns which ring a loop of that LoopConfig.Ring would get, without making one.
func ChooseRing(kind RingKind) (RingChoice, error) {
	if env := os.Getenv(RingVariable); env != "" {
		kind = RingKind(env)
	}
	c := RingChoice{Kind: kind, Asked: kind}
	switch kind {
	case Epoll:
		return c, nil
	case IOUring:
		return c, usable()
	case Auto, "":
		c.Kind, c.Asked = IOUring, Auto
		if err := usable(); err != nil {
			c.Kind, c.Reason, c.Err = Epoll, err.Error(), err
		}
		return c, nil
	}
	return c, fmt.Errorf("reactor: there is no ring %q: want %s, %s or %s", kind, Auto, IOUring, Epoll)
}

// usable returns the reason why a loop cannot run on this process's io_uring; nil if it can.
func usable() error {
	caps, err := uring.Probe()
	if err != nil {
		return err
	}
	for _, need := range []struct {
		name string
		has  bool
	}{
		{"multishot accept", caps.AcceptMultishot},
		{"multishot receive", caps.RecvMultishot},
		{"provided buffers", caps.Buffers},
		{"multishot poll", caps.PollMultishot},
	} {
		if !need.has {
			return fmt.Errorf("%w: this kernel's io_uring has no %s (Linux 6.0 or newer has)", uring.ErrUnavailable, need.name)
		}
	}
	return nil
}

// newRing makes a ring of the kind. Auto falls back to epoll on any failure.
func newRing(kind RingKind, entries int) (host.Ring, RingChoice, error) {
	c, err := ChooseRing(kind)
	if err != nil {
		return nil, c, err
	}
	if c.Kind == IOUring {
		ring, err := uring.New(uring.Config{Entries: entries})
		if err == nil {
			return ring, c, nil
		}
		if c.Asked != Auto {
			return nil, c, err
		}
		c.Kind, c.Reason, c.Err = Epoll, err.Error(), err
	}
	ring, err := epoll.New(epoll.Config{Entries: entries})
	if err != nil {
		return nil, c, fmt.Errorf("reactor: cannot make an epoll ring: %w", err)
	}
	return ring, c, nil
}

var (
	_ host.Ring = (*uring.Ring)(nil)
	_ host.Ring = (*epoll.Ring)(nil)

	_ host.OverflowCounter = (*uring.Ring)(nil)

	_ host.MinWaiter = (*uring.Ring)(nil)
	_ host.MinWaiter = (*epoll.Ring)(nil)

	_ host.Restricter = (*uring.Ring)(nil)
)
