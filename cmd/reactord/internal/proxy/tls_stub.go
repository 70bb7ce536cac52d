package proxy

import (
	"errors"

	"github.com/reactord/reactord/sender/task"
)

// secure is TLS on one or both sides.
type secure struct{}

var errNoTLS = errors.New("no TLS")

// terminate does the handshake with the client.
func (c *conn) terminate(*task.T) error { return errNoTLS }

// originate does the handshake with the server.
func (c *conn) originate(*task.T) error { return errNoTLS }

// flowSecure begins to carry bytes, if there is TLS on a side.
func (c *conn) flowSecure() {}
