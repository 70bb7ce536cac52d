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

// Key is a key for session tickets.
type Key [32]byte

// TicketKey is a ticket key of the process, which it hands to its successor.
type TicketKey struct {
	Key  Key       `json:"key"`
	Made time.Time `json:"made"`
}

const (
	// keyLife is the time for which a key encrypts tickets.
	keyLife = 24 * time.Hour
	// keysKept is the number of keys that can decrypt tickets: a ticket is valid for a week (RFC 8446, section 4.6.1).
	keysKept = 8
	// maxKeys limits a file of keys.
	maxKeys = 64
)

// Tickets holds the keys of the process that encrypt session tickets, and rotates them daily. Its methods may be
// called from any goroutine.
//
// A ticket identifies the client, so a listener must not accept a ticket issued by a listener that demands less.
// Therefore crypto/tls gets keys derived from these and from the listener's rules for clients.
type Tickets struct {
	mu   sync.Mutex
	keys []TicketKey // newest first
}

// NewTickets returns Tickets with the keys of the previous process, or with a new one.
func NewTickets(known []TicketKey) *Tickets {
	t := &Tickets{keys: known}
	t.Rotate(time.Now())
	return t
}

// Rotate adds a key if the newest one is old enough. It returns when to call it again.
func (t *Tickets) Rotate(now time.Time) (next time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.keys) == 0 || now.Sub(t.keys[0].Made) >= keyLife || t.keys[0].Made.After(now) {
		k := TicketKey{Made: now}
		_, _ = rand.Read(k.Key[:]) // never fails
		t.keys = append([]TicketKey{k}, t.keys[:min(len(t.keys), keysKept-1)]...)
	}
	return t.keys[0].Made.Add(keyLife)
}

// Keys returns the keys, for the next process.
func (t *Tickets) Keys() []TicketKey {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]TicketKey(nil), t.keys...)
}

// Serve sets the ticket keys of a configuration from [Server.Config]: those of the file, or else of the process.
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
			r.wrong(key, err, "%s:%d: write 32 bytes in base64, as from openssl rand -base64 32", path, i+1)
			return nil
		}
		keys = append(keys, Key(b))
	}
	switch {
	case len(keys) == 0:
		r.wrong(key, nil, "%s has no key: write 32 bytes in base64 per line", path)
	case len(keys) > maxKeys:
		r.wrong(key, nil, "%s has %d keys: write %d at most", path, len(keys), maxKeys)
	}
	return keys
}
