package ads

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/discoverypb"
)

// ttl is the time to live of listeners, if the server limits it; it sends heartbeats far more often.
const (
	ttl       = time.Minute
	heartbeat = 5 * time.Second
)

// simServer is a control plane: it keeps the rules of the protocol that servers keep, and is free in all others.
type simServer struct {
	*world
	has      map[Type]map[string]string // bodies
	versions int                        // changes when it is started anew
	bodies   int

	// What kind it is.
	ignores bool // the versions that it is told
	scheme  int  // of versions: 0 a number that changes with each start, 1 of the content, 2 none
	tells   bool // "removed" as the answer to an unsubscription
	waits   bool // for the answer before the next response of a type
	storms  bool // immediately sends again what was refused
	splits  bool // what it has to say into several responses
	loose   bool // sends and removes what was not asked for
	limits  bool // the life of listeners

	types  map[Type]*simType
	nonce  int
	node   bool
	unsent map[string]bool // "TYPE nonce", not answered
	beat   time.Time
}

// simType is what a stream knows about a type.
type simType struct {
	whole    bool
	names    map[string]bool
	returned map[string]string // what the client was sent, as mark says
	removed  map[string]bool   // to be said
	last     []string          // the names of the last response
	fresh    bool              // nothing was sent yet
}

func (w *world) newServer() {
	s := &simServer{
		world: w, has: map[Type]map[string]string{}, versions: w.IntN(2), scheme: w.IntN(3), tells: w.one(2),
		waits: w.one(2), storms: w.one(4), splits: w.one(3), loose: w.one(3), limits: w.one(4),
	}
	if s.ignores = s.scheme == 2 || w.one(3); s.ignores {
		w.saw.ignoring++
	}
	w.server = s
	s.begin()
	for range w.IntN(10) {
		s.change()
	}
	w.tracef("server: %+v", *s)
}

func (s *simServer) begin() {
	s.types, s.nonce, s.node, s.unsent = map[Type]*simType{}, 0, false, map[string]bool{}
}

// behave ends what would never come to rest.
func (s *simServer) behave() { s.storms, s.loose = false, false }

// lives says whether what it sends expires.
func (s *simServer) lives() bool { return s.limits }

// change changes one resource.
func (s *simServer) change() {
	t := Types[s.IntN(len(Types))]
	if s.has[t] == nil {
		s.has[t] = map[string]string{}
	}
	name := fmt.Sprint("r", s.IntN(s.resources))
	if s.one(3) {
		delete(s.has[t], name)
		s.tracef("server: no %s %s", short(string(t)), name)
		return
	}
	s.bodies++
	kind := "good"
	switch s.IntN(8) {
	case 0, 1:
		kind = "bad"
	case 2:
		kind = "odd"
	}
	s.has[t][name] = fmt.Sprint(kind, s.IntN(3))
	s.tracef("server: %s %s=%s", short(string(t)), name, s.has[t][name])
}

func (s *simServer) version(body string) string {
	return [...]string{fmt.Sprint(s.versions, ".", body), body, ""}[s.scheme]
}

// mark is by what it knows whether the client has a resource: the version, or without versions the content.
func (s *simServer) mark(body string) string {
	if s.scheme == 2 {
		return body
	}
	return s.version(body)
}

// step reads some requests, and sends some response.
func (s *simServer) step() {
	for range s.IntN(3) {
		if len(s.up) == 0 {
			break
		}
		r := &Request{}
		if err := proto.Unmarshal(s.up[0], r); err != nil {
			failf("%v", err)
		}
		s.up = s.up[1:]
		s.request(r)
	}
	t := Types[s.IntN(len(Types))]
	if st := s.types[t]; st != nil && !(s.waits && s.waiting(t)) && s.one(2) {
		s.respond(t, st)
	}
}

func (s *simServer) waiting(t Type) bool {
	for key := range s.unsent {
		if strings.HasPrefix(key, string(t)+" ") {
			return true
		}
	}
	return false
}

