package health

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Packets of MySQL.
const (
	mysqlOK       = 0x00
	mysqlVersion  = 10 // of the protocol; begins the greeting
	mysqlSwitch   = 0xfe
	mysqlErr      = 0xff
	mysqlPassword = "mysql_native_password" // with an empty password, the answer to any challenge is empty
)

// mySQL receives the greeting. With a user, it logs in without a password, so that the server does not count the check
// as an interrupted handshake (max_connect_errors).
//
// Source: "Client/Server Protocol, Connection Phase" of MySQL's documentation.
func (p *probe) mySQL(rw io.ReadWriter, c *config.Check) error {
	p.in = "greeting: "
	body, _, err := p.mysqlPacket(rw)
	if err != nil {
		return err
	}
	if body[0] != mysqlVersion || bytes.IndexByte(body, 0) < 2 {
		return fmt.Errorf("the server does not greet as MySQL does: %s", quote(body))
	}
	if c.User == "" {
		return nil
	}
	p.in = "login: "
	if err := p.send(rw, mysqlLogin(c.User)); err != nil {
		return err
	}
	for range 2 {
		body, number, err := p.mysqlPacket(rw)
		switch {
		case err != nil:
			return err
		case body[0] == mysqlOK:
			return p.send(rw, []byte("\x01\x00\x00\x00\x01")) // COM_QUIT
		case body[0] != mysqlSwitch:
			return fmt.Errorf("the server answers %s", quote(body))
		}
		// Another plugin, whose answer is empty, too, for an empty password.
		if err := p.send(rw, []byte{0, 0, 0, number + 1}); err != nil {
			return err
		}
	}
	return fmt.Errorf("the user %q needs a password, which this check has none of", c.User)
}

// mysqlPacket receives a packet of at least one byte, and returns its body and its number. One with an error is an
// error.
func (p *probe) mysqlPacket(r io.Reader) ([]byte, byte, error) {
	head, err := p.take(r, 4)
	if err != nil {
		return nil, 0, err
	}
	n, number := int(head[0])|int(head[1])<<8|int(head[2])<<16, head[3]
	if n == 0 || n > answerLimit-4 {
		return nil, 0, fmt.Errorf("a packet of %d bytes: the server does not speak MySQL's protocol", n)
	}
	body, err := p.take(r, n)
	if err != nil {
		return nil, 0, err
	}
	if body[0] == mysqlErr && n >= 3 {
		code := binary.LittleEndian.Uint16(body[1:])
		return nil, 0, fmt.Errorf("the server answers with error %d: %s", code, quote(body[3:]))
	}
	return body, number, nil
}

// mysqlLogin returns a HandshakeResponse41 of a user without a password, as packet 1.
func mysqlLogin(user string) []byte {
	const (
		protocol41       = 0x00000200
		secureConnection = 0x00008000
		pluginAuth       = 0x00080000
		utf8             = 33
	)
	b := binary.LittleEndian.AppendUint32(make([]byte, 4), protocol41|secureConnection|pluginAuth)
	b = binary.LittleEndian.AppendUint32(b, 1<<24)
	b = append(b, utf8)
	b = append(b, make([]byte, 23)...)
	b = append(b, user...)
	b = append(b, 0, 0) // the end of the user, and an empty password
	b = append(append(b, mysqlPassword...), 0)
	n := len(b) - 4
	b[0], b[1], b[3] = byte(n), byte(n>>8), 1
	return b
}
