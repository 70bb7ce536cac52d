package tlsrecord

import (
	"fmt"
	"net"
)

// errNotified is the error of a Write behind close_notify.
var errNotified = fmt.Errorf("write behind close_notify: %w", net.ErrClosed)

// Write writes p in records of at most 16 KiB. Behind CloseWrite its error is net.ErrClosed; an error of the transport
// is final. n is the number of bytes in the records that the transport took.
func (c *Conn) Write(p []byte) (n int, err error) {
	if err := c.writable(); err != nil {
		return 0, err
	}
	for n < len(p) {
		if c.answer || c.out.seq >= c.limit {
			if err := c.updateKey(); err != nil {
				return n, err
			}
		}
		m := min(len(p)-n, maxPlaintext)
		if err := c.writeRecord(typeApplicationData, p[n:n+m]); err != nil {
			return n, err
		}
		n += m
	}
	return n, nil
}

// CloseWrite writes close_notify. The second time it does nothing.
func (c *Conn) CloseWrite() error {
	if c.closed || c.writeErr != nil {
		return c.writeErr
	}
	c.closed = true
	return c.writeRecord(typeAlert, []byte{alertWarning, byte(alertCloseNotify)})
}

// writable returns the error of what is to be written, if it cannot be.
func (c *Conn) writable() error {
	if c.closed && c.writeErr == nil {
		return errNotified
	}
	return c.writeErr
}

// updateKey changes the key of what is written from now on (RFC 8446, section 4.6.3). That is also the answer to all
// KeyUpdates that have requested one.
func (c *Conn) updateKey() error {
	const notRequested = 0
	if err := c.writeRecord(typeHandshake, []byte{typeKeyUpdate, 0, 0, 1, notRequested}); err != nil {
		return err
	}
	c.answer = false
	if err := c.out.update(); err != nil {
		c.fail(err)
		return err
	}
	return nil
}

// writeRecord seals a record in the transport's room.
func (c *Conn) writeRecord(kind byte, content []byte) error {
	size := len(content) + 1 + tagLen
	record := c.transport.Room(recordHeader + size)
	record = append(record, typeApplicationData, versionMajor, versionMinor, byte(size>>8), byte(size))
	record = append(append(record, content...), kind)
	if _, err := c.transport.Write(c.out.seal(record)); err != nil {
		c.failed, c.writeErr = true, err
		return err
	}
	return nil
}
