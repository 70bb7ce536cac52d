package clienthello

import (
	"fmt"
	"slices"
)

// The extensions that are read.
const (
	extServerName        = 0
	extALPN              = 16
	extPreSharedKey      = 41
	extSupportedVersions = 43
)

// maxLegacy is the highest version that counts in the message's version field, TLS 1.2: later ones are in an extension.
const maxLegacy = 0x0303

// maxExtensions bounds the number of extensions: each is sent once, and some 60 are known.
const maxExtensions = 256

// parse parses the body of a ClientHello message.
func parse(message []byte) (Hello, error) {
	r := reader{b: message}
	h := Hello{Version: min(uint16(r.uint16()), maxLegacy)}
	r.bytes(32)    // random
	r.prefixed8()  // session
	r.prefixed16() // cipher suites
	r.prefixed8()  // compression methods
	if r.broken {
		return Hello{}, fmt.Errorf("%w: it ends within its fields", ErrMalformed)
	}
	if r.empty() {
		return h, nil // as TLS 1.2 and earlier allow
	}
	extensions := r.prefixed16()
	if r.broken || !r.empty() {
		return Hello{}, fmt.Errorf("%w: its length and that of the extensions differ", ErrMalformed)
	}
	if err := h.extensions(extensions); err != nil {
		return Hello{}, err
	}
	return h, nil
}

// extensions reads the extensions.
func (h *Hello) extensions(r reader) error {
	var seen [maxExtensions]uint16
	for n := 0; !r.empty(); n++ {
		kind := uint16(r.uint16())
		value := r.prefixed16()
		if r.broken {
			return fmt.Errorf("%w: it ends within extension %d", ErrMalformed, kind)
		}
		if n == maxExtensions {
			return fmt.Errorf("%w: more than %d extensions", ErrMalformed, maxExtensions)
		}
		if slices.Contains(seen[:n], kind) {
			return fmt.Errorf("%w: extension %d is there twice", ErrMalformed, kind)
		}
		seen[n] = kind
		if wrong := h.extension(kind, value); wrong != "" {
			return fmt.Errorf("%w: %s", ErrMalformed, wrong)
		}
		if kind == extPreSharedKey && !r.empty() {
			return fmt.Errorf("%w: an extension behind the pre-shared key", ErrMalformed)
		}
	}
	return nil
}

// extension reads an extension. It returns what is wrong, or "".
func (h *Hello) extension(kind uint16, value reader) string {
	switch kind {
	case extServerName:
		return h.serverName(value)
	case extALPN:
		return h.protocols(value)
	case extSupportedVersions:
		return h.versions(value)
	}
	return ""
}

// serverName reads the SNI: a list of names, of which only the type of host names exists.
func (h *Hello) serverName(r reader) string {
	names := r.prefixed16()
	if r.broken || !r.empty() || names.empty() {
		return "an SNI whose lengths are wrong"
	}
	for !names.empty() {
		kind, name := names.uint8(), names.prefixed16()
		switch {
		case names.broken || name.empty():
			return "an SNI whose lengths are wrong"
		case kind != 0:
		case h.SNI != "":
			return "two host names in the SNI"
		case len(name.b) > MaxSNI:
			return fmt.Sprintf("an SNI of %d bytes, more than %d", len(name.b), MaxSNI)
		case name.b[len(name.b)-1] == '.':
			return fmt.Sprintf("the SNI %q ends with a dot", name.b)
		default:
			h.SNI = string(name.b)
		}
	}
	return ""
}

// protocols reads the protocols of ALPN.
func (h *Hello) protocols(r reader) string {
	list := r.prefixed16()
	if r.broken || !r.empty() || list.empty() {
		return "an ALPN whose lengths are wrong"
	}
	count := 0
	for all := list; !all.empty(); count++ {
		if name := all.prefixed8(); all.broken || name.empty() {
			return "an ALPN whose lengths are wrong"
		}
	}
	if count > MaxProtocols {
		return fmt.Sprintf("%d protocols, more than %d", count, MaxProtocols)
	}
	h.ALPN = make([]string, 0, count)
	for !list.empty() {
		if name := list.prefixed8(); !isGREASEProtocol(name.b) {
			h.ALPN = append(h.ALPN, protocol(name.b))
		}
	}
	return ""
}

// protocol returns name as a string, without allocating for common ones.
func protocol(name []byte) string {
	switch string(name) {
	case "h2":
		return "h2"
	case "http/1.1":
		return "http/1.1"
	case "postgresql":
		return "postgresql"
	}
	return string(name)
}

// versions reads the supported versions, which replace the version field of the message.
func (h *Hello) versions(r reader) string {
	list := r.prefixed8()
	if r.broken || !r.empty() || list.empty() || len(list.b)%2 != 0 {
		return "supported versions whose lengths are wrong"
	}
	h.Version = 0
	for !list.empty() {
		if v := uint16(list.uint16()); !isGREASE(v) {
			h.Version = max(h.Version, v)
		}
	}
	return ""
}

// isGREASE reports whether v is one of the values that clients send to see that unknown values are ignored: 0x0a0a,
// 0x1a1a and so forth. Source: RFC 8701 section 2.
func isGREASE(v uint16) bool { return v&0x0f0f == 0x0a0a && v>>8 == v&0xff }

// isGREASEProtocol reports whether name is such a value.
func isGREASEProtocol(name []byte) bool {
	return len(name) == 2 && isGREASE(uint16(name[0])<<8|uint16(name[1]))
}
