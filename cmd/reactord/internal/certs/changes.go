package certs

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"time"
)

// changes tells that files were read anew, with the first certificate that has changed.
func changes(was, now []*tls.Certificate) string {
	for i, c := range now {
		if i < len(was) && bytes.Equal(was[i].Leaf.Raw, c.Leaf.Raw) {
			continue
		}
		name := "one without a name"
		if names := NamesOf(c); len(names) > 0 {
			name = "that for " + names[0]
		}
		return fmt.Sprintf("certificates were read anew: %s expires %s", name,
			c.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return "files of tls were read anew"
}
