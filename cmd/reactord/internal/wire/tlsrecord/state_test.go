package tlsrecord

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
)

// State that no connection has is refused.
func TestStatesRefused(t *testing.T) {
	_, _, clientSide, serverSide := pair(t)
	for name, c := range map[string]struct {
		change func(s *State)
		want   string
	}{
		"suite":          {func(s *State) { s.Suite = 0xc02b }, "not a cipher suite"},
		"no secret":      {func(s *State) { s.In.Secret = nil }, "secret of 0 bytes"},
		"short secret":   {func(s *State) { s.Out.Secret = s.Out.Secret[1:] }, "secret of 31 bytes"},
		"one secret":     {func(s *State) { s.Out.Secret = s.In.Secret }, "same secret"},
		"sequence":       {func(s *State) { s.In.Sequence = 1<<62 + 1 }, "sequence"},
		"failed":         {func(s *State) { s.Failed = true }, "failed"},
		"useless":        {func(s *State) { s.Useless = 17 }, "17 useless"},
		"negative":       {func(s *State) { s.Useless = -1 }, "-1 useless"},
		"partial, ended": {func(s *State) { s.Ended, s.Partial = true, []byte{23} }, "behind close_notify"},
		"plain, ended":   {func(s *State) { s.Ended, s.Plain = true, []byte{23} }, "behind close_notify"},
		"long plain":     {func(s *State) { s.Plain = zeros(maxPlaintext + 1) }, "16385 bytes"},
		"plain, partial": {func(s *State) { s.Plain, s.Partial = []byte{1}, []byte{23} }, "not read"},
		"plain, message": {func(s *State) { s.Plain, s.Handshake = []byte{1}, []byte{4} }, "not read"},
		"plain, useless": {func(s *State) { s.Plain, s.Useless = []byte{1}, 1 }, "not read"},
		"type":           {func(s *State) { s.Partial = []byte{22, 3, 3, 0, 9} }, "not encrypted"},
		"length":         {func(s *State) { s.Partial = []byte{23, 3, 3, 0xff, 0} }, "too long"},
		"whole record":   {func(s *State) { s.Partial = []byte{23, 3, 3, 0, 1, 1} }, "whole record"},
		"empty record":   {func(s *State) { s.Partial = []byte{23, 3, 3, 0, 0} }, "whole record"},
		"message":        {func(s *State) { s.Handshake = []byte{20, 0, 0, 9} }, "type 20"},
		"ticket":         {func(s *State) { s.Handshake = []byte{4, 0, 0, 9} }, "type 4"},
		"whole message":  {func(s *State) { s.Handshake = []byte{24, 0, 0, 1, 0} }, "whole handshake"},
	} {
		s := serverSide.state
		c.change(&s)
		if _, err := New(serverSide.end, s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(s *State){
		"nothing":        func(*State) {},
		"partial header": func(s *State) { s.Partial = []byte{23, 3} },
		"partial":        func(s *State) { s.Partial = []byte{23, 3, 3, 0, 2, 1} },
		"ticket":         func(s *State) { s.Handshake = []byte{4, 0, 0, 9} },
		"message":        func(s *State) { s.Handshake, s.Partial = []byte{24, 0}, []byte{23} },
		"plain":          func(s *State) { s.Plain = zeros(maxPlaintext) },
		"useless":        func(s *State) { s.Useless, s.Ended, s.Closed, s.Answer = 16, true, true, true },
	} {
		s := clientSide.state
		change(&s)
		if _, err := New(clientSide.end, s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A state is a copy, which the connection does not change, and wiping one leaves the other.
func TestStateIsCopy(t *testing.T) {
	client, server, _, serverSide := pair(t)
	if _, err := client.Write(zeros(100)); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	before, copied := server.State(), server.State()
	text, _ := json.Marshal(before)
	receive(server, make([]byte, 7))
	if _, err := server.Write(zeros(100)); err != nil {
		t.Fatal(err)
	}
	client.requestUpdate(t)
	receive(server, make([]byte, 7))
	if now, _ := json.Marshal(before); !bytes.Equal(now, text) || len(before.Plain) != 90 {
		t.Errorf("a state changes:\n%s\n%s", text, now)
	}
	c, err := New(serverSide.end, copied)
	if err != nil {
		t.Fatal(err)
	}
	secret, plain := copied.In.Secret, copied.Plain
	copied.Wipe()
	if !bytes.Equal(secret, zeros(len(secret))) || !bytes.Equal(plain, zeros(len(plain))) || copied.Plain != nil {
		t.Error("a wiped state has secrets")
	}
	if now, _ := json.Marshal(c.State()); !bytes.Equal(now, text) {
		t.Error("a state that is wiped changes its connection")
	}
}

// A wiped connection has no secrets, and cannot be used.
func TestWipe(t *testing.T) {
	client, server, _, serverSide := pair(t)
	if _, err := client.Write(zeros(100)); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	server.Wipe()
	_, readErr := server.Read(make([]byte, 10))
	_, writeErr := server.Write(make([]byte, 10))
	for _, err := range []error{readErr, writeErr, server.CloseWrite()} {
		if !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}
	s := server.State()
	if !bytes.Equal(append(s.In.Secret, s.Out.Secret...), zeros(64)) || len(s.Plain) != 0 || server.buffer != nil {
		t.Error("a wiped connection has secrets")
	}
	if _, err := New(serverSide.end, s); err == nil {
		t.Error("a wiped connection is continued")
	}
	log := serverSide.keys
	serverSide.keys.Wipe()
	if !bytes.Equal(append(log.client, log.server...), zeros(64)) || serverSide.keys.client != nil {
		t.Error("a wiped log has secrets")
	}
}

// No verb of fmt prints a secret, nor bytes of the connection, of a value, of a pointer, or of what has one.
func TestSecretsAreNotPrinted(t *testing.T) {
	client, server, _, serverSide := pair(t)
	if _, err := client.Write([]byte("content")); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s := server.State()
	secrets := [][]byte{s.In.Secret, s.Out.Secret, s.Plain, server.out.iv[:], []byte("ontent")}
	log := &serverSide.keys
	for _, v := range []any{
		s, &s, s.In, &s.In, server, *server, log, *log,
		struct{ S State }{s}, []Direction{s.In}, map[string]*State{"s": &s}, struct{ c *Conn }{server}, // wrapped
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "% x"} {
			text := strings.ToLower(fmt.Sprintf(verb, v))
			for _, secret := range secrets {
				for _, form := range []string{
					hex.EncodeToString(secret[:4]), fmt.Sprintf("% x", secret[:4]), string(secret[:4]),
					strings.Trim(fmt.Sprint(secret[:4]), "[]"), strings.Trim(fmt.Sprintf("%#v", secret[:4]), "[]byte{}"),
				} {
					if strings.Contains(text, strings.ToLower(form)) {
						t.Errorf("%s of a %T has a secret: %s", verb, v, text)
					}
				}
			}
		}
	}
	if got, want := fmt.Sprint(server), "server of TLS_AES_128_GCM_SHA256, record 1 in, 1 out"; got != want {
		t.Errorf("a connection is printed as %q, want %q", got, want)
	}
}
