package starttls

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const (
	ssl     = "\x00\x00\x00\x08\x04\xd2\x16\x2f"
	gssenc  = "\x00\x00\x00\x08\x04\xd2\x16\x30"
	cancel  = "\x00\x00\x00\x10\x04\xd2\x16\x2e12345678"
	startup = "\x00\x00\x00\x11\x00\x03\x00\x00user\x00a\x00\x00"

	smtpGreets = "220 reactord ESMTP\r\n"
	smtpOffers = "250-reactord\r\n250 STARTTLS\r\n"
	smtpGo     = "220 2.0.0 Ready to start TLS\r\n"
	smtpFirst  = "530 5.7.0 Must issue a STARTTLS command first\r\n"
	imapGreets = "* OK [CAPABILITY IMAP4rev1 STARTTLS LOGINDISABLED] reactord\r\n"
	imapGo     = "a OK Begin TLS negotiation now\r\n"
	imapFirst  = "NO [PRIVACYREQUIRED] STARTTLS first\r\n"
	pop3Greets = "+OK reactord\r\n"
	pop3Go     = "+OK Begin TLS negotiation\r\n"
	ehlo       = "EHLO reactord\r\n"
)

// conversations are what a peer says, and what it is answered.
var conversations = []struct {
	name  string
	new   func(string) *Dialogue
	proto string
	in    string
	out   string // everything that was said
	err   error  // nil: done
	says  string
	left  string // what was not used
}{
	{"asked", NewServer, "postgresql", ssl, "S", nil, "", ""},
	{"GSSAPI first", NewServer, "postgresql", gssenc + ssl, "NS", nil, "", ""},
	{"TLS immediately", NewServer, "postgresql", "\x16\x03\x01\x00\x10\x01", "", nil, "", "\x16\x03\x01\x00\x10\x01"},
	{"TLS behind GSSAPI", NewServer, "postgresql", gssenc + "\x16\x03\x01", "N", ErrProtocol, `begin with "\x16\x03\x01"`,
		"\x16\x03\x01"},
	{"a startup message", NewServer, "postgresql", startup, pgWantsTLS, ErrNoTLS, "sslmode=require", startup},
	{"a cancel request", NewServer, "postgresql", cancel, "", ErrNoTLS, "cancel", cancel},
	{"injected", NewServer, "postgresql", ssl + "Q", "", ErrInjected, "1 bytes", ssl + "Q"},
	{"injected ClientHello", NewServer, "postgresql", ssl + "\x16\x03\x01", "", ErrInjected, "3 bytes",
		ssl + "\x16\x03\x01"},
	{"HTTP", NewServer, "postgresql", "GET / HTTP/1.1\r\n", "", ErrProtocol, `"GET / HTTP/1.1\r\n"`, "GET / HTTP/1.1\r\n"},
	{"another code", NewServer, "postgresql", "\x00\x00\x00\x08\x00\x00\x00\x02", "", ErrProtocol, "the code 2",
		"\x00\x00\x00\x08\x00\x00\x00\x02"},
	{"another length", NewServer, "postgresql", "\x00\x00\x00\x09\x04\xd2\x16\x2fx", "", ErrProtocol, "9 bytes",
		"\x00\x00\x00\x09\x04\xd2\x16\x2fx"},
	{"asked for GSSAPI only", NewServer, "postgresql", strings.Repeat(gssenc, 65), strings.Repeat("N", 65), ErrTooLong,
		"more than 64 lines", ""},

	{"agrees", NewClient, "postgresql", "S", ssl, nil, "", ""},
	{"refuses", NewClient, "postgresql", "N", ssl, ErrRefused, "answer N", ""},
	{"fails", NewClient, "postgresql", "E\x00\x00", ssl, ErrRefused, "an error", "\x00\x00"},
	{"injects", NewClient, "postgresql", "SS", ssl, ErrInjected, "1 bytes", "S"},
	{"is another", NewClient, "postgresql", "220 a\r\n", ssl, ErrProtocol, `"220 a\r\n"`, "220 a\r\n"},

	{"asked", NewServer, "smtp", "EHLO a\r\nSTARTTLS\r\n", smtpGreets + smtpOffers + smtpGo, nil, "", ""},
	{"asked immediately", NewServer, "smtp", "starttls\n", smtpGreets + smtpGo, nil, "", ""},
	{"other commands", NewServer, "smtp", "HELO a\r\nNOOP\r\nMAIL FROM:<a>\r\n\r\nRSET\r\nSTARTTLS now\r\nSTARTTLS \r\n",
		smtpGreets + "250 reactord\r\n250 2.0.0 OK\r\n" + smtpFirst + smtpFirst +
			"250 2.0.0 OK\r\n501 5.5.4 STARTTLS has no parameters\r\n" + smtpGo, nil, "", ""},
	{"QUIT", NewServer, "smtp", "QUIT\r\n", smtpGreets + "221 2.0.0 Bye\r\n", ErrNoTLS, "QUIT", ""},
	{"injected", NewServer, "smtp", "STARTTLS\r\nRSET\r\n", smtpGreets + "554 5.5.0 Nothing may follow STARTTLS\r\n",
		ErrInjected, "6 bytes", "RSET\r\n"},
	{"too long", NewServer, "smtp", strings.Repeat("a", MaxLine), smtpGreets, ErrTooLong, "more than 1024 bytes",
		strings.Repeat("a", MaxLine)},
	{"too many", NewServer, "smtp", strings.Repeat("NOOP\r\n", 65), smtpGreets + strings.Repeat("250 2.0.0 OK\r\n", 65),
		ErrTooLong, "more than 64 lines", ""},
	{"TLS immediately", NewServer, "smtp", "\x16\x03\x01", smtpGreets, ErrProtocol, "TLS begins without", "\x16\x03\x01"},
	{"a zero byte", NewServer, "smtp", "STARTTLS\x00\r\n", smtpGreets, ErrProtocol, "a zero byte", "STARTTLS\x00\r\n"},

	{"agrees", NewClient, "smtp", "220-a\r\n220 b\r\n250-a\r\n250-starttls\r\n250 SIZE\r\n220 go\r\n",
		ehlo + "STARTTLS\r\n", nil, "", ""},
	{"agrees in few words", NewClient, "smtp", "220\r\n250 STARTTLS\r\n220\r\n", ehlo + "STARTTLS\r\n", nil, "", ""},
	{"offers another", NewClient, "smtp", "220 a\r\n250-a\r\n250 STARTTLSX\r\n", ehlo, ErrRefused, "does not offer", ""},
	{"is closed", NewClient, "smtp", "554 no\r\n", "", ErrRefused, `greets with "554 no"`, ""},
	{"knows no EHLO", NewClient, "smtp", "220 a\r\n502 what\r\n", ehlo, ErrRefused, `EHLO with "502 what"`, ""},
	{"refuses", NewClient, "smtp", "220 a\r\n250 STARTTLS\r\n454 no\r\n", ehlo + "STARTTLS\r\n", ErrRefused, "454 no",
		""},
	{"injects", NewClient, "smtp", "220 a\r\n250 STARTTLS\r\n220 go\r\n250 x\r\n", ehlo + "STARTTLS\r\n", ErrInjected,
		"7 bytes", "250 x\r\n"},
	{"is another", NewClient, "smtp", "+OK\r\n", "", ErrProtocol, `no reply "+OK"`, ""},

	{"asked", NewServer, "imap", "a STARTTLS\r\n", imapGreets + imapGo, nil, "", ""},
	{"other commands", NewServer, "imap", "1 capability\r\n2 NOOP\r\n3 LOGIN a b\r\nxyz\r\n4 STARTTLS x\r\na starttls\r\n",
		imapGreets + "* CAPABILITY IMAP4rev1 STARTTLS LOGINDISABLED\r\n1 OK Done\r\n2 OK Done\r\n3 " + imapFirst +
			"* BAD A tag and a command are expected\r\n4 BAD STARTTLS has no arguments\r\n" + imapGo, nil, "", ""},
	{"LOGOUT", NewServer, "imap", "a LOGOUT\r\n", imapGreets + "* BYE Bye\r\na OK Done\r\n", ErrNoTLS, "LOGOUT", ""},
	{"a literal", NewServer, "imap", "a LOGIN {12+}\r\nb STARTTLS\r\n", imapGreets + "a " + imapFirst + "* BYE\r\n",
		ErrNoTLS, "literal", "b STARTTLS\r\n"},
	{"a tag that is none", NewServer, "imap", "a\x01 NOOP\r\n* NOOP\r\na STARTTLS\r\n",
		imapGreets + strings.Repeat("* BAD A tag and a command are expected\r\n", 2) + imapGo, nil, "", ""},
	{"injected", NewServer, "imap", "a STARTTLS\r\nb LOGIN c d\r\n",
		imapGreets + "a BAD Nothing may follow STARTTLS\r\n* BYE\r\n", ErrInjected, "13 bytes", "b LOGIN c d\r\n"},

	{"agrees", NewClient, "imap", "* OK [CAPABILITY IMAP4] a\r\n* OK still\r\nr1 OK go\r\n", "r1 STARTTLS\r\n", nil, "",
		""},
	{"refuses", NewClient, "imap", "* OK a\r\nr1 BAD what\r\n", "r1 STARTTLS\r\n", ErrRefused, `"r1 BAD what"`, ""},
	{"leaves", NewClient, "imap", "* OK a\r\n* BYE a\r\n", "r1 STARTTLS\r\n", ErrRefused, `"* BYE a"`, ""},
	{"does not greet", NewClient, "imap", "* BYE a\r\n", "", ErrRefused, `"* BYE a"`, ""},
	{"is logged in", NewClient, "imap", "* PREAUTH a\r\n", "", ErrRefused, "PREAUTH", ""},
	{"injects", NewClient, "imap", "* OK a\r\nr1 OK go\r\n* CAPABILITY\r\n", "r1 STARTTLS\r\n", ErrInjected, "14 bytes",
		"* CAPABILITY\r\n"},
	{"is another", NewClient, "imap", "220 a\r\n", "", ErrProtocol, `"220 a"`, ""},
	{"answers another", NewClient, "imap", "* OK a\r\nx OK\r\n", "r1 STARTTLS\r\n", ErrProtocol, `"x OK"`, ""},

	{"asked", NewServer, "pop3", "CAPA\r\nUSER a\r\nstls\r\n",
		pop3Greets + "+OK\r\nSTLS\r\n.\r\n-ERR STLS first\r\n" + pop3Go, nil, "", ""},
	{"QUIT", NewServer, "pop3", "QUIT\r\n", pop3Greets + "+OK Bye\r\n", ErrNoTLS, "QUIT", ""},
	{"injected", NewServer, "pop3", "STLS\r\nUSER a\r\n", pop3Greets + "-ERR Nothing may follow STLS\r\n", ErrInjected,
		"8 bytes", "USER a\r\n"},

	{"agrees", NewClient, "pop3", "+OK a\r\n+OK go\r\n", "STLS\r\n", nil, "", ""},
	{"refuses", NewClient, "pop3", "+OK a\r\n-ERR no\r\n", "STLS\r\n", ErrRefused, `"-ERR no"`, ""},
	{"injects", NewClient, "pop3", "+OK a\r\n+OK go\r\n+OK x\r\n", "STLS\r\n", ErrInjected, "7 bytes", "+OK x\r\n"},
	{"is another", NewClient, "pop3", "* OK a\r\n", "", ErrProtocol, `"* OK a"`, ""},

	{"greets", NewGreeted, "smtp", "220-a\r\n220 b\r\n250 x\r\n", "", nil, "", "250 x\r\n"},
	{"greets", NewGreeted, "imap", "* PREAUTH a\r\n", "", nil, "", ""},
	{"greets", NewGreeted, "pop3", "+OK a\r\n+OK b\r\n", "", nil, "", "+OK b\r\n"},
	{"is closed", NewGreeted, "smtp", "421 a\r\n", "", ErrRefused, "421 a", ""},
}

