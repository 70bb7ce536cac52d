package translate

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/tlspb"
)

// ticketKey is the length of a ticket key in Envoy.
const ticketKey = 80

// decodeTicketKeys converts session ticket keys, the encrypting one first, to the form of
// [config.ServerTLS.TicketKeys]. Tickets have another format than Envoy's, so keys are derived from Envoy's: all
// reactords with the same keys resume each other's sessions.
func decodeTicketKeys(r reading, m *tlspb.TlsSessionTicketKeys, origin string) *file {
	out := &file{path: origin + "/tickets"}
	for i, k := range m.GetKeys() {
		r := r.at("keys[%d]", i)
		one := decodeFile(r, k, out.path)
		switch {
		case one.path != out.path:
			r.refuse("ticket keys must be inline")
			continue
		case len(one.text) != ticketKey:
			r.refuse("%d bytes: a key has %d", len(one.text), ticketKey)
		}
		sum := sha256.Sum256([]byte(one.text))
		out.text += base64.StdEncoding.EncodeToString(sum[:]) + "\n"
	}
	r.only(len(m.GetKeys()) > 0, "missing")
	return out
}
