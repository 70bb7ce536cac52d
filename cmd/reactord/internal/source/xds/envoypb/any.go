package envoypb

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	// The subset's messages, so that they are found by their names.
	_ "github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/clusterpb"
	_ "github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	_ "github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/discoverypb"
	_ "github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/httppb"
	_ "github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/listenerpb"
	_ "github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/rbacpb"
	_ "github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/tlspb"
	_ "github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/xdspb"
)

// Unpack returns the message in a, as a new Go type of the subset. It fails if the type is not in the subset, if the
// bytes are not such a message, and if a is empty.
func Unpack(a *anypb.Any) (proto.Message, error) {
	_, name, _ := strings.Cut(a.GetTypeUrl(), "/")
	if name == "" {
		return nil, fmt.Errorf("not a message: type URL %q", a.GetTypeUrl())
	}
	if _, known := fields()[name]; !known {
		return nil, fmt.Errorf("type %s is not supported", name)
	}
	of, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		return nil, fmt.Errorf("type %s is not supported", name)
	}
	m := of.New().Interface()
	if err := proto.Unmarshal(a.GetValue(), m); err != nil {
		return nil, fmt.Errorf("cannot decode %s: %w", name, err)
	}
	return m, nil
}
