package admin

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"sync"
)

// probes answers /livez and /readyz of metrics with a web configuration file. All clients share the rate limit of the
// file, so any of them could have the probes of others refused. Therefore a probe is not limited if it needs no
// password, or sends one that was accepted before; guessing a password is.
type probes struct {
	web     string       // path of the web configuration file
	answer  http.Handler // for all requests
	limited http.Handler // the toolkit's handler around answer

	mu       sync.Mutex
	salt     [16]byte
	accepted map[string][sha256.Size]byte // digest of hash and password, by user
}

func newProbes(web string, answer http.Handler) *probes {
	p := &probes{web: web, answer: answer, accepted: map[string][sha256.Size]byte{}}
	_, _ = rand.Read(p.salt[:]) // never fails
	return p
}

// ServeHTTP answers a request like the toolkit, except for probes.
func (p *probes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if (r.URL.Path == "/livez" || r.URL.Path == "/readyz") && p.admits(w, r) {
		p.answer.ServeHTTP(w, r)
		return
	}
	p.limited.ServeHTTP(w, r)
}

// admits reports whether a probe is exempt from the rate limit, and sets the headers of the file.
func (p *probes) admits(w http.ResponseWriter, r *http.Request) bool {
	c, err := readWeb(p.web)
	if err != nil {
		return false // reported by the toolkit
	}
	if len(c.Users) != 0 {
		user, password, _ := r.BasicAuth()
		hash, known := c.Users[user]
		digest := p.digest(string(hash), password)
		p.mu.Lock()
		was, before := p.accepted[user]
		p.mu.Unlock()
		if !known || !before || was != digest {
			return false
		}
	}
	for name, value := range c.HTTPConfig.Header {
		w.Header().Set(name, value)
	}
	return true
}

// recordLogins returns a handler that records the passwords which the toolkit has accepted, and calls next.
func (p *probes) recordLogins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); ok {
			if c, err := readWeb(p.web); err == nil && c.Users[user] != "" {
				digest := p.digest(string(c.Users[user]), password)
				p.mu.Lock()
				p.accepted[user] = digest
				p.mu.Unlock()
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (p *probes) digest(hash, password string) [sha256.Size]byte {
	return sha256.Sum256([]byte(string(p.salt[:]) + hash + "\x00" + password))
}
