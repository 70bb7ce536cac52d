package tlsrecord

import (
	"encoding/binary"
	"fmt"
)

// The messages behind a handshake (RFC 8446, section 4.6). Post-handshake authentication is not offered by crypto/tls.
const (
	typeNewSessionTicket = 4
	typeKeyUpdate        = 24
)

const (
	messageHeader = 4 // type, length
	maxTicket     = 64 << 10
	extEarlyData  = 42
)

// messageLen returns the length of a message, with its header, that begins with b. It checks what is known by then.
func messageLen(b []byte, server bool) (int, *violation) {
	size := int(b[1])<<16 | int(binary.BigEndian.Uint16(b[2:]))
	switch kind := b[0]; {
	case kind == typeKeyUpdate && size != 1:
		return 0, &violation{alertDecodeError, "a KeyUpdate of another length than 1"}
	case kind == typeKeyUpdate:
	case kind != typeNewSessionTicket || server:
		return 0, &violation{alertUnexpectedMessage, fmt.Sprintf("a handshake message of type %d", kind)}
	case size > maxTicket:
		return 0, &violation{alertInternalError, "a session ticket that is too long"}
	}
	return messageHeader + size, nil
}

// handleHandshake handles the messages that end in a record, and keeps the part of one that does not.
func (c *Conn) handleHandshake(content []byte) *violation {
	if len(content) == 0 {
		return &violation{alertUnexpectedMessage, "an empty handshake record"}
	}
	if len(c.hand) != 0 {
		c.hand = append(c.hand, content...)
		content = c.hand
	}
	for len(content) >= messageHeader {
		n, v := messageLen(content, c.server)
		if v == nil && n > len(content) {
			break
		}
		if v == nil {
			v = c.handleMessage(content[:n], n == len(content))
		}
		if v != nil {
			return v
		}
		content = content[n:]
	}
	if len(content) == 0 {
		c.hand = nil
	} else {
		c.hand = append(c.hand[:0], content...)
	}
	return nil
}

// handleMessage handles a message. last says that it ends with its record.
func (c *Conn) handleMessage(message []byte, last bool) *violation {
	if v := c.countUseless(); v != nil {
		return v
	}
	body := message[messageHeader:]
	switch {
	case message[0] == typeNewSessionTicket && !isTicket(body):
		return &violation{alertDecodeError, "a malformed NewSessionTicket"}
	case message[0] == typeNewSessionTicket:
		return nil
	case body[0] > 1:
		return &violation{alertIllegalParameter, "a malformed KeyUpdate"}
	case !last:
		return &violation{alertUnexpectedMessage, "more in the record of a KeyUpdate"}
	}
	c.ticket = nil
	c.answer = c.answer || body[0] == 1
	if err := c.in.update(); err != nil {
		return &violation{alertInternalError, "a KeyUpdate: " + err.Error()}
	}
	return nil
}

// isTicket reports whether b is the body of a NewSessionTicket (RFC 8446, section 4.6.1).
func isTicket(b []byte) bool {
	const lifetimeAndAge = 8
	if len(b) < lifetimeAndAge {
		return false
	}
	_, b, ok := cutPrefixed(b[lifetimeAndAge:], 1) // the nonce
	if ok {
		_, b, ok = cutPrefixed(b, 2) // the ticket
	}
	extensions, rest, ok2 := cutPrefixed(b, 2)
	if !ok || !ok2 || len(rest) != 0 {
		return false
	}
	for len(extensions) != 0 {
		if len(extensions) < 2 {
			return false
		}
		kind := binary.BigEndian.Uint16(extensions)
		data, rest, ok := cutPrefixed(extensions[2:], 2)
		if !ok || kind == extEarlyData && len(data) != 4 {
			return false
		}
		extensions = rest
	}
	return true
}

// cutPrefixed cuts off a field with a length prefix of size bytes.
func cutPrefixed(b []byte, size int) (field, rest []byte, ok bool) {
	if len(b) < size {
		return nil, nil, false
	}
	n := 0
	for _, digit := range b[:size] {
		n = n<<8 | int(digit)
	}
	if b = b[size:]; len(b) < n {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

// offerTicket gives a record to the function of OnTicket, or forgets that function. The record was opened in place: it
// is sealed again, to the same bytes.
func (c *Conn) offerTicket(kind byte, inner []byte) {
	if kind != typeHandshake || len(c.hand) != 0 {
		c.ticket = nil
		return
	}
	record := make([]byte, 0, recordHeader+len(inner)+tagLen)
	record = append(append(record, c.header[:]...), inner...)
	c.in.seq--
	c.ticket(c.in.seal(record))
}
