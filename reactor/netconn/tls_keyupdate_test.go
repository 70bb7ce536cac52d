//go:build linux

package netconn_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender/task"
)

// recordWriter writes records of TLS 1.3 by hand (RFC 8446, sections 5.2 and 7), because crypto/tls has no way to send
// a KeyUpdate.
type recordWriter struct {
	t      testing.TB
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	seq    uint64
}

func (w *recordWriter) expand(label string, n int) []byte {
	info := binary.BigEndian.AppendUint16(nil, uint16(n))
	info = append(info, byte(len("tls13 "+label)))
	info = append(append(info, "tls13 "+label...), 0)
	b, err := hkdf.Expand(sha256.New, w.secret, string(info), n)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// use makes secret the one of the records that follow.
func (w *recordWriter) use(secret []byte) {
	w.secret, w.seq = secret, 0
	block, err := aes.NewCipher(w.expand("key", 16))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.aead, err = cipher.NewGCM(block); err != nil {
		w.t.Fatal(err)
	}
	w.iv = w.expand("iv", 12)
}

// record is an encrypted record.
func (w *recordWriter) record(kind byte, content []byte) []byte {
	nonce := bytes.Clone(w.iv)
	for i := range 8 {
		nonce[4+i] ^= byte(w.seq >> (56 - 8*i))
	}
	w.seq++
	header := binary.BigEndian.AppendUint16([]byte{23, 3, 3}, uint16(len(content)+1+w.aead.Overhead()))
	return w.aead.Seal(header, nonce, append(bytes.Clone(content), kind), header)
}

// keyUpdate is a KeyUpdate that requests one of the other side. Behind it the next secret is in use.
func (w *recordWriter) keyUpdate() []byte {
	r := w.record(22, []byte{24, 0, 0, 1, 1})
	w.use(w.expand("traffic upd", 32))
	return r
}

// A KeyUpdate, which Read answers, arrives while a Write waits for the peer to read. Then Read continues, and all that
// was written arrives, with the old key and the new one.
func TestKeyUpdateWhileWriteWaits(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		const size = 32 << 20
		var written atomic.Bool
		heard := make(chan string, 1)
		handshaken := make(chan struct{})
		raw, wait := l.withConn(func(tk *task.T, c *netconn.Conn) error {
			s := netconn.Server(c, serverConfig(t))
			if err := s.Handshake(); err != nil {
				return err
			}
			close(handshaken)
			wrote := make(chan error, 1)
			l.Spawn(task.New(func(writer *task.T) error {
				_, err := s.WriteIn(writer, make([]byte, size))
				written.Store(true)
				wrote <- err
				return nil
			}))
			b := make([]byte, 5)
			for range 3 {
				if _, err := io.ReadFull(s, b); err != nil {
					return err
				}
				heard <- string(b)
			}
			_, err := task.Await(tk, reactor.Offload(l.Loop, func() (struct{}, error) { return struct{}{}, <-wrote }))
			if err != nil {
				t.Errorf("the Write that waited: %v", err)
			}
			return s.Close()
		})
		var keys strings.Builder
		cfg := clientConfig()
		cfg.KeyLogWriter = &keys
		peer := tls.Client(raw, cfg)
		if err := peer.Handshake(); err != nil {
			t.Fatal(err)
		}
		if id := peer.ConnectionState().CipherSuite; id != tls.TLS_AES_128_GCM_SHA256 {
			t.Skipf("the cipher suite is %s", tls.CipherSuiteName(id))
		}
		w := &recordWriter{t: t}
		for line := range strings.Lines(keys.String()) {
			if f := strings.Fields(line); f[0] == "CLIENT_TRAFFIC_SECRET_0" {
				secret, err := hex.DecodeString(f[2])
				if err != nil {
					t.Fatal(err)
				}
				w.use(secret)
			}
		}
		<-handshaken
		for _, word := range []string{"first", "again", "third"} {
			time.Sleep(20 * time.Millisecond) // for the buffers to be full
			_, _ = raw.Write(append(w.keyUpdate(), w.record(23, []byte(word))...))
			select {
			case got := <-heard:
				if got != word || written.Load() {
					t.Errorf("got %q behind a KeyUpdate, want %q; all was written: %v", got, word, written.Load())
				}
			case <-time.After(patience):
				t.Fatal("Read waits for Write")
			}
		}
		if n, err := io.Copy(io.Discard, peer); n != size || err != nil {
			t.Errorf("%d bytes of %d arrived: %v", n, size, err)
		}
		wait()
		peer.Close()
	})
}
