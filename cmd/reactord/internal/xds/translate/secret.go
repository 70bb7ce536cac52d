package translate

import (
	"reflect"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/tlspb"
)

// Secret is a certificate with its key, or authorities, or keys of session tickets. It does not change.
type Secret struct {
	// One of them is not nil.
	pair       *pair
	validation *validation
	tickets    *file // keys
	remarks    []string
}

// Remarks are what people should know of the secret although it is honoured.
func (s *Secret) Remarks() []string { return s.remarks }

// DecodeSecret reads an envoy.extensions.transport_sockets.tls.v3.Secret. The error joins everything that cannot be
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
			r.at("validation_context").remark("there are no authorities: what uses it alone verifies no certificate")
		}
	case *tlspb.Secret_SessionTicketKeys:
		s.tickets = decodeTicketKeys(r.at("session_ticket_keys"), t.SessionTicketKeys, at)
	default:
		r.refuse("it is of no kind that reactord has: tls_certificate, validation_context or session_ticket_keys")
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

// Same reports whether both say the same, as far as it is honoured.
func (s *Secret) Same(other *Secret) bool { return reflect.DeepEqual(s, other) }

// file is a file of TLS settings: one of the file system, or one that is in memory only.
type file struct {
	path string // "xds://…" if it is in memory
	text string // of that
}

// decodeFile reads a data source; the zero file: there is none.
func decodeFile(r reading, m *corepb.DataSource, path string) file {
	if m.GetWatchedDirectory() != nil {
		r.at("watched_directory").refuse("a file is read when the resource changes: send it inline, or by SDS")
	}
	var f file
	switch s := m.GetSpecifier().(type) {
	case nil:
		return f
	case *corepb.DataSource_Filename:
		f.path = s.Filename
		r.only(f.path != "" && !strings.HasPrefix(f.path, inMemory), "it is no file")
		return f
	case *corepb.DataSource_InlineBytes:
		f = file{path, string(s.InlineBytes)}
	case *corepb.DataSource_InlineString:
		f = file{path, s.InlineString}
	}
	r.only(f.text != "", "it is empty")
	return f
}

// files are files of TLS settings by path.
type files map[string]string

// add makes files that are in memory readable, and returns the path.
func (f files) add(one file) string {
	if one.text != "" {
		f[one.path] = one.text
	}
	return one.path
}
