package proxy

import (
	"crypto/tls"
	"reflect"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/clienthello"
)

// tlsTermination configures the TLS termination of a listener or one of its routes. It is immutable.
type tlsTermination struct {
	*tls.Config
	keys   *certs.Server
	config *config.ServerTLS
	choose func(*tls.ClientHelloInfo) (*tls.Certificate, error) // the certificate
}

// tlsTerminations has the different ones of a listener and its routes.
type tlsTerminations []*tlsTermination

// newTerminations returns the terminations of a listener and of its routes, the listener's own first.
func newTerminations(own *tlsTermination, routes []route) (all tlsTerminations) {
	known := map[*tlsTermination]bool{nil: true}
	add := func(e *tlsTermination) {
		if !known[e] {
			known[e] = true
			all = append(all, e)
		}
	}
	add(own)
	for i := range routes {
		add(routes[i].termination)
	}
	return all
}

// termination returns how TLS ends with these keys, or nil without keys. If it has ended in the same way before, that
// termination stays.
func (t *table) termination(keys *certs.Server, c *config.ServerTLS, before tlsTerminations) *tlsTermination {
	if keys == nil {
		return nil
	}
	for _, e := range before {
		if e.keys == keys && reflect.DeepEqual(e.config, c) {
			return e
		}
	}
	e := &tlsTermination{Config: keys.Config(c), keys: keys, config: c}
	e.choose = e.GetCertificate
	e.GetConfigForClient, e.GetCertificate = e.configForClient, e.certificate
	t.tickets.Serve(keys, e.Config)
	return e
}

// configForClient notes what a client asks for, also for the log of a handshake that fails. It returns a configuration
// of the connection if the client may be verified, or if the keys are wanted, or else nil: the one of e stays.
func (t *tlsTermination) configForClient(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if err := clienthello.Check(hello.ServerName, len(hello.SupportedProtos)); err != nil {
		return nil, err
	}
	s, ok := hello.Conn.(*tlsSide)
	if ok {
		s.handshake.left, s.handshake.rest = s.handshake.left+s.handshake.rest, 0
		known := s.layer.conn.ensureIdentity()
		known.Offered, known.SNI = hello.SupportedProtos, normalizedName(hello.ServerName)
	}
	if !ok || t.VerifyConnection == nil && s.handshake.keys == nil {
		return nil, nil //nolint:nilnil // the configuration stays
	}
	own := t.Clone()
	if t.VerifyConnection != nil {
		own.VerifyConnection = s.offloadVerification(t.VerifyConnection)
	}
	if keys := s.handshake.keys; keys != nil {
		own.KeyLogWriter = keys
	}
	return own, nil
}

// certificate returns the certificate for a client.
func (t *tlsTermination) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c, err := t.choose(hello)
	if s, ok := hello.Conn.(*tlsSide); ok && err == nil {
		c = s.offloadKey(c)
	}
	return c, err
}

func normalizedName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// originator is TLS with the servers of a backend, on one loop. It does not change.
type originator struct {
	client *certs.Client
	base   *tls.Config
}

// newOriginator returns nil if the backend speaks no TLS with its servers.
func newOriginator(s *config.Backend, keys *certs.Client) *originator {
	if keys == nil {
		return nil
	}
	return &originator{keys, keys.Config(&s.TLS)}
}

// keys returns those that o was made with. o may be nil.
func (o *originator) keys() *certs.Client {
	if o == nil {
		return nil
	}
	return o.client
}

// config returns the configuration for a connection.
func (o *originator) config(c *conn) *tls.Config {
	out := o.base.Clone()
	if out.ServerName == "" {
		if out.ServerName = c.server.Host(); c.identity != nil && c.identity.TLS != nil && c.identity.SNI != "" {
			out.ServerName = c.identity.SNI
		}
	}
	if len(out.NextProtos) == 0 && c.identity != nil && c.identity.TLS != nil && c.identity.Negotiated != "" {
		out.NextProtos = []string{c.identity.Negotiated}
	}
	if verify := o.client.Verification(out.ServerName); verify != nil {
		out.VerifyConnection = c.tlsSide(server).offloadVerification(verify)
	}
	if len(out.Certificates) == 1 {
		out.Certificates = []tls.Certificate{*c.tlsSide(server).offloadKey(&out.Certificates[0])}
	}
	if keys := c.tlsSide(server).handshake.keys; keys != nil {
		out.KeyLogWriter = keys
	}
	out.ClientSessionCache = sessionCache{o.base.ClientSessionCache, c.server.Address.String() + " "}
	return out
}

// sessionCache has the TLS sessions with one server. Servers do not share the keys of their tickets.
type sessionCache struct {
	of     tls.ClientSessionCache
	prefix string
}

func (s sessionCache) Get(key string) (*tls.ClientSessionState, bool) {
	return s.of.Get(s.prefix + key)
}
func (s sessionCache) Put(key string, state *tls.ClientSessionState) { s.of.Put(s.prefix+key, state) }

// recordBuffers are buffers for TLS records that are not in use.
type recordBuffers struct {
	free  [][]byte
	plain []byte // what is decrypted only to be encrypted again
}

// recordsKept bounds the buffers that are kept.
const recordsKept = 128

func (r *recordBuffers) get() []byte {
	if last := len(r.free) - 1; last >= 0 {
		b := r.free[last]
		r.free = r.free[:last]
		return b
	}
	return make([]byte, 0, recordBuffer)
}

// put takes a buffer back; nil is nothing.
func (r *recordBuffers) put(b []byte) {
	if cap(b) == recordBuffer && len(r.free) < recordsKept {
		r.free = append(r.free, b[:0])
	}
}

// plainBuffer returns a buffer that is free again when its content was encrypted.
func (w *worker) plainBuffer() []byte {
	if w.tlsRecords.plain == nil {
		w.tlsRecords.plain = make([]byte, recordBuffer)
	}
	return w.tlsRecords.plain
}

// rotateTickets gives all listeners a new key for session tickets each day, until the proxy ends.
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

// serveTickets gives the current keys to the listeners.
func (p *Proxy) serveTickets() {
	p.planning.Lock()
	defer p.planning.Unlock()
	for _, l := range p.table.Load().listeners {
		for _, e := range l.settings.Load().terminations {
			p.tickets.Serve(e.keys, e.Config)
		}
	}
}
