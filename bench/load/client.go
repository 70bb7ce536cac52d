package load

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// client is one connection of the load, with one message under way.
type client struct {
	fd        int
	connected bool
	checked   int    // messages verified
	payload   []byte // the message, cut from the pattern
	sent, got int    // bytes of it
}

// connectNext begins one more connection, if the plan has one more.
func (d *Driver) connectNext() error {
	if d.begun == len(d.clients) {
		return nil
	}
	fd, err := stream()
	if err != nil {
		return err
	}
	c := &d.clients[d.begun]
	c.fd = fd
	d.begun++
	if err := unix.Connect(fd, d.target); err != nil && err != unix.EINPROGRESS {
		return os.NewSyscallError("connect", err)
	}
	return d.poll.add(fd, allEvents, onClient, int32(d.begun-1))
}

// clientReady does what a client can do now.
func (d *Driver) clientReady(c *client, events uint32) error {
	if !c.connected {
		return d.clientConnected(c, events)
	}
	if c.sent < len(c.payload) {
		if err := c.send(); err != nil {
			return err
		}
	}
	if events&^unix.EPOLLOUT == 0 {
		return nil
	}
	return d.clientReceive(c, events)
}

func (d *Driver) clientConnected(c *client, events uint32) error {
	code, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	if err != nil {
		return os.NewSyscallError("connect", err)
	}
	if events&unix.EPOLLOUT == 0 {
		return nil
	}
	c.connected = true
	if err := d.connectNext(); err != nil {
		return err
	}
	if d.plan.Verify == 0 {
		return d.verified()
	}
	return d.next(c)
}

func (d *Driver) clientReceive(c *client, events uint32) error {
	for {
		n, errno := receive(c.fd, d.scratch)
		if errno == unix.EAGAIN {
			return nil
		}
		if errno != 0 {
			return os.NewSyscallError("recv", errno)
		}
		if n == 0 {
			return fmt.Errorf("the server closed a connection: %w", io.ErrUnexpectedEOF)
		}
		if c.got+n > c.sent {
			return fmt.Errorf("%d bytes came back for a message of %d", c.got+n, c.sent)
		}
		if d.phase == verifying && !bytes.Equal(d.scratch[:n], c.payload[c.got:c.got+n]) {
			return fmt.Errorf("what came back is not what was sent")
		}
		c.got += n
		if c.got == d.plan.Size {
			if err := d.clientDone(c); err != nil {
				return err
			}
		}
		if n < len(d.scratch) && events&ending == 0 {
			return nil // emptied
		}
	}
}

// clientDone is called when a message has come back whole.
func (d *Driver) clientDone(c *client) error {
	d.messages++
	if d.phase == verifying {
		d.result.Verified++
		c.checked++
		if c.checked == d.plan.Verify {
			c.payload, c.sent, c.got = nil, 0, 0
			return d.verified()
		}
	}
	return d.next(c)
}

// next sends a client's next message. While verifying, each has bytes of its own; afterwards all
// are the same few, which stay in the cache.
func (d *Driver) next(c *client) error {
	at := 0
	if d.phase == verifying {
		at = (c.fd*7919 + c.checked*104729) % (len(d.pattern) - d.plan.Size)
	}
	c.payload, c.sent, c.got = d.pattern[at:at+d.plan.Size], 0, 0
	return c.send()
}

func (c *client) send() error {
	n, errno := send(c.fd, c.payload[c.sent:])
	if errno != 0 && errno != unix.EAGAIN {
		return os.NewSyscallError("send", errno)
	}
	if errno == 0 {
		c.sent += n
	}
	return nil
}
