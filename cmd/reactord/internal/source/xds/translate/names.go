package translate

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// maxName limits a name in bytes.
const maxName = 900

// nameFault returns what is wrong with the name of a resource, or "". Control planes use names of any form; only
// names that cannot be displayed are refused.
func nameFault(name string) string {
	switch {
	case name == "":
		return "is not a name"
	case len(name) > maxName:
		return fmt.Sprintf("is longer than %d bytes", maxName)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }):
		return "has unprintable characters"
	}
	return ""
}

// isServerName reports whether a client can send the name in its ClientHello.
func isServerName(name string) bool {
	a, err := config.ParseAddress(name + ":1")
	_, notIP := netip.ParseAddr(a.Host)
	return err == nil && notIP != nil && a.Host == strings.ToLower(name) && !strings.HasSuffix(name, ".")
}
