// Package envoypb is the part of Envoy's API that reactord knows, generated from the descriptors that go-control-plane
// has: the real names of proto packages, messages and fields, the real numbers and types, and only what is wanted.
//
// subset.txt says what that is: every field that is honoured has a Go field; one that is ignored or refused has none
// and arrives as an unknown field, as does one that is newer than the list. So nothing that a control plane sets is
// overlooked: [Unknown] names every field of a message that must not be there, and [Forget] drops what is ignored, so
// that messages can be compared. fields.txt, which is generated too, has the names.
//
// The messages are in Go packages below this one, each for the proto packages that subset.txt gives it. There are
// several, because the API has messages of the same name:
//
//	discoverypb  requests, responses, resources; google.rpc.Status
//	corepb       addresses, nodes, where configuration and secrets come from, matchers of strings, access logs
//	clusterpb    clusters, their endpoints and load balancing policies
//	listenerpb   listeners, chains, their filters
//	tlspb        transport sockets and secrets
//	rbacpb       who may connect
//	xdspb        the matcher that is shared with other proxies
//	httppb       what it takes to recognise a listener for readiness or statistics
//
// To change the subset, edit subset.txt and run go generate in this directory. It needs the nested module e2e/xds, and
// no protoc.
//
// # Files
//
//	subset.txt  which messages and fields are known, and what is done with them
//	fields.txt  generated: all fields of these messages, with numbers
//	fields.go   what is done with a field
//	unknown.go  the fields of a message that have no Go field
//	any.go      a message by its type URL
package envoypb

//go:generate go -C ../../../../../../e2e/xds run ./subset
