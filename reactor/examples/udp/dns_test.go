package main

import (
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

var client = netip.MustParseAddr("198.51.100.7")

// query is a message with one question.
func query(name string, typ dnsmessage.Type) []byte {
	m := dnsmessage.Message{
		Header: dnsmessage.Header{ID: 4711, RecursionDesired: true},
		Questions: []dnsmessage.Question{
			{Name: dnsmessage.MustNewName(name), Type: typ, Class: dnsmessage.ClassINET},
		},
	}
	b, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return b
}

// reply is what an answer says: its code, and its addresses.
func reply(t *testing.T, b []byte) (code dnsmessage.RCode, addrs []string) {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(b); err != nil {
		t.Fatal(err)
	}
	if m.ID != 4711 || !m.Response {
		t.Errorf("not a reply to the query: %+v", m.Header)
	}
	for _, r := range m.Answers {
		switch body := r.Body.(type) {
		case *dnsmessage.AResource:
			addrs = append(addrs, netip.AddrFrom4(body.A).String())
		case *dnsmessage.AAAAResource:
			addrs = append(addrs, netip.AddrFrom16(body.AAAA).String())
		}
	}
	return m.RCode, addrs
}

func TestAnswer(t *testing.T) {
	for _, test := range []struct {
		name  string
		typ   dnsmessage.Type
		code  dnsmessage.RCode
		addrs []string
	}{
		{"hello.example.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, []string{"192.0.2.1"}},
		{"Hello.Example.", dnsmessage.TypeAAAA, dnsmessage.RCodeSuccess, []string{"2001:db8::1"}},
		{"whoami.example.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, []string{"198.51.100.7"}},
		{"whoami.example.", dnsmessage.TypeAAAA, dnsmessage.RCodeSuccess, nil},
		{"hello.example.", dnsmessage.TypeMX, dnsmessage.RCodeSuccess, nil},
		{"nothing.example.", dnsmessage.TypeA, dnsmessage.RCodeNameError, nil},
	} {
		code, addrs := reply(t, answer(nil, query(test.name, test.typ), client))
		if code != test.code || !slices.Equal(addrs, test.addrs) {
			t.Errorf("%s %v: %v %v, want %v %v", test.name, test.typ, code, addrs, test.code, test.addrs)
		}
	}
}

func TestNoQuery(t *testing.T) {
	q := query("hello.example.", dnsmessage.TypeA)
	response := slices.Clone(q)
	response[2] |= 0x80
	for _, b := range [][]byte{nil, q[:11], response, answer(nil, q, client)} {
		if got := answer(nil, b, client); got != nil {
			t.Errorf("the message %x gets the reply %x", b, got)
		}
	}
	if code, _ := reply(t, answer(nil, q[:len(q)-1], client)); code != dnsmessage.RCodeFormatError {
		t.Errorf("a query that is cut off gets %v", code)
	}
}

// Whatever arrives, what is sent back is a message, and a reply to it.
func FuzzAnswer(f *testing.F) {
	f.Add(query("hello.example.", dnsmessage.TypeA))
	f.Add(query("whoami.example.", dnsmessage.TypeAAAA))
	f.Add(append(query("hello.example.", dnsmessage.TypeA), 0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, in []byte) {
		out := answer(nil, in, client)
		if out == nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(out); err != nil || !m.Response || out[0] != in[0] || out[1] != in[1] {
			t.Errorf("%+v, %v", m, err)
		}
	})
}
