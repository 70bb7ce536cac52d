package proxy

import (
	"crypto/tls"
	"reflect"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/clienthello"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// ending is how TLS with clients ends, at a listener or for one of its routes. It does not change.
type ending struct {
	*tls.Config
	keys     *certs.Server
	settings *config.ServerTLS
}

// endings are those of a listener and its routes, each once.
type endings []*ending

// newEndings are those of a listener, whose own is first (nil: it has none), and of its routes.
func newEndings(own *ending, routes []route) (all endings) {
	known := map[*ending]bool{nil: true}
	add := func(e *ending) {
		if !known[e] {
			known[e] = true
			all = append(all, e)
		}
	}
	add(own)
	for i := range routes {
		add(routes[i].ends)
	}
	return all
}

// terminates is how TLS ends with these keys; nil: it does not. If it did so before, it is the same.
func (t *table) terminates(keys *certs.Server, c *config.ServerTLS, before endings) *ending {
	if keys == nil {
		return nil
	}
	for _, e := range before {
		if e.keys == keys && reflect.DeepEqual(e.settings, c) {
			return e
		}
	}
	e := &ending{keys.Config(c), keys, c}
	e.GetConfigForClient = e.offered
	t.tickets.Serve(keys, e.Config)
	return e
}

// offered notes what a client asks for, also for the log of a handshake that fails. It returns a configuration of the
// connection if the client may be verified; nil: the one of e stays.
func (e *ending) offered(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if err := clienthello.Check(hello.ServerName, len(hello.SupportedProtos)); err != nil {
		return nil, err
	}
	s, ok := hello.Conn.(*tlsSide)
	if ok {
		s.shake.left, s.shake.rest = s.shake.left+s.shake.rest, 0
		known := s.secure.conn.identify()
		known.Offered, known.SNI = hello.SupportedProtos, lowered(hello.ServerName)
	}
	if !ok || e.VerifyConnection == nil {
		return nil, nil //nolint:nilnil // the configuration stays
	}
	own := e.Clone()
	own.VerifyConnection = s.verifier(e.VerifyConnection)
	return own, nil
}

func lowered(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// originator is TLS with the servers of a backend, on one loop. It does not change.
type originator struct {
	client *certs.Client
	base   *tls.Config
}

// newOriginator is nil if there is no TLS with the servers.
func newOriginator(s *config.Backend, keys *certs.Client) *originator {
	if keys == nil {
		return nil
	}
	return &originator{keys, keys.Config(&s.TLS)}
}

// keys are those with which o was made. o may be nil.
func (o *originator) keys() *certs.Client {
	if o == nil {
		return nil
	}
	return o.client
}

// config is the configuration for a connection.
func (o *originator) config(c *conn) *tls.Config {
	out := o.base.Clone()
	if out.ServerName == "" {
		if out.ServerName = c.to.Host(); c.known != nil && c.known.TLS != nil && c.known.SNI != "" {
			out.ServerName = c.known.SNI
		}
	}
	if len(out.NextProtos) == 0 && c.known != nil && c.known.TLS != nil && c.known.Negotiated != "" {
		out.NextProtos = []string{c.known.Negotiated}
	}
	if verify := o.client.Verification(out.ServerName); verify != nil {
		out.VerifyConnection = c.secured(server).verifier(verify)
	}
	out.ClientSessionCache = sessions{o.base.ClientSessionCache, c.to.Address.String() + " "}
	return out
}

// sessions are the sessions with one server. Servers do not share the keys of their tickets.
type sessions struct {
	of     tls.ClientSessionCache
	prefix string
}

func (s sessions) Get(key string) (*tls.ClientSessionState, bool) { return s.of.Get(s.prefix + key) }
func (s sessions) Put(key string, state *tls.ClientSessionState)  { s.of.Put(s.prefix+key, state) }

// records are buffers for TLS records that are not in use.
type records struct {
	free  [][]byte
	plain []byte // what is decrypted only to be encrypted again
}

// recordsKept is how many buffers are kept.
const recordsKept = 128

func (r *records) get() []byte {
	if last := len(r.free) - 1; last >= 0 {
		b := r.free[last]
		r.free = r.free[:last]
		return b
	}
	return make([]byte, 0, recordBuffer)
}

// put takes a buffer back; nil is nothing.
func (r *records) put(b []byte) {
	if cap(b) == recordBuffer && len(r.free) < recordsKept {
		r.free = append(r.free, b[:0])
	}
}

// plain is a buffer that is free again when what is in it was encrypted.
func (w *worker) plain() []byte {
	if w.tlsRecords.plain == nil {
		w.tlsRecords.plain = make([]byte, maxRecord)
	}
	return w.tlsRecords.plain
}

// rotateTickets has all listeners use a new key for session tickets each day, until the proxy ends.
func (p *Proxy) rotateTickets() {
	for {
		next := p.tickets.Rotate(time.Now())
		p.serveTickets()
		t := time.NewTimer(max(time.Until(next), time.Second))
		select {
		case <-t.C:
		case <-p.ended:
			t.Stop()
			return
		}
	}
}

// serveTickets has the listeners use the keys that there are now.
func (p *Proxy) serveTickets() {
	p.planning.Lock()
	defer p.planning.Unlock()
	for _, l := range p.table.Load().listeners {
		for _, e := range l.settings.Load().endings {
			p.tickets.Serve(e.keys, e.Config)
		}
	}
}
