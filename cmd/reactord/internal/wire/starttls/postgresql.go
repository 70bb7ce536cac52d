package starttls

import (
	"encoding/binary"
	"fmt"
)

// The first packets of a PostgreSQL client have no type, but a length, which includes itself, and one of these codes.
const (
	pgHeader  = 8
	pgSSL     = 1234<<16 | 5679
	pgGSSENC  = 1234<<16 | 5680
	pgCancel  = 1234<<16 | 5678
	pgVersion = 3 // the upper half of the code of a startup message
)

// postgresServer answers a client.
func postgresServer(d *Dialogue, b []byte) (int, error) {
	if d.state == stateStart {
		d.state = stateHello
	}
	switch {
	case len(b) == 0:
		return 0, nil
	case b[0] == clientHello && d.units == 0:
		d.state = stateDone // TLS begins immediately
		return 0, nil
	case b[0] != 0:
		return 0, fmt.Errorf("%w: PostgreSQL does not begin with %q", ErrProtocol, b[:min(len(b), 16)])
	case len(b) < pgHeader:
		return 0, nil
	}
	length, code := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	switch {
	case code == pgSSL && length == pgHeader:
		if err := d.finish(b, pgHeader); err != nil {
			return 0, err
		}
		d.send("S")
		return pgHeader, nil
	case code == pgGSSENC && length == pgHeader:
		d.send("N")
		return pgHeader, nil
	case code == pgCancel:
		return 0, fmt.Errorf("%w: a request to cancel a query", ErrNoTLS)
	case code>>16 == pgVersion:
		d.send(pgWantsTLS)
		return 0, fmt.Errorf("%w: a startup message (sslmode=require is missing)", ErrNoTLS)
	}
	return 0, fmt.Errorf("%w: a packet of %d bytes with the code %d", ErrProtocol, length, code)
}

// pgWantsTLS is an ErrorResponse with code 28000, invalid_authorization_specification.
const pgWantsTLS = "E\x00\x00\x00\x4aSFATAL\x00VFATAL\x00C28000\x00" +
	"Mconnections need TLS here: use sslmode=require\x00\x00"

// postgresClient requests TLS from a server.
func postgresClient(d *Dialogue, b []byte) (int, error) {
	if d.state == stateStart {
		d.state = stateRequested
		d.send("\x00\x00\x00\x08\x04\xd2\x16\x2f") // the length and pgSSL
		return 0, nil
	}
	if len(b) == 0 {
		return 0, nil
	}
	switch b[0] {
	case 'S':
		return 1, d.finish(b, 1)
	case 'N':
		return 1, fmt.Errorf("%w: it has no TLS, or none for this client (answer N)", ErrRefused)
	case 'E':
		return 1, fmt.Errorf("%w: it answers with an error", ErrRefused)
	}
	return 0, fmt.Errorf("%w: PostgreSQL does not answer with %q", ErrProtocol, b[:min(len(b), 16)])
}
