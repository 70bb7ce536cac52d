package tlsrecord

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// maxUseless bounds the records and messages in a row that bring no application data.
const maxUseless = 16

// Read reads application data of one record, or the rest of it. A record that fits into p, as it is on the wire without
// its header, is read into p and decrypted there; p may be overwritten to its end.
//
// It returns io.EOF behind close_notify, and also if the transport ends between records; the caller knows the
// transport, and so which of them it was. A transport that ends within a record is io.ErrUnexpectedEOF. An alert, of
// the peer or to it, is a *net.OpError with a tls.AlertError. All errors except os.ErrDeadlineExceeded are final.
func (c *Conn) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil && len(p) != 0 {
		switch {
		case c.to != 0:
			n = copy(p, c.buffer[c.from:c.to])
			if c.from += n; c.from == c.to {
				c.from, c.to = 0, 0
				c.releaseBuffer()
			}
		case c.readErr != nil:
			err = c.readErr
		default:
			n, err = c.readRecord(p)
		}
	}
	return n, err
}

// readRecord reads a record. If it has application data, these are n bytes of p, or else in the buffer.
func (c *Conn) readRecord(p []byte) (n int, err error) {
	body, err := c.receive(p)
	if err != nil {
		return 0, err
	}
	inner, err := c.in.open(c.header[:], body)
	if err != nil {
		return 0, c.abort(&violation{alertBadRecordMAC, "a record that is not authentic"})
	}
	kind, content, v := unpad(inner)
	if v == nil {
		v, err = c.handle(kind, content)
	}
	if v != nil {
		return 0, c.abort(v)
	}
	if c.ticket != nil {
		c.offerTicket(kind, inner)
	}
	switch {
	case kind != typeApplicationData || len(content) == 0:
		c.releaseBuffer()
	case c.buffer != nil:
		c.to = len(content)
	default:
		n = len(content)
	}
	return n, err
}

// receive reads the rest of a record, and returns its body: in p if that has room for all of it, or else in the buffer.
func (c *Conn) receive(p []byte) (body []byte, err error) {
	if c.have < recordHeader {
		if err := c.fill(c.header[c.have:]); err != nil {
			return nil, c.readFailed(err)
		}
		if v := checkHeader(c.header[:]); v != nil {
			return nil, c.abort(v)
		}
	}
	size := bodyLen(c.header[:])
	if c.buffer == nil && len(p) >= size {
		body = p[:size]
	} else {
		c.ensureBuffer()
		body = c.buffer[:size]
	}
	if err := c.fill(body[c.have-recordHeader:]); err != nil {
		c.keep(body[:c.have-recordHeader])
		return nil, c.readFailed(err)
	}
	c.have = 0
	return body, nil
}

// fill reads the next bytes of a record, until b is full.
func (c *Conn) fill(b []byte) error {
	for len(b) != 0 {
		n, err := c.transport.Read(b)
		c.have += n
		switch b = b[n:]; {
		case len(b) == 0: // the error is for the next Read
		case err != nil:
			return err
		case n == 0:
			return io.ErrNoProgress
		}
	}
	return nil
}

// keep keeps what has come of a body until there is more.
func (c *Conn) keep(body []byte) {
	switch {
	case len(body) == 0:
		c.releaseBuffer()
	case c.buffer == nil:
		c.ensureBuffer()
		copy(c.buffer[:], body)
	}
}

// readFailed notes an error of the transport, unless Read is to come again.
func (c *Conn) readFailed(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if err == io.EOF && c.have != 0 { //nolint:errorlint // as Read returns it
		err = io.ErrUnexpectedEOF
	}
	c.readErr = err
	return err
}

// handle handles what is in a record.
func (c *Conn) handle(kind byte, content []byte) (*violation, error) {
	switch {
	case kind != typeHandshake && len(c.hand) != 0:
		return &violation{alertUnexpectedMessage, "another record within a handshake message"}, nil
	case kind == typeApplicationData && len(content) != 0:
		c.useless = 0
		return nil, nil
	case kind == typeApplicationData:
		return c.countUseless(), nil
	case kind == typeHandshake:
		return c.handleHandshake(content), nil
	case kind == typeAlert:
		return c.handleAlert(content)
	}
	return &violation{alertUnexpectedMessage, fmt.Sprintf("a record of type %d", kind)}, nil
}

// countUseless counts what brings no application data.
func (c *Conn) countUseless() *violation {
	if c.useless++; c.useless > maxUseless {
		return &violation{alertUnexpectedMessage, "too many records without data"}
	}
	return nil
}
