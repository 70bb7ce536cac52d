package handover

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

func sample() Frame {
	side, defaults := Server, config.NewBackend()
	settings := SettingsOf(&defaults)
	return Frame{
		Records: []Record{
			{
				ID: 1 << 40, Listener: plan.ListenerKey{Network: config.TCPNetwork, Bind: netip.MustParseAddrPort("[::]:80")},
				ListenerName: "web", Backend: "app", Server: serveraddr.IP(netip.MustParseAddrPort("10.0.0.1:80")),
				ServerName: "a", Settings: settings, Rested: 5, Age: time.Hour, Idle: time.Second,
				LastFrom: Server, Reset: &side,
				Identity: &Identity{Client: netip.MustParseAddrPort("1.2.3.4:5"), SNI: "example.com", Route: "r"},
				Log:      &Log{Peer: netip.MustParseAddrPort("1.2.3.4:5"), Phases: []time.Duration{1, -1, 3}, Attempts: 1},
				Sides: [2]Side{
					{TCP: true, Flow: EOF, Bytes: 7, Received: 8, TLS: TLSState(`{"secret":"abc"}`), Unsent: 3, Throttle: &Throttle{Refill: 1, Wait: 2}},
					{State: Gone, Flow: Broken, Bytes: 1 << 40, Piped: 9},
				},
			},
			{Server: serveraddr.Unix("/run/app"), Sides: [2]Side{{Unsent: 1}, {Unsent: 2}}},
			{},
			{Needs: []string{NeedsUDP}, Session: &Session{
				Client: netip.MustParseAddrPort("1.2.3.4:5"), Local: netip.MustParseAddr("::1"), PacketInfo: []byte{1}, Socket: 2,
				Destination: netip.MustParseAddrPort("[::1]:53"), Route: "r", Header: []byte("PROXY"), Left: time.Minute,
				Answered: time.Second, Logged: true, Datagrams: [2]uint64{1, 2}, Bytes: [2]uint64{3, 1 << 40}, Requests: 1,
				Responses: 2, Confirmed: true, Bound: true, IdleTimeout: time.Second, MostRequests: 2, ResponsesEach: 1,
			}},
		},
		Unsent: []byte("abcdef"), NoMoreSessions: true, Ends: []End{{7, "admin"}},
	}
}

// What is written is read again.
func TestFrame(t *testing.T) {
	want := sample()
	b, err := want.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(b) {
		if missing, err := Missing(b[:n]); missing <= 0 || err != nil || n >= prefix && missing != len(b)-n {
			t.Fatalf("of %d bytes, %d are there, and %d are missing, %v", len(b), n, missing, err)
		}
	}
	got, err := Decode(b)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
	}
	if n, unsent := got.Records[0].FDs(), got.Records[1].Unsent(); n != 4 || unsent != 3 {
		t.Errorf("%d descriptors, %d unsent bytes", n, unsent)
	}
	if text := fmt.Sprintf("%v %+v %#v", got, got.Records[0], got.Records[0].Sides[0].TLS); strings.Contains(text, "abc") {
		t.Errorf("the secret is printed: %s", text)
	}
	if r := &got.Records[3]; r.FDs() != 1 || r.Unknown() != "" {
		t.Errorf("%d descriptors, %q is unknown", r.FDs(), r.Unknown())
	}
}

// A version too far away is told from nonsense, and both are refused.
func TestRefused(t *testing.T) {
	f := sample()
	good, _ := f.Append(nil)
	for text, want := range map[string]error{
		`"version":1`: nil, `"version":0`: nil, `"version":2`: nil, `"version":3`: ErrVersion, `"version":"`: ErrMalformed,
	} {
		b := bytes.Replace(good, []byte(`"version":1`), []byte(text), 1)
		if len(b) != len(good) {
			b = append([]byte(nil), good...)
			b[prefix] = 'x'
		}
		if _, err := Decode(b); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
	f.Unsent = f.Unsent[1:]
	if b, _ := f.Append(nil); !decodes(b, ErrMalformed) {
		t.Error("a record has more bytes than the frame")
	}
	f.Unsent = []byte("abcdefg")
	if b, _ := f.Append(nil); !decodes(b, ErrMalformed) {
		t.Error("bytes belong to no record")
	}
}

func decodes(b []byte, want error) bool {
	_, err := Decode(b)
	return errors.Is(err, want)
}

// A record of a later version is read without what is not known, and refused if that is needed.
func TestLaterVersions(t *testing.T) {
	f := Frame{Records: []Record{{Needs: []string{NeedsTLS, "quic"}}}}
	b, _ := f.Append(nil)
	b = bytes.Replace(b, []byte(`"id":0`), []byte(`"xx":0`), 1)
	got, err := Decode(b)
	if err != nil || got.Records[0].Unknown() != "quic" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAnswer(t *testing.T) {
	want := Answer{Refused: map[int]string{3: "no room"}, Error: "why"}
	b, err := want.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(b) {
		if _, ok, err := DecodeAnswer(b[:n]); ok || err != nil {
			t.Fatalf("%d bytes of %d are an answer, %v", n, len(b), err)
		}
	}
	if got, ok, err := DecodeAnswer(b); !ok || err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"\xff\xff\xff\xff", "\x00\x00\x00\x01x"} {
		if _, _, err := DecodeAnswer([]byte(bad)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Whatever comes is read or refused, and what is read can be continued: its numbers are possible.
func FuzzDecode(f *testing.F) {
	s := sample()
	b, _ := s.Append(nil)
	f.Add(b)
	f.Add([]byte("\x00\x00\x00\x0d\x00\x00\x00\x00{\"version\":1}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := Missing(b); n < 0 || err != nil && n != 0 {
			t.Errorf("%d bytes are missing, %v", n, err)
		}
		got, err := Decode(b)
		if err != nil {
			return
		}
		unsent := 0
		for i := range got.Records {
			r := &got.Records[i]
			if n := r.FDs(); n < 1 || n > 6 || r.Session == nil && n == 1 || r.Unsent() < 0 {
				t.Errorf("%d descriptors", n)
			}
			unsent += r.Unsent()
		}
		if unsent != len(got.Unsent) {
			t.Errorf("%d bytes of %d belong to records", unsent, len(got.Unsent))
		}
		_, _, _ = DecodeAnswer(b)
	})
}
