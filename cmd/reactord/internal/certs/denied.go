package certs

import (
	"crypto/x509"
	"fmt"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// denied lists names that a certificate must not have. The first entry that matches decides.
type denied []deniedSAN

// deniedSAN is a name that is denied, or exempted from the entries after it.
type deniedSAN struct {
	san
	except bool
}

// newDenied parses names that the configuration has checked.
func newDenied(texts []string) (all denied) {
	for _, text := range texts {
		if s, except, err := config.ParseDeniedSAN(text); err == nil {
			// A wildcard in a certificate neither hides a denied name nor exempts one.
			all = append(all, deniedSAN{newSAN(s, wildcards(!except)), except})
		}
	}
	return all
}

// String formats the name in the form of [config.ParseDeniedSAN].
func (d deniedSAN) String() string {
	if d.except {
		return config.ExceptSAN + d.SAN.String()
	}
	return d.SAN.String()
}

// verify returns an error if a certificate has a denied name.
func (all denied) verify(c *x509.Certificate) error {
	for _, d := range all {
		switch {
		case !d.of(c):
		case d.except:
			return nil
		default:
			return fmt.Errorf("%w: it has a denied name: %v", ErrName, d)
		}
	}
	return nil
}