// converse says in to d: all together, or in pieces of n bytes. It returns what d said, and what it has not used. The
// pieces end where the dialogue does.
func converse(t *testing.T, d *Dialogue, in string, n int) (said, left string, err error) {
	t.Helper()
	var held []byte
	step := func() bool {
		used, out, done, e := d.Step(held)
		if used < 0 || used > len(held) {
			t.Fatalf("%d of %d bytes were used", used, len(held))
		}
		held, said, err = held[used:], said+string(out), e
		if !done && e == nil && len(held) >= MaxLine {
			t.Fatalf("it waits with %d bytes", len(held))
		}
		return done || e != nil
	}
	step()
	for piece := range slices.Chunk([]byte(in), n) {
		held = append(held, piece...)
		if step() {
			break
		}
	}
	if _, out, done, e := d.Step(held); len(out) > 0 || e != err || done != (d.state == stateDone) {
		t.Errorf("at the end: %q, %v, %v", out, done, e)
	}
	return said, string(held), err
}

func TestConversations(t *testing.T) {
	for _, c := range conversations {
		d := c.new(c.proto)
		role := map[bool]string{true: "server ", false: "client "}[d.keepGreeting]
		t.Run(c.proto+"/"+role+c.name, func(t *testing.T) {
			out, left, err := converse(t, d, c.in, len(c.in))
			if out != c.out {
				t.Errorf("said %q, want %q", out, c.out)
			}
			if left != c.left {
				t.Errorf("left %q, want %q", left, c.left)
			}
			if c.err == nil && (err != nil || d.state != stateDone) {
				t.Errorf("not done: %v", err)
			}
			if c.err != nil && (!errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v, want %v that says %q", err, c.err, c.says)
			}
			if c.err == ErrInjected {
				return // in pieces, the connection's TLS finds out
			}
			for n := 1; n <= min(len(c.in), 40); n++ {
				out, _, err := converse(t, c.new(c.proto), c.in, n)
				if out != c.out || (err == nil) != (c.err == nil) || c.err != nil && !errors.Is(err, c.err) {
					t.Errorf("in pieces of %d: %q, %v", n, out, err)
				}
			}
		})
	}
}