// pending says whether there is something to read or to send.
func (s *simServer) pending() bool {
	if len(s.up) > 0 {
		return true
	}
	for t, st := range s.types {
		set, removed := s.differ(t, st)
		speaks := len(set)+len(removed) > 0 || st.fresh && st.whole
		if speaks && !(s.waits && s.waiting(t)) {
			return true
		}
	}
	return false
}

// request takes a request, and checks it.
func (s *simServer) request(r *Request) {
	t := Type(r.GetTypeUrl())
	if (r.GetNode() != nil) == s.node {
		failf("the node comes with another request than the first: %s", write(r))
	}
	s.node = true
	subscribe, unsubscribe := r.GetResourceNamesSubscribe(), r.GetResourceNamesUnsubscribe()
	versions := r.GetInitialResourceVersions()
	st := s.types[t]
	if nonce := r.GetResponseNonce(); nonce != "" {
		key := string(t) + " " + nonce
		if !s.unsent[key] || len(subscribe)+len(unsubscribe)+len(versions) > 0 {
			failf("an answer to nothing, or with more than an answer: %s", write(r))
		}
		delete(s.unsent, key)
		s.answered(st, r.GetErrorDetail())
		return
	}
	if st == nil {
		s.open(t, r)
		return
	}
	if len(subscribe)+len(unsubscribe) == 0 || len(versions) > 0 || r.GetErrorDetail() != nil {
		failf("a request that is empty, or has versions: %s", write(r))
	}
	for _, n := range subscribe {
		if st.names[n] || slices.Contains(unsubscribe, n) {
			failf("subscribed twice, or unsubscribed too: %s", write(r))
		}
		s.subscribe(t, st, n)
	}
	for _, n := range unsubscribe {
		if !st.names[n] {
			failf("unsubscribed without a subscription: %s", write(r))
		}
		delete(st.names, n)
		delete(st.returned, n)
		if s.tells {
			st.removed[n] = true
		}
	}
}

// open takes the first request of a type.
func (s *simServer) open(t Type, r *Request) {
	st := &simType{names: map[string]bool{}, returned: map[string]string{}, removed: map[string]bool{}, fresh: true}
	s.types[t] = st
	st.whole = len(r.GetResourceNamesSubscribe()) == 0
	if st.whole != (t == Cluster || t == Listener) || len(r.GetResourceNamesUnsubscribe()) > 0 {
		failf("the first request of the type: %s", write(r))
	}
	for n, version := range r.GetInitialResourceVersions() {
		if !st.whole && !slices.Contains(r.GetResourceNamesSubscribe(), n) {
			failf("a version of what is not subscribed: %s", write(r))
		}
		if !s.ignores {
			st.returned[n] = version
		}
	}
	for _, n := range r.GetResourceNamesSubscribe() {
		s.subscribe(t, st, n)
	}
}

// subscribe notes a name. Only a server that honours versions knows of what is gone that the client has it.
func (s *simServer) subscribe(t Type, st *simType, name string) {
	st.names[name] = true
	delete(st.removed, name)
	if _, exists := s.has[t][name]; !exists && s.ignores {
		st.removed[name] = true
	}
}

func (s *simServer) answered(st *simType, refused *discoverypb.Status) {
	if refused == nil {
		s.saw.acks++
		return
	}
	s.saw.nacks++
	if refused.GetMessage() == "" || refused.GetCode() == 0 {
		failf("a NACK without a reason: %v", refused)
	}
	if s.storms {
		for _, n := range st.last {
			delete(st.returned, n)
		}
	}
}

// differ returns what the client has to be sent.
func (s *simServer) differ(t Type, st *simType) (set, removed []string) {
	for n, body := range s.has[t] {
		if returned, ok := st.returned[n]; (st.whole || st.names[n]) && (!ok || returned != s.mark(body)) {
			set = append(set, n)
		}
	}
	for n := range st.returned {
		if _, exists := s.has[t][n]; !exists && !st.removed[n] {
			removed = append(removed, n)
		}
	}
	for n := range st.removed {
		removed = append(removed, n)
	}
	slices.Sort(set)
	slices.Sort(removed)
	return set, removed
}

