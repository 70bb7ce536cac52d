package tlsrecord

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
)

// KeyLog takes the traffic secrets of one connection from crypto/tls: it is the tls.Config.KeyLogWriter of that
// connection alone.
type KeyLog struct {
	client, server []byte
}

// Write takes a line in the format of NSS: a label, the client's random, and the secret.
func (k *KeyLog) Write(line []byte) (int, error) {
	fields := bytes.Fields(line)
	if len(fields) != 3 {
		return 0, errors.New("not a line of a key log")
	}
	var secret *[]byte
	switch string(fields[0]) {
	case "CLIENT_TRAFFIC_SECRET_0":
		secret = &k.client
	case "SERVER_TRAFFIC_SECRET_0":
		secret = &k.server
	default:
		return len(line), nil
	}
	*secret = make([]byte, hex.DecodedLen(len(fields[2])))
	if _, err := hex.Decode(*secret, fields[2]); err != nil {
		return 0, err
	}
	return len(line), nil
}

// State returns the state of a connection behind the handshake that crypto/tls has done, as a client or as a server.
// crypto/tls has read no record behind it, and has written these bytes, of which the last records may be of the
// connection already: a server's session ticket. The suite is that of its tls.ConnectionState.
func (k *KeyLog) State(suite uint16, server bool, written []byte) (State, error) {
	in, out := k.server, k.client
	if server {
		in, out = k.client, k.server
	}
	s := State{
		Suite: suite, Server: server,
		In: Direction{Secret: bytes.Clone(in)}, Out: Direction{Secret: bytes.Clone(out)},
	}
	if err := s.check(); err != nil {
		return State{}, fmt.Errorf("behind the handshake: %w", err)
	}
	var err error
	s.Out.Sequence, err = countSealed(written, suite, out)
	return s, err
}

// Wipe forgets the secrets.
func (k *KeyLog) Wipe() {
	clear(k.client)
	clear(k.server)
	*k = KeyLog{}
}

// Format prints no secrets.
func (k KeyLog) Format(f fmt.State, _ rune) { fmt.Fprint(f, "traffic secrets") }

// countSealed returns how many records at the end of a stream are sealed with a secret, from sequence number 0 on. It
// finds the first of them by trial.
func countSealed(stream []byte, id uint16, secret []byte) (uint64, error) {
	suite, err := findSuite(id)
	if err != nil {
		return 0, err
	}
	h := half{suite: suite}
	if err := h.use(secret); err != nil {
		return 0, err
	}
	defer h.wipe()
	var records [][]byte
	for len(stream) >= recordHeader && len(stream) >= recordHeader+bodyLen(stream) {
		n := recordHeader + bodyLen(stream)
		records = append(records, stream[:n])
		stream = stream[n:]
	}
	if len(stream) != 0 {
		return 0, errors.New("the last record of the handshake is not whole")
	}
	for i := len(records) - 1; i >= 0 && checkHeader(records[i]) == nil; i-- {
		h.seq = 0
		if _, err := h.open(records[i][:recordHeader], bytes.Clone(records[i][recordHeader:])); err == nil {
			return uint64(len(records) - i), nil
		}
	}
	return 0, nil
}
