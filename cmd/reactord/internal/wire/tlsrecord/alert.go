package tlsrecord

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
)

// The levels of alerts.
const (
	alertWarning = 1
	alertFatal   = 2
)

// violation is what a peer has done that it may not do, and the alert for it.
type violation struct {
	alert tls.AlertError
	what  string
}

// The alerts for violations (RFC 8446, section 6.2).
const (
	alertUnexpectedMessage tls.AlertError = 10
	alertBadRecordMAC      tls.AlertError = 20
	alertRecordOverflow    tls.AlertError = 22
	alertIllegalParameter  tls.AlertError = 47
	alertDecodeError       tls.AlertError = 50
	alertProtocolVersion   tls.AlertError = 70
	alertInternalError     tls.AlertError = 80
)

// The alerts that are no errors.
const (
	alertCloseNotify  tls.AlertError = 0
	alertUserCanceled tls.AlertError = 90
)

// handleAlert handles an alert (RFC 8446, section 6). Its level says nothing.
func (c *Conn) handleAlert(content []byte) (*violation, error) {
	if len(content) != 2 {
		return &violation{alertUnexpectedMessage, "an alert of another length than 2"}, nil
	}
	switch alert := tls.AlertError(content[1]); alert {
	case alertCloseNotify:
		c.ended, c.readErr = true, io.EOF
		return nil, io.EOF
	case alertUserCanceled: // close_notify follows
		return c.countUseless(), nil
	default:
		err := &net.OpError{Op: "remote error", Err: alert}
		c.fail(err)
		return nil, err
	}
}

// abort ends the connection, and tells the peer why, unless we have sent close_notify.
func (c *Conn) abort(v *violation) error {
	if c.writeErr == nil && !c.closed {
		_ = c.writeRecord(typeAlert, []byte{alertFatal, byte(v.alert)})
	}
	err := fmt.Errorf("%w: the peer has sent %s", &net.OpError{Op: "local error", Err: v.alert}, v.what)
	c.fail(err)
	return err
}
