package ads

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/discoverypb"
)

// FuzzResponses has a machine receive anything that can be decoded, in any order, on streams that end at any point.
// Each record of the input is what to do, a length, and the bytes of a response, or what is in one, see compact.
func FuzzResponses(f *testing.F) {
	seed := func(scripts ...string) {
		var input []byte
		for i, s := range scripts {
			r := read(s)
			bytes, err := proto.Marshal(r)
			if err != nil {
				f.Fatal(err)
			}
			input = append(input, byte(i)|16, byte(len(bytes)))
			input = append(input, bytes...)
		}
		f.Add(input)
	}
	seed("CDS 1 a=1 b=1", "EDS 2 a=1~5s a=1", "LDS 3 a=1! -b", "SDS 4 -a -a")
	seed("CDS 1 a=1", "CDS 2 a=1", "CDS 3 a=1", "CDS 4 a=1", "CDS 5 -a", "CDS 6 a=1~1s", "CDS 7 a=1!")
	f.Add([]byte{2, 3, 1, 65, 97, 128, 2, 0xc1, 0x81, 32, 4, 8, 9, 10, 0xc0, 65, 0, 1, 2, 3, 4, 10, 0})
	f.Fuzz(func(t *testing.T, input []byte) {
		z := &fuzzed{
			t: t, now: time.Unix(0, 0),
			m: New(Config{MaxResources: 8, Settle: time.Second}),
		}
		z.want(0)
		z.m.Begin(true)
		for len(input) >= 2 {
			what, n := input[0], min(int(input[1]), len(input)-2)
			z.step(what, input[2:2+n])
			input = input[2+n:]
		}
		z.rest()
	})
}

// fuzzed is a machine, and what it owes.
type fuzzed struct {
	t     *testing.T
	m     *Machine
	now   time.Time
	out   []*Update
	owed  []string // "TYPE nonce", in the order of Answer
	nonce int
}

// want has the resources of a bit set be wanted by name, and everything of the other types.
func (z *fuzzed) want(bits byte) {
	names := []string{}
	for i, n := range []string{"a", "b", "c", ""} {
		if bits>>i&1 == 0 {
			names = append(names, n)
		}
	}
	z.m.Want(z.now, Cluster, []string{Wildcard})
	z.m.Want(z.now, Endpoints, names)
	z.m.Want(z.now, Listener, []string{Wildcard, "x"})
	z.m.Want(z.now, Secret, names)
}

func (z *fuzzed) step(what byte, bytes []byte) {
	switch what >> 5 {
	case 0:
		z.want(what)
	case 1:
		z.m.End()
		z.owed = nil
		z.m.Begin(what&1 == 0)
	case 2:
		z.now = z.now.Add(time.Duration(what&31) * time.Second)
		z.m.Tick(z.now)
	case 3:
		z.m.Refresh(z.now, Endpoints, []string{"a", "b"})
	}
	if what&1 == 0 {
		z.send()
	}
	r := &Response{}
	if what&16 == 0 {
		r = compact(Types[what>>2&3], bytes)
	} else if err := proto.Unmarshal(bytes, r); err != nil {
		return
	}
	if r.TypeUrl == "" || what&2 == 0 {
		r.TypeUrl = string(Types[what>>2&3])
	}
	if r.Nonce == "" && what&4 == 0 {
		z.nonce++
		r.Nonce = fmt.Sprint(z.nonce)
	}
	u, err := z.m.Receive(z.now, r)
	switch {
	case err == nil:
		z.out = append(z.out, u)
	case errors.Is(err, ErrUnanswered):
		z.answer(what)
	case errors.Is(err, ErrNonce):
		if r.Nonce != "" && len(r.Nonce) <= MaxNonce {
			z.t.Fatalf("the nonce %q is not taken", r.Nonce)
		}
	case !errors.Is(err, ErrType):
		z.t.Fatal(err)
	}
	if what&8 == 0 {
		z.answer(what)
	}
	z.bounds()
}

// compact returns a response with a resource, a heartbeat or a removal for each byte.
func compact(t Type, bytes []byte) *Response {
	r := &Response{}
	for _, b := range bytes {
		name, version := string('a'+rune(b&7)), fmt.Sprint(b>>3&3)
		switch b >> 5 {
		case 0, 1, 2:
			r.Resources = append(r.Resources, resource(t, name, version))
		case 3:
			r.Resources = append(r.Resources, resource(t, name, version+"~5s"))
		case 4:
			r.Resources = append(r.Resources, resource(t, name, version+"~5s!"))
		case 5:
			r.Resources = append(r.Resources, resource("another", name, version))
		case 6:
			r.RemovedResources = append(r.RemovedResources, name)
		default:
			r.ResourceErrors = append(r.ResourceErrors, &discoverypb.ResourceError{
				ResourceName: &discoverypb.ResourceName{Name: name},
			})
		}
	}
	return r
}

// answer answers the oldest update, and refuses what the bits say.
func (z *fuzzed) answer(bits byte) {
	if len(z.out) == 0 {
		return
	}
	u := z.out[0]
	z.out = z.out[1:]
	refused := map[string]error{}
	for i, r := range u.Set {
		if bits>>(i%8)&1 == 0 {
			refused[r.Name] = errors.New(string(r.Body))
		}
	}
	if u.stream == z.m.stream {
		z.owed = append(z.owed, string(u.Type)+" "+u.nonce)
	}
	z.m.Answer(u, refused)
}

// send takes the requests that there are, and checks them.
func (z *fuzzed) send() {
	for range 1000 {
		r := z.m.Next(z.now)
		if r == nil {
			return
		}
		if _, err := proto.Marshal(r); err != nil {
			z.t.Fatal(err)
		}
		if text := r.GetErrorDetail().GetMessage(); len(text) > MaxText || !utf8.ValidString(text) {
			z.t.Fatalf("the text of a NACK: %q", text)
		}
		if r.GetResponseNonce() == "" {
			continue
		}
		i := slices.Index(z.owed, r.GetTypeUrl()+" "+r.GetResponseNonce())
		if i < 0 {
			z.t.Fatalf("an answer that is not owed: %v", r)
		}
		z.owed = slices.Delete(z.owed, i, i+1)
	}
	z.t.Fatal("requests without end")
}

// bounds checks that nothing grows without a bound.
func (z *fuzzed) bounds() {
	for _, s := range z.m.types {
		if len(s.names) > z.m.config.MaxResources || len(s.answers) > maxWaiting {
			z.t.Fatalf("%d names, %d answers", len(s.names), len(s.answers))
		}
		expire := 0
		for resource, n := range s.names {
			if len(resource) > MaxName || len(n.version) > MaxVersion || len(n.refused) > maxReason {
				z.t.Fatalf("%d bytes of a name, %d of a version, %d of a reason", len(resource), len(n.version), len(n.refused))
			}
			if !n.expires.IsZero() {
				expire++
			}
		}
		if expire != s.expire {
			z.t.Fatalf("%d of %d expire", expire, s.expire)
		}
	}
}

// rest has everything be answered.
func (z *fuzzed) rest() {
	for len(z.out) > 0 {
		z.answer(0)
		z.send()
	}
	z.now = z.now.Add(time.Hour)
	z.send()
	if len(z.owed) > 0 {
		z.t.Fatalf("never answered: %q", z.owed)
	}
	z.m.Tick(z.now)
	z.bounds()
}
