package ads

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/discoverypb"
)

// Requests and responses as tests write them:
//
//	CDS +a +b -c [a=1 b=2]   subscribes a and b, unsubscribes c, tells versions; "node" before it: with the node
//	CDS ack 7                an ACK of nonce 7
//	CDS nack 7: TEXT         a NACK
//	CDS 7 a=1 b=2 -c         a response with nonce 7: sets a and b, removes c
//	CDS 7 a=1~5s b=1!        a has a time to live; b has no content
var shorts = map[string]Type{"CDS": Cluster, "EDS": Endpoints, "LDS": Listener, "SDS": Secret}

func short(url string) string {
	for s, t := range shorts {
		if string(t) == url {
			return s
		}
	}
	return url
}

// write returns a request as tests write it.
func write(r *Request) string {
	words := []string{short(r.GetTypeUrl())}
	if r.GetNode() != nil {
		words = slices.Insert(words, 0, "node")
	}
	for _, n := range r.GetResourceNamesSubscribe() {
		words = append(words, "+"+n)
	}
	for _, n := range r.GetResourceNamesUnsubscribe() {
		words = append(words, "-"+n)
	}
	if len(r.GetInitialResourceVersions()) > 0 {
		var versions []string
		for _, n := range slices.Sorted(maps.Keys(r.GetInitialResourceVersions())) {
			versions = append(versions, n+"="+r.GetInitialResourceVersions()[n])
		}
		words = append(words, fmt.Sprint(versions))
	}
	switch {
	case r.GetErrorDetail() != nil:
		words = append(words, "nack", r.GetResponseNonce()+":", r.GetErrorDetail().GetMessage())
	case r.GetResponseNonce() != "":
		words = append(words, "ack", r.GetResponseNonce())
	}
	return strings.Join(words, " ")
}

// read returns a response that a test has written.
func read(script string) *Response {
	words := strings.Fields(script)
	t := shorts[words[0]]
	r := &Response{TypeUrl: string(t)}
	for _, w := range words[1:] {
		name, version, set := strings.Cut(w, "=")
		switch {
		case strings.HasPrefix(w, "-"):
			r.RemovedResources = append(r.RemovedResources, w[1:])
		case !set:
			r.Nonce = w
		default:
			r.Resources = append(r.Resources, resource(t, name, version))
		}
	}
	return r
}

// resource returns a resource: its content is its name and version.
func resource(t Type, name, version string) *discoverypb.Resource {
	version, ttl, limited := strings.Cut(version, "~")
	version, empty := strings.CutSuffix(version, "!")
	r := &discoverypb.Resource{Name: name, Version: version}
	if limited {
		ttl, bare := strings.CutSuffix(ttl, "!")
		d, err := time.ParseDuration(ttl)
		if err != nil {
			panic(err)
		}
		r.Ttl, empty = durationpb.New(d), empty || bare
	}
	if !empty {
		r.Resource = &anypb.Any{TypeUrl: string(t), Value: []byte(name + version)}
	}
	return r
}

// script drives a machine.
type script struct {
	*Machine
	t   *testing.T
	now time.Time
}

// begin returns a script whose stream has begun; wants are "TYPE name…".
func begin(t *testing.T, wants ...string) *script {
	s := &script{New(Config{Node: &corepb.Node{Id: "n"}}), t, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, w := range wants {
		s.want(w)
	}
	s.Begin(true)
	return s
}

// opened returns a script after its first requests.
func opened(t *testing.T, wants ...string) *script {
	s := begin(t, wants...)
	s.drain()
	return s
}

func (s *script) want(words string) {
	w := strings.Fields(words)
	s.Want(s.now, shorts[w[0]], w[1:])
}

// drain returns all requests that are to be sent now.
func (s *script) drain() []string {
	var sent []string
	for r := s.Next(s.now); r != nil; r = s.Next(s.now) {
		sent = append(sent, write(r))
		if len(sent) > 10_000 {
			s.t.Fatal("requests without end")
		}
	}
	return sent
}

// sends checks what is to be sent now.
func (s *script) sends(want ...string) {
	s.t.Helper()
	if got := s.drain(); !slices.Equal(got, want) {
		s.t.Fatalf("sent\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// gets has the machine receive a response.
func (s *script) gets(response string) *Update {
	s.t.Helper()
	u, err := s.Receive(s.now, read(response))
	if err != nil {
		s.t.Fatalf("%s: %v", response, err)
	}
	return u
}

// takes has the machine receive a response, and refuses the names.
func (s *script) takes(response string, refused ...string) []Refusal {
	s.t.Helper()
	return s.Answer(s.gets(response), refusing(refused...))
}

// refusing returns the refusal of names.
func refusing(names ...string) map[string]error {
	refused := map[string]error{}
	for _, n := range names {
		refused[n] = errors.New("bad")
	}
	return refused
}

// has checks what is set, removed and refused.
func (u *Update) has(t *testing.T, want string) {
	t.Helper()
	if got := u.write(); got != want {
		t.Fatalf("the update is %q, want %q", got, want)
	}
}

// write returns an update as "a=1 -b !c", sorted.
func (u *Update) write() string {
	var words []string
	for _, r := range u.Set {
		words = append(words, r.Name+"="+r.Version)
	}
	for _, n := range u.Removed {
		words = append(words, "-"+n)
	}
	for n := range u.Refused {
		words = append(words, "!"+n)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// after lets time pass, and returns what Tick says.
func (s *script) after(d time.Duration) string {
	s.now = s.now.Add(d)
	var said []string
	for _, u := range s.Tick(s.now) {
		said = append(said, short(string(u.Type))+" "+u.write())
	}
	return strings.Join(said, "; ")
}

// missing returns the names that are missing of a type.
func (s *script) missing(t Type) string {
	var names []string
	for _, m := range s.Missing(t) {
		names = append(names, m.Name)
	}
	return strings.Join(names, " ")
}

// state returns the state of a name, "none" if nothing is known about it.
func (s *script) state(t Type, name string) string {
	for n, state := range s.All(t) {
		if n == name {
			return state.String()
		}
	}
	return "none"
}

// reconnects ends the stream, and begins the next.
func (s *script) reconnects(sends ...string) {
	s.t.Helper()
	s.End()
	s.Begin(true)
	s.sends(sends...)
}
