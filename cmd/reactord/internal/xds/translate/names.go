package translate

import (
	"fmt"
	"strings"
	"unicode"
)

// maxName is how many bytes a name has at most.
const maxName = 255

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
