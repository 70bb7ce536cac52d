package translate

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/tlspb"
)

// ticketKey is how long a key of tickets is in Envoy.
const ticketKey = 80

// decodeTicketKeys reads keys of session tickets, the one that encrypts first, into the form of
// [config.ServerTLS.TicketKeys]. Tickets have a form of reactord's own, so that keys are made of Envoy's: all reactords
// that have the same ones resume each other's sessions.
func decodeTicketKeys(r reading, m *tlspb.TlsSessionTicketKeys, origin string) *file {
	out := &file{path: origin + "/tickets"}
	for i, k := range m.GetKeys() {
		r := r.at("keys[%d]", i)
		one := decodeFile(r, k, out.path)
		switch {
		case one.path != out.path:
			r.refuse("keys of tickets are sent inline")
			continue
		case len(one.text) != ticketKey:
			r.refuse("it has %d bytes: a key has %d", len(one.text), ticketKey)
		}
		sum := sha256.Sum256([]byte(one.text))
		out.text += base64.StdEncoding.EncodeToString(sum[:]) + "\n"
	}
	r.only(len(m.GetKeys()) > 0, "there is none")
	return out
}
