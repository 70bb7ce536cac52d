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

// Operations with RSA keys and expensive verifications, which take more than a millisecond, run on worker threads. The
// handshake waits meanwhile, as it does for bytes, and the loop does not.

// handshakeJobs lets handshakes of a loop compute on so many worker threads.
type handshakeJobs struct {
	running int
	waiting fairQueue
}

// maxJobs bounds the worker threads of a loop that compute: a flood of handshakes takes one.
const maxJobs = 1

// begin waits until the handshake may use a worker thread. Then end must be called.
func (j *handshakeJobs) begin(h *handshake) error {
	if j.running < maxJobs {
		j.running++
		return nil
	}
	return j.waiting.wait(h) // who ends leaves its thread to the one that it serves
}

func (j *handshakeJobs) end() {
	if !j.waiting.serve() {
		j.running--
	}
}

// offload runs f on a worker thread, for the handshake of the side.
func offload[T any](s *tlsSide, f func() (T, error)) (v T, err error) {
	h, w := s.handshake, s.layer.conn.worker()
	if err := w.handshakeJobs.begin(h); err != nil {
		return v, err
	}
	defer w.handshakeJobs.end()
	return task.Await(h.t, sender.Timeout(
		withState(reactor.Offload(w.loop, f), new(reactor.OffloadOp[T])), w.loop.SleepUntil(h.deadline)))
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

// offloadKey returns the certificate with a key whose use is offloaded, if that is expensive.
func (s *tlsSide) offloadKey(c *tls.Certificate) *tls.Certificate {
	key, ok := c.PrivateKey.(*rsa.PrivateKey)
	if !ok {
		return c
	}
	own := *c
	own.PrivateKey = &offloadedKey{key, s}
	return &own
}

// offloadedKey is an RSA key, which takes a millisecond or more. crypto/tls uses it once, in the handshake: to sign, or
// before TLS 1.3 to decrypt, if the cipher suites without forward secrecy are allowed.
type offloadedKey struct {
	*rsa.PrivateKey
	side *tlsSide
}

// Sign implements [crypto.Signer].
func (k *offloadedKey) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	return offload(k.side, func() ([]byte, error) { return k.PrivateKey.Sign(random, digest, opts) })
}

// Decrypt implements [crypto.Decrypter].
func (k *offloadedKey) Decrypt(random io.Reader, message []byte, opts crypto.DecrypterOpts) ([]byte, error) {
	return offload(k.side, func() ([]byte, error) { return k.PrivateKey.Decrypt(random, message, opts) })
}
