package translate

import (
	"reflect"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/tlspb"
)

// Secret is a certificate with its key, or authorities, or session ticket keys. It is immutable.
type Secret struct {
	// Exactly one of them is set.
	pair       *pair
	validation *validation
	tickets    *file // keys
	remarks    []string
}

// Remarks returns warnings about the secret, although it is honoured.
func (s *Secret) Remarks() []string { return s.remarks }

// DecodeSecret decodes an envoy.extensions.transport_sockets.tls.v3.Secret. The error joins everything that cannot be
// honoured.
func DecodeSecret(name string, body []byte) (*Secret, error) {
	r, m := newReading(), &tlspb.Secret{}
	if !r.decode(body, m) {
		return nil, r.failed()
	}
	r.name(name, m.Name)
	s, at := &Secret{}, "xds://secret/"+name
	switch t := m.Type.(type) {
	case *tlspb.Secret_TlsCertificate:
		s.pair = decodePair(r.at("tls_certificate"), t.TlsCertificate, at)
	case *tlspb.Secret_ValidationContext:
		s.validation = decodeValidation(r.at("validation_context"), t.ValidationContext, at)
		if !s.validation.trusted() {
			r.at("validation_context").remark("without authorities, certificates are not verified")
		}
	case *tlspb.Secret_SessionTicketKeys:
		s.tickets = decodeTicketKeys(r.at("session_ticket_keys"), t.SessionTicketKeys, at)
	default:
		r.refuse("kind of secret is not supported: write tls_certificate, validation_context or session_ticket_keys")
	}
	if err := r.failed(); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	s.remarks = r.remarks()
	return s, nil
}

// Same reports whether both are equal in all that is honoured.
func (s *Secret) Same(other *Secret) bool { return reflect.DeepEqual(s, other) }

// file is a file of TLS settings: in the file system, or in memory.
type file struct {
	path string // "xds://…" if in memory
	text string // content, if in memory
}

// decodeFile reads a data source. It returns the zero file if there is none.
func decodeFile(r reading, m *corepb.DataSource, path string) file {
	if m.GetWatchedDirectory() != nil {
		r.at("watched_directory").refuse("watching files is not supported: send it inline, or by SDS")
	}
	var f file
	switch s := m.GetSpecifier().(type) {
	case nil:
		return f
	case *corepb.DataSource_Filename:
		f.path = s.Filename
		r.only(f.path != "" && !strings.HasPrefix(f.path, inMemory), "not a file name")
		return f
	case *corepb.DataSource_InlineBytes:
		f = file{path, string(s.InlineBytes)}
	case *corepb.DataSource_InlineString:
		f = file{path, s.InlineString}
	}
	r.only(f.text != "", "empty")
	return f
}

// files holds in-memory files of TLS settings by path.
type files map[string]string

// add registers an in-memory file, and returns the path.
func (f files) add(one file) string {
	if one.text != "" {
		f[one.path] = one.text
	}
	return one.path
}
