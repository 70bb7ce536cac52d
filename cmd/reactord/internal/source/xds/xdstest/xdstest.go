// Package xdstest is a small control plane for tests: delta ADS over HTTP/2 without TLS.
package xdstest

import (
	"encoding/binary"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/ads"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/discoverypb"
)

// Server is a control plane. Its methods may be called from any goroutine.
type Server struct {
	URL string

	http *http.Server

	mu        sync.Mutex
	version   int
	resources map[ads.Type]map[string]*discoverypb.Resource
	changed   chan struct{} // closed and replaced on each change
	nacks     []string
	acks      int
	node      string
}

// New starts an empty control plane, which ends with the test.
func New(t *testing.T) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		URL: "http://" + l.Addr().String(), resources: map[ads.Type]map[string]*discoverypb.Resource{},
		changed: make(chan struct{}),
	}
	s.serve(l)
	t.Cleanup(s.Kill)
	return s
}

func (s *Server) serve(l net.Listener) {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	s.http = &http.Server{Handler: http.HandlerFunc(s.handle), Protocols: protocols, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = s.http.Serve(l) }()
}

// Kill closes all streams and the server.
func (s *Server) Kill() { _ = s.http.Close() }

// Again restarts the server after Kill, at the same address.
func (s *Server) Again(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", s.URL[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	s.serve(l)
}

// Set sets resources in one push for each type. A nil resource is removed.
func (s *Server) Set(kind ads.Type, all map[string]proto.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resources[kind] == nil {
		s.resources[kind] = map[string]*discoverypb.Resource{}
	}
	s.version++
	for name, m := range all {
		if m == nil {
			delete(s.resources[kind], name)
			continue
		}
		body, err := proto.Marshal(m)
		if err != nil {
			panic(err)
		}
		s.resources[kind][name] = &discoverypb.Resource{
			Name: name, Version: strconv.Itoa(s.version), Resource: &anypb.Any{TypeUrl: string(kind), Value: body},
		}
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// Answers returns the number of ACKs, the texts of the NACKs, and the last node id.
func (s *Server) Answers() (acks int, nacks []string, node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acks, s.nacks, s.node
}

// client has the subscriptions of a stream, and the resources that it has received.
type client struct {
	everything bool
	names      map[string]bool
	known      map[string]string // versions; "" for one that does not exist
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/grpc")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	requests := make(chan *discoverypb.DeltaDiscoveryRequest)
	go func() {
		defer close(requests)
		for {
			m := &discoverypb.DeltaDiscoveryRequest{}
			if read(r.Body, m) != nil {
				return
			}
			select {
			case requests <- m:
			case <-r.Context().Done():
				return
			}
		}
	}()
	clients := map[ads.Type]*client{}
	for nonce := 1; ; {
		s.mu.Lock()
		changed := s.changed
		for _, kind := range ads.Types {
			if answer := s.answer(kind, clients[kind]); answer != nil {
				answer.Nonce = strconv.Itoa(nonce)
				nonce++
				_ = write(w, answer)
			}
		}
		s.mu.Unlock()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case m, ok := <-requests:
			if !ok {
				return
			}
			s.take(m, clients)
		}
	}
}

// take handles a request.
func (s *Server) take(m *discoverypb.DeltaDiscoveryRequest, clients map[ads.Type]*client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id := m.GetNode().GetId(); id != "" {
		s.node = id
	}
	kind := ads.Type(m.GetTypeUrl())
	c := clients[kind]
	if c == nil {
		c = &client{names: map[string]bool{}, known: map[string]string{}}
		c.everything = len(m.GetResourceNamesSubscribe()) == 0
		maps.Copy(c.known, m.GetInitialResourceVersions())
		clients[kind] = c
	}
	for _, name := range m.GetResourceNamesSubscribe() {
		c.names[name] = true
	}
	for _, name := range m.GetResourceNamesUnsubscribe() {
		delete(c.names, name)
		delete(c.known, name)
	}
	switch {
	case m.GetResponseNonce() == "":
	case m.GetErrorDetail() != nil:
		s.nacks = append(s.nacks, m.GetErrorDetail().GetMessage())
	default:
		s.acks++
	}
}

// answer returns what a client does not have yet, or nil.
func (s *Server) answer(kind ads.Type, c *client) *discoverypb.DeltaDiscoveryResponse {
	if c == nil {
		return nil
	}
	m := &discoverypb.DeltaDiscoveryResponse{TypeUrl: string(kind)}
	for name, r := range s.resources[kind] {
		if (c.everything || c.names[name]) && c.known[name] != r.GetVersion() {
			c.known[name] = r.GetVersion()
			m.Resources = append(m.Resources, r)
		}
	}
	for name := range c.known {
		if s.resources[kind][name] == nil {
			delete(c.known, name)
			m.RemovedResources = append(m.RemovedResources, name)
		}
	}
	if len(m.GetResources())+len(m.GetRemovedResources()) == 0 {
		return nil
	}
	return m
}

func read(from io.Reader, m proto.Message) error {
	var head [5]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[1:]))
	if _, err := io.ReadFull(from, body); err != nil {
		return err
	}
	return proto.Unmarshal(body, m)
}

func write(w http.ResponseWriter, m proto.Message) error {
	body, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}