func TestProtocols(t *testing.T) {
	for _, p := range []string{"", "none", "mysql"} {
		if NewServer(p) != nil || NewClient(p) != nil || NewGreeted(p) != nil {
			t.Errorf("%q is a protocol", p)
		}
	}
	if NewGreeted("postgresql") != nil {
		t.Error("PostgreSQL greets")
	}
}

func TestGreeting(t *testing.T) {
	for proto, in := range map[string]string{
		"smtp": "220-a\r\n220 b\r\n|250 STARTTLS\r\n220 go\r\n",
		"imap": "* OK a\n|r1 OK go\r\n",
		"pop3": "+OK <1@a>\r\n|+OK\r\n",
	} {
		d := NewClient(proto)
		greeting, rest, _ := strings.Cut(in, "|")
		if _, _, err := converse(t, d, greeting+rest, 1000); err != nil || string(d.Greeting()) != greeting {
			t.Errorf("%s: %q, %v", proto, d.Greeting(), err)
		}
	}
}

// TestBothSides lets the sides of each protocol talk to each other.
func TestBothSides(t *testing.T) {
	for proto := range protocols {
		client, server := NewClient(proto), NewServer(proto)
		var toServer, toClient []byte
		serverDone, clientDone := false, false
		for range 20 {
			used, out, done, err := server.Step(toServer)
			if err != nil {
				t.Fatal(proto, err)
			}
			toServer, toClient, serverDone = toServer[used:], append(toClient, out...), done
			used, out, done, err = client.Step(toClient)
			if err != nil {
				t.Fatal(proto, err)
			}
			toClient, toServer, clientDone = toClient[used:], append(toServer, out...), done
		}
		if !serverDone || !clientDone || len(toServer)+len(toClient) > 0 {
			t.Errorf("%s: server %v, client %v, %q %q", proto, serverDone, clientDone, toServer, toClient)
		}
	}
}

