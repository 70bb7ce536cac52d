package certs

import (
	"crypto/x509"
	"fmt"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// denied are names that a certificate must not have. The first one that it has decides.
type denied []deniedSAN

// deniedSAN is a name that is denied, or excepted from those after it.
type deniedSAN struct {
	san
	except bool
}

// newDenied reads names that the configuration has checked.
func newDenied(texts []string) (all denied) {
	for _, text := range texts {
		if s, except, err := config.ParseDeniedSAN(text); err == nil {
			// Neither is a name denied that a wildcard hides, nor is one excepted by it.
			all = append(all, deniedSAN{newSAN(s, wildcards(!except)), except})
		}
	}
	return all
}

// String is the name in the form of [config.ParseDeniedSAN].
func (d deniedSAN) String() string {
	if d.except {
		return config.ExceptSAN + d.SAN.String()
	}
	return d.SAN.String()
}

// verify is an error if a certificate has a name that is denied.
func (all denied) verify(c *x509.Certificate) error {
	for _, d := range all {
		switch {
		case !d.of(c):
		case d.except:
			return nil
		default:
			return fmt.Errorf("%w: it has a name that is denied: %v", ErrName, d)
		}
	}
	return nil
}
