package health

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// exchange is a step of a check: something to send, and something that the answer contains. Each may be empty.
type exchange struct{ send, expect []byte }

// exchangesOf returns the steps of a check.
func exchangesOf(c *config.Check) ([]exchange, error) {
	if len(c.Steps) == 0 {
		x, err := exchangeOf(&config.CheckStep{Send: c.Send, SendHex: c.SendHex, Expect: c.Expect, ExpectHex: c.ExpectHex})
		return []exchange{x}, err
	}
	all := make([]exchange, len(c.Steps))
	for i := range c.Steps {
		x, err := exchangeOf(&c.Steps[i])
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		all[i] = x
	}
	return all, nil
}

func exchangeOf(s *config.CheckStep) (x exchange, err error) {
	if x.send, err = payload(s.Send, s.SendHex); err != nil {
		return x, fmt.Errorf("send_hex: %w", err)
	}
	if x.expect, err = payload(s.Expect, s.ExpectHex); err != nil {
		return x, fmt.Errorf("expect_hex: %w", err)
	}
	return x, nil
}

func payload(text, digits string) ([]byte, error) {
	if text != "" {
		return []byte(text), nil
	}
	return hex.DecodeString(strings.Join(strings.Fields(digits), ""))
}

// converse performs the steps in order. If there are several, an error names the one that failed.
func (p *probe) converse(rw io.ReadWriter, steps []exchange) error {
	for i, x := range steps {
		if len(steps) > 1 {
			p.in = fmt.Sprintf("step %d: ", i+1)
		}
		p.hide(x.send)
		if err := p.send(rw, x.send); err != nil {
			return err
		}
		if err := p.expect(rw, x.expect); err != nil {
			return err
		}
	}
	return nil
}

// expect reads until want has arrived, and uses what has arrived up to its end.
func (p *probe) expect(r io.Reader, want []byte) error {
	if len(want) == 0 {
		return nil
	}
	from, end := 0, 0
	got, err := p.receive(r, answerLimit, func(got []byte) bool {
		if i := bytes.Index(got[from:], want); i >= 0 {
			end = from + i + len(want)
			return true
		}
		from = max(0, len(got)-len(want)+1)
		return false
	})
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("connection closed after %s, without %s", quote(p.redact(got)), quote(want))
	case errors.Is(err, io.ErrShortBuffer):
		return fmt.Errorf("the first %d bytes, %s, do not contain %s", len(got), quote(p.redact(got)), quote(want))
	}
	p.used += end
	return err
}

// minSecret is the shortest word that redact hides: shorter ones are no secrets, and would hide too much.
const minSecret = 4

// hide keeps the words of what is sent out of errors.
func (p *probe) hide(sent []byte) {
	p.hidden = append(p.hidden, bytes.FieldsFunc(sent, func(r rune) bool { return r <= ' ' })...)
}

// redact hides in an answer the password, or the words that were sent before, of which one may be a password: some
// servers quote the command that they refuse.
func (p *probe) redact(got []byte) []byte {
	for _, word := range p.hidden {
		if len(word) >= minSecret {
			got = bytes.ReplaceAll(got, word, []byte(config.Redacted))
		}
	}
	return got
}
