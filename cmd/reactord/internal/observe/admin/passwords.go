package admin

import (
	"crypto/sha256"
	"sync"

	"golang.org/x/crypto/bcrypt"
)

// passwords remembers of each user the password that was right last: to compare one with its hash takes milliseconds of
// CPU time, and the page asks every second. The zero value remembers none.
type passwords struct {
	mu    sync.Mutex
	right map[string][sha256.Size]byte // digests with the hashes that they match
}

// match reports whether a password is the one with that hash.
func (p *passwords) match(user, hash, password string) bool {
	digest := sha256.Sum256([]byte(hash + "\x00" + password))
	p.mu.Lock()
	known, ok := p.right[user]
	p.mu.Unlock()
	if ok && known == digest {
		return true
	}
	if bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.right == nil {
		p.right = map[string][sha256.Size]byte{}
	}
	p.right[user] = digest
	return true
}