// respond sends a response, if there is something to say.
func (s *simServer) respond(t Type, st *simType) {
	set, removed := s.differ(t, st)
	beats := s.limits && t == Listener && s.now.Sub(s.beat) >= heartbeat
	if len(set)+len(removed) == 0 && !beats && !(st.fresh && st.whole) {
		return
	}
	if s.splits && len(set)+len(removed) > 1 {
		set, removed = set[:s.IntN(len(set)+1)], removed[:s.IntN(len(removed)+1)]
	}
	st.fresh = false
	s.nonce++
	r := &Response{TypeUrl: string(t), Nonce: fmt.Sprint(s.nonce), RemovedResources: removed}
	for _, n := range set {
		body := s.has[t][n]
		st.returned[n] = s.mark(body)
		r.Resources = append(r.Resources, s.resource(t, n, body, true))
	}
	for _, n := range removed {
		delete(st.returned, n)
		delete(st.removed, n)
	}
	if beats {
		s.beat = s.now
		for n, mark := range st.returned {
			if !slices.Contains(set, n) && mark == s.mark(s.has[t][n]) && strings.HasPrefix(s.has[t][n], "good") {
				r.Resources = append(r.Resources, s.resource(t, n, s.has[t][n], false))
			}
		}
	}
	st.last = append(slices.Clone(set), removed...)
	if s.loose {
		if !st.whole {
			r.Resources = append(r.Resources, s.resource(t, "spam", "good", true))
		}
		r.RemovedResources = append(r.RemovedResources, "stranger", fmt.Sprint("gone", s.IntN(2)))
	}
	bytes, err := proto.Marshal(r)
	if err != nil {
		failf("%v", err)
	}
	s.tracef("<- %s %v: set %v, removed %v", short(string(t)), r.Nonce, r.Resources, r.RemovedResources)
	s.down = append(s.down, bytes)
	s.unsent[string(t)+" "+r.Nonce] = true
}

// resource returns a resource, or the heartbeat of one.
func (s *simServer) resource(t Type, name, body string, content bool) *discoverypb.Resource {
	r := &discoverypb.Resource{Name: name, Version: s.version(body)}
	if content {
		r.Resource = &anypb.Any{TypeUrl: string(t), Value: []byte(body)}
	}
	if s.limits && t == Listener {
		r.Ttl = durationpb.New(ttl)
	}
	return r
}

// compare compares what the client has with what it should have.
func (s *simServer) compare(t Type, c *simClient) {
	recognised := !s.ignores
	for n, body := range s.has[t] {
		if !c.wanted(t, n) {
			continue
		}
		if strings.HasPrefix(body, "bad") {
			if state := c.names(t)[n].state(); state != Refused && state != HeldRefused {
				failf("%s %s was refused, and is %v", short(string(t)), n, state)
			}
			continue
		}
		recognised = recognised || !strings.HasPrefix(body, "odd")
		if c.has[t][n] != body {
			failf("%s %s is %q, and the server has %q", short(string(t)), n, c.has[t][n], body)
		}
		if state := c.names(t)[n].state(); state != Held && !strings.HasPrefix(body, "odd") {
			failf("%s %s is held, and the machine says %v", short(string(t)), n, state)
		}
	}
	for n, body := range c.has[t] {
		if c.names(t)[n] == nil {
			failf("%s %s is %q, and the machine has forgotten it", short(string(t)), n, body)
		}
		_, exists := s.has[t][n]
		if exists || !recognised && c.of(t).everything() || !c.of(t).everything() && !c.names(t)[n].tellable() {
			continue
		}
		failf("%s %s is %q, and the server does not have it", short(string(t)), n, body)
	}
	if len(s.unsent) > 0 {
		failf("not answered: %v", s.unsent)
	}
}

func (c *simClient) names(t Type) map[string]*name { return c.of(t).names }
