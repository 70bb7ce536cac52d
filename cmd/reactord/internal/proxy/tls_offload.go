package proxy

import (
	"crypto"
	"crypto/rsa"
	"crypto/tls"
	"io"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// What a handshake computes for more than a millisecond or so is offloaded to a worker thread. The handshake waits
// meanwhile, as it does for bytes, and the loop does not.

// offload runs f on a worker thread, for the handshake of the side.
func offload[T any](s *tlsSide, f func() (T, error)) (T, error) {
	h, loop := s.handshake, s.layer.conn.loop()
	return task.Await(h.t, sender.Timeout(
		withState(reactor.Offload(loop, f), new(reactor.OffloadOp[T])), loop.SleepUntil(h.deadline)))
}

// offloadVerification returns a function that verifies the certificates of the peer, offloaded if that is expensive.
func (s *tlsSide) offloadVerification(verify func(tls.ConnectionState) error) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		if !certs.Dear(state.PeerCertificates) {
			return verify(state)
		}
		_, err := offload(s, func() (struct{}, error) { return struct{}{}, verify(state) })
		return err
	}
}

// offloadKey returns the certificate with a key whose signatures are offloaded, if they are expensive.
func (s *tlsSide) offloadKey(c *tls.Certificate) *tls.Certificate {
	key, ok := c.PrivateKey.(*rsa.PrivateKey)
	if !ok {
		return c
	}
	own := *c
	own.PrivateKey = &offloadedKey{key, s}
	return &own
}

// offloadedKey is an RSA key, whose signatures take a millisecond or more. crypto/tls signs once, in the handshake.
type offloadedKey struct {
	*rsa.PrivateKey
	side *tlsSide
}

// Sign implements [crypto.Signer].
func (k *offloadedKey) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	return offload(k.side, func() ([]byte, error) { return k.PrivateKey.Sign(random, digest, opts) })
}
