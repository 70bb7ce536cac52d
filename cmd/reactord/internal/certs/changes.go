package certs

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"time"
)

// changes describes files that were read again, by the first certificate that has changed.
func changes(was, now []*tls.Certificate) string {
	for i, c := range now {
		if i < len(was) && bytes.Equal(was[i].Leaf.Raw, c.Leaf.Raw) {
			continue
		}
		name := "an unnamed certificate"
		if names := NamesOf(c); len(names) > 0 {
			name = names[0]
		}
		return fmt.Sprintf("certificates reloaded: %s expires %s", name,
			c.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return "TLS files reloaded"
}
