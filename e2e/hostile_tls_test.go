package e2e

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"io"
	"math/big"
	"net"
	"slices"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// reencrypted returns a configuration with one listener that ends TLS, in front of servers with TLS whose name the
// client chooses, and the use of it by an innocent client.
func reencrypted(t *testing.T, servers int) (config string, use func(*daemon) error) {
	t.Helper()
	own := newPair(t, "good.test")
	config = fmt.Sprintf("listeners:\n  - name: tls\n    address: tcp://127.0.0.1:0\n    backend: app\n"+
		"    tls: {handshake_timeout: 2m, certificates: [{cert: %s}]}\n"+
		"backends:\n  - name: app\n    tls: {enabled: true, ca: %s}\n    servers:\n", own.both, own.cert)
	for range servers {
		config += "      - tcp://" + serve(t, func(c *net.TCPConn) {
			s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{own.loaded}})
			_, _ = io.Copy(s, s)
		}) + "\n"
	}
	return config, func(d *daemon) error {
		return echoTLS(d.addr, &tls.Config{RootCAs: own.pool, ServerName: "good.test"})
	}
}

// echoTLS has bytes echoed over TLS.
func echoTLS(addr string, c *tls.Config) error {
	tcp, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return err
	}
	defer tcp.Close()
	_ = tcp.SetDeadline(time.Now().Add(patience))
	secure := tls.Client(tcp, c)
	if _, err := secure.Write([]byte("ping")); err != nil {
		return err
	}
	_, err = io.ReadFull(secure, make([]byte, 4))
	return err
}

// TestHostileNames has a client ask for a name that no server has. No server is ejected for that, and each of its
// connections reaches one server only.
func TestHostileNames(t *testing.T) {
	const servers, connections = 4, 60
	config, use := reencrypted(t, servers)
	withstand(t, attack{config: config, use: use, run: func(t *testing.T, d *daemon) {
		for range connections {
			c := tls.Client(dial(t, d.addr), &tls.Config{InsecureSkipVerify: true, ServerName: "evil.test"})
			_, _ = c.Write([]byte("ping"))
			_, _ = c.Read(make([]byte, 1)) // until the daemon ends it
			c.Close()
		}
		checkBlameless(t, d, servers)
	}})
}

// recorder is a connection that keeps what is written to it, and has nothing to read.
type recorder struct {
	net.Conn
	bytes.Buffer
}

func (r *recorder) Read([]byte) (int, error)         { return 0, io.EOF }
func (r *recorder) Write(p []byte) (int, error)      { return r.Buffer.Write(p) }
func (r *recorder) Close() error                     { return nil }
func (r *recorder) SetDeadline(time.Time) error      { return nil }
func (r *recorder) SetWriteDeadline(time.Time) error { return nil }

// hello returns the ClientHello of crypto/tls.
func hello(name string, protocols []string) []byte {
	r := &recorder{}
	_ = tls.Client(r, &tls.Config{InsecureSkipVerify: true, ServerName: name, NextProtos: protocols}).Handshake()
	return r.Bytes()
}

// TestHostileHellos has 5 000 clients send as large a ClientHello as they may, without its end, or one of 32 000
// protocols. A client holds 64 KiB at most.
func TestHostileHellos(t *testing.T) {
	const clients, large, handshakeRecord = 5000, 500, 22
	config, use := reencrypted(t, 1)
	unfinished := hello("good.test", slices.Repeat([]string{"0123456789abcdef0123456789abcdef"}, 480))
	unfinished = unfinished[:min(len(unfinished), 16<<10)-1]
	many := hello("good.test", slices.Repeat([]string{"a"}, 32000))
	bound := cost{memory: clients * 64 << 10}
	withstand(t, attack{config: config, use: use, cost: bound, run: func(t *testing.T, d *daemon) {
		for i := range clients {
			c := dial(t, d.addr)
			if i%(clients/large) != 0 {
				_, _ = c.Write(unfinished)
				continue
			}
			_, _ = c.Write(many) // it may be refused by then
			var record [1]byte
			if _, err := c.Read(record[:]); err == nil && record[0] == handshakeRecord {
				t.Error("a ClientHello with 32 000 protocols is taken")
			}
		}
	}})
}

// costlyChain returns a certificate that 100 others, with RSA keys of 8192 bits and large exponents, may have signed: a
// verifier that tries each of them takes long to find out that none has. The moduli and the signature are random.
func costlyChain(t *testing.T) *tls.Certificate {
	t.Helper()
	const size = 8192 / 8
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "issuer"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	issue := func(public *rsa.PublicKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	random := func() []byte {
		b := make([]byte, size)
		_, _ = rand.Read(b)
		return b
	}
	var leaf struct {
		Signed, Algorithm asn1.RawValue
		Signature         asn1.BitString
	}
	if _, err := asn1.Unmarshal(issue(&key.PublicKey), &leaf); err != nil {
		t.Fatal(err)
	}
	signature := random()
	signature[0] = 0 // less than each modulus
	leaf.Signature = asn1.BitString{Bytes: signature, BitLength: 8 * size}
	der, err := asn1.Marshal(leaf)
	if err != nil {
		t.Fatal(err)
	}
	chain := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	for range 100 {
		modulus := random()
		modulus[0], modulus[size-1] = modulus[0]|0x80, modulus[size-1]|1
		chain.Certificate = append(chain.Certificate,
			issue(&rsa.PublicKey{N: new(big.Int).SetBytes(modulus), E: 1<<31 - 1}))
	}
	return chain
}

// TestHostileCertificates has clients show certificates that take long to verify. They are refused before that: no
// handshake has a long turn of its own.
func TestHostileCertificates(t *testing.T) {
	const handshakes, long = 10, 0.25
	own, costly := newPair(t, "good.test"), costlyChain(t)
	config := fmt.Sprintf("listeners:\n  - name: mutual\n    address: tcp://127.0.0.1:0\n    backend: app\n"+
		"    tls: {certificates: [{cert: %s}], client_auth: require, client_ca: %s}\n"+
		"backends: [{name: app, servers: ['tcp://%s']}]\n", own.both, own.cert, serve(t, echo))
	visit := func(d *daemon, shown *tls.Certificate) error {
		return echoTLS(d.addr, &tls.Config{RootCAs: own.pool, ServerName: "good.test",
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return shown, nil }})
	}
	use := func(d *daemon) error { return visit(d, &own.loaded) }
	withstand(t, attack{config: config, use: use, run: func(t *testing.T, d *daemon) {
		before := d.scrape().turnsBeyond(long)
		for range handshakes {
			if visit(d, costly) == nil {
				t.Error("a certificate of an unknown authority is accepted")
			}
		}
		if n := d.scrape().turnsBeyond(long) - before; n > handshakes/2 {
			t.Errorf("%d handshakes had %d turns of more than %v s", handshakes, n, long)
		}
	}})
}

// turnsBeyond returns how many turns of all loops took longer than a bound of the histogram, in seconds.
func (p page) turnsBeyond(bound float64) (n int) {
	p.t.Helper()
	for _, m := range p.series("reactord_reactor_slow_turn_seconds") {
		h := m.GetHistogram()
		i := slices.IndexFunc(h.GetBucket(), func(b *dto.Bucket) bool { return b.GetUpperBound() == bound })
		if i < 0 {
			p.t.Fatalf("no bucket of %v s", bound)
		}
		n += int(h.GetSampleCount() - h.GetBucket()[i].GetCumulativeCount())
	}
	return n
}
