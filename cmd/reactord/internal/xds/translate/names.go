package translate

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// maxName is how many bytes a name has at most.
const maxName = 900

// nameFault is what is wrong with the name of a resource, or "". Control planes have names of any form; what is refused
// could not be shown.
func nameFault(name string) string {
	switch {
	case name == "":
		return "is no name"
	case len(name) > maxName:
		return fmt.Sprintf("has more than %d bytes", maxName)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }):
		return "has characters that cannot be shown"
	}
	return ""
}

// isServerName reports whether a client may ask for a name, in the ClientHello.
func isServerName(name string) bool {
	a, err := config.ParseAddress(name + ":1")
	_, notIP := netip.ParseAddr(a.Host)
	return err == nil && notIP != nil && a.Host == strings.ToLower(name) && !strings.HasSuffix(name, ".")
}
