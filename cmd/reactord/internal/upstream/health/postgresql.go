package health

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/starttls"
)

// Requests for authentication of PostgreSQL.
const (
	pgAuthOK            = 0
	pgAuthCleartext     = 3
	pgAuthSASL          = 10
	pgAuthSASLContinue  = 11
	pgAuthSASLFinal     = 12
	pgProtocolVersion30 = 3 << 16
)

// postgreSQL begins a session. If neither a role nor a password is set, it ends when the server asks for a login or
// grants one: a server that is starting, stopping or full answers with an error before. Else it logs in, and asks for
// the role. private tells that nobody else can read what is sent.
//
// Source: "Frontend/Backend Protocol" of PostgreSQL's manual.
func (p *probe) postgreSQL(rw io.ReadWriter, c *config.Check, private bool) error {
	p.in = "login: "
	if c.Password != "" {
		p.hidden = append(p.hidden, []byte(c.Password))
	}
	user := cmp.Or(c.User, "reactord")
	startup := binary.BigEndian.AppendUint32(make([]byte, 4), pgProtocolVersion30)
	startup = fmt.Appendf(startup, "user\x00%s\x00database\x00%s\x00application_name\x00reactord check\x00\x00", user,
		cmp.Or(c.Database, "postgres"))
	binary.BigEndian.PutUint32(startup, uint32(len(startup)))
	if err := p.send(rw, startup); err != nil {
		return err
	}
	if !wantsRole(c) && c.Password == "" {
		_, err := p.pgAwait(rw, 'R')
		return err
	}
	if err := p.pgLogin(rw, c.Password, private); err != nil {
		return err
	}
	if wantsRole(c) {
		if err := p.pgRole(rw, c); err != nil {
			return err
		}
	}
	return p.pgSend(rw, 'X', nil)
}

// pgLogin answers requests for authentication until the server is ready.
func (p *probe) pgLogin(rw io.ReadWriter, password string, private bool) error {
	var exchange *scram
	for {
		body, err := p.pgAwait(rw, 'R')
		if err != nil {
			return err
		}
		if len(body) < 4 {
			return errNotPostgreSQL
		}
		kind, rest := binary.BigEndian.Uint32(body), body[4:]
		if kind != pgAuthOK && password == "" {
			return errors.New("the server asks for a password: write password, or let this user in without (trust)")
		}
		var answer []byte
		switch {
		case kind == pgAuthOK:
			_, err := p.pgAwait(rw, 'Z')
			return err
		case kind == pgAuthCleartext && private:
			answer = append([]byte(password), 0)
		case kind == pgAuthCleartext:
			return errors.New("the server asks for the password in clear text: use TLS or SCRAM-SHA-256")
		case kind == pgAuthSASL && exchange == nil && bytes.Contains(rest, []byte("SCRAM-SHA-256\x00")):
			exchange = newSCRAM(password, p.offload)
			first := exchange.first()
			answer = binary.BigEndian.AppendUint32([]byte("SCRAM-SHA-256\x00"), uint32(len(first)))
			answer = append(answer, first...)
		case kind == pgAuthSASLContinue && exchange != nil && exchange.signature == nil: // once, because it costs time
			if answer, err = exchange.final(string(rest)); err != nil {
				return err
			}
		case kind == pgAuthSASLFinal && exchange != nil:
			if err := exchange.verify(string(rest)); err != nil {
				return err
			}
			continue
		default:
			return fmt.Errorf("the server asks for a kind of login that is not supported (%d): use trust or "+
				"SCRAM-SHA-256", kind)
		}
		if err := p.pgSend(rw, 'p', answer); err != nil {
			return err
		}
	}
}

// pgRole asks for the role.
func (p *probe) pgRole(rw io.ReadWriter, c *config.Check) error {
	p.in = "pg_is_in_recovery: "
	if err := p.pgSend(rw, 'Q', []byte("SELECT pg_is_in_recovery()\x00")); err != nil {
		return err
	}
	row, err := p.pgAwait(rw, 'D')
	if err != nil {
		return err
	}
	switch string(row) {
	case "\x00\x01\x00\x00\x00\x01f":
		return p.compareRole(c, config.Primary)
	case "\x00\x01\x00\x00\x00\x01t":
		return p.compareRole(c, config.Replica)
	}
	return errNotPostgreSQL
}

var errNotPostgreSQL = errors.New("the server does not speak PostgreSQL's protocol")

// pgAwait skips messages until one of a kind, and returns its body. An error of the server is an error.
func (p *probe) pgAwait(r io.Reader, kind byte) ([]byte, error) {
	for {
		head, err := p.take(r, 5)
		if err != nil {
			return nil, err
		}
		is, n := head[0], int64(binary.BigEndian.Uint32(head[1:]))-4
		if n < 0 || n > answerLimit || !bytes.ContainsRune([]byte("RSKZNTDCEv"), rune(is)) {
			return nil, fmt.Errorf("%w: %s", errNotPostgreSQL, quote(p.redact(head)))
		}
		body, err := p.take(r, int(n))
		switch {
		case err != nil:
			return nil, err
		case is == 'E':
			return nil, fmt.Errorf("the server answers with an error: %s", p.redact(pgMessage(body)))
		case is == kind:
			return body, nil
		}
	}
}

// pgMessage returns the severity, the code and the text of an error.
func pgMessage(body []byte) []byte {
	var parts [][]byte
	for field := range bytes.SplitSeq(body, []byte{0}) {
		if len(field) > 1 && bytes.ContainsRune([]byte("SCM"), rune(field[0])) {
			parts = append(parts, field[1:])
		}
	}
	return []byte(quote(bytes.Join(parts, []byte(" "))))
}

func (p *probe) pgSend(w io.Writer, kind byte, body []byte) error {
	message := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))
	return p.send(w, append(message, body...))
}

// requestTLS asks a PostgreSQL server for TLS.
func (p *probe) requestTLS(rw io.ReadWriter) error {
	p.in = "TLS: "
	d := starttls.NewClient("postgresql")
	for {
		used, out, done, err := d.Step(p.got[p.used:])
		p.used += used
		if err != nil || done {
			p.in = ""
			return err
		}
		if err := p.send(rw, out); err != nil {
			return err
		}
		if _, err := p.receive(rw, answerLimit, func([]byte) bool { return true }); err != nil {
			return err
		}
	}
}
