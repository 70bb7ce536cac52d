package certs

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Key is a key of session tickets.
type Key [32]byte

// TicketKey is a key of the process, which it hands to its successor.
type TicketKey struct {
	Key  Key       `json:"key"`
	Made time.Time `json:"made"`
}

const (
	// keyLife is how long a key encrypts tickets.
	keyLife = 24 * time.Hour
	// keysKept is how many keys decrypt tickets: a ticket is valid for a week (RFC 8446, section 4.6.1).
	keysKept = 8
	// maxKeys bounds a file of keys.
	maxKeys = 64
)

// Tickets are the keys of the process that encrypt session tickets. They change each day. Its methods may be called
// from any goroutine.
//
// A ticket says who the client is, so a listener must not accept one for which another listener has asked for less.
// So what crypto/tls uses is a key that is derived from one of these and from the listener's rules for clients.
type Tickets struct {
	mu   sync.Mutex
	keys []TicketKey // the newest first
}

// NewTickets has the keys of the process before this one, and makes one if there are none.
func NewTickets(known []TicketKey) *Tickets {
	t := &Tickets{keys: known}
	t.Rotate(time.Now())
	return t
}

// Rotate makes a new key if the newest one is old enough. It returns when it is to be called again.
func (t *Tickets) Rotate(now time.Time) (next time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.keys) == 0 || now.Sub(t.keys[0].Made) >= keyLife || t.keys[0].Made.After(now) {
		k := TicketKey{Made: now}
		_, _ = rand.Read(k.Key[:]) // it does not fail
		t.keys = append([]TicketKey{k}, t.keys[:min(len(t.keys), keysKept-1)]...)
	}
	return t.keys[0].Made.Add(keyLife)
}

// Keys are the keys, for the next process.
func (t *Tickets) Keys() []TicketKey {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]TicketKey(nil), t.keys...)
}

// Serve sets the keys of a configuration that [Server.Config] has made: those of the file, or else those of the
// process.
func (t *Tickets) Serve(s *Server, c *tls.Config) {
	if c.SessionTicketsDisabled {
		return
	}
	keys := s.tickets
	if keys == nil {
		for _, k := range t.Keys() {
			keys = append(keys, k.Key)
		}
	}
	derived := make([][32]byte, len(keys))
	for i, k := range keys {
		mac := hmac.New(sha256.New, k[:])
		mac.Write([]byte{byte(c.ClientAuth)})
		mac.Write(s.clientsSum[:])
		for _, name := range s.clientsAre.names {
			fmt.Fprintln(mac, name)
		}
		copy(derived[i][:], mac.Sum(nil))
	}
	c.SetSessionTicketKeys(derived)
}

// ticketKeys reads a file of keys.
func (r *reader) ticketKeys(key, path string) (keys []Key) {
	text, ok := r.file(key, path)
	if !ok {
		return nil
	}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(b) != len(Key{}) {
			r.wrong(key, err, "%s:%d: write 32 bytes in base64, as of openssl rand -base64 32", path, i+1)
			return nil
		}
		keys = append(keys, Key(b))
	}
	switch {
	case len(keys) == 0:
		r.wrong(key, nil, "%s has no key: write 32 bytes in base64, a line each", path)
	case len(keys) > maxKeys:
		r.wrong(key, nil, "%s has %d keys: write %d at most", path, len(keys), maxKeys)
	}
	return keys
}