// FuzzDialogue says anything to a side: what it says does not depend on how the bytes are cut, except that bytes behind
// the end of a dialogue are refused when they come with it.
func FuzzDialogue(f *testing.F) {
	sides := []struct {
		new   func(string) *Dialogue
		proto string
	}{
		{NewServer, "postgresql"}, {NewServer, "smtp"}, {NewServer, "imap"}, {NewServer, "pop3"},
		{NewClient, "postgresql"}, {NewClient, "smtp"}, {NewClient, "imap"}, {NewClient, "pop3"},
		{NewGreeted, "smtp"}, {NewGreeted, "imap"}, {NewGreeted, "pop3"},
	}
	for _, c := range conversations {
		for i, side := range sides {
			if side.proto == c.proto {
				f.Add(uint8(i), uint8(3), c.in)
			}
		}
	}
	f.Fuzz(func(t *testing.T, side, piece uint8, in string) {
		s := sides[int(side)%len(sides)]
		whole, cut := s.new(s.proto), s.new(s.proto)
		out, left, err := converse(t, whole, in, max(len(in), 1))
		out2, left2, err2 := converse(t, cut, in, 1+int(piece))
		if len(whole.greeting) > MaxLine*MaxLines {
			t.Fatalf("a greeting of %d bytes", len(whole.greeting))
		}
		if errors.Is(err, ErrInjected) {
			if err2 != nil && !errors.Is(err2, ErrInjected) {
				t.Fatalf("%v; in pieces %v", err, err2)
			}
			return
		}
		if out != out2 || whole.state != cut.state || (err == nil) != (err2 == nil) {
			t.Fatalf("%q %q %v; in pieces %q %q %v", out, left, err, out2, left2, err2)
		}
	})
}
