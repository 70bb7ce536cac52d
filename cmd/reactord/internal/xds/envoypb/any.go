package envoypb

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	// The subset's messages, so that they are found by their names.
	_ "github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/clusterpb"
	_ "github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/corepb"
	_ "github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/discoverypb"
	_ "github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/httppb"
	_ "github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/listenerpb"
	_ "github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/rbacpb"
	_ "github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/tlspb"
	_ "github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/xdspb"
)

// Unpack returns the message in a, which is of a new Go type of the subset. An error says that the type is not of the
// subset, or that the bytes are no such message. An empty a is an error too.
func Unpack(a *anypb.Any) (proto.Message, error) {
	_, name, _ := strings.Cut(a.GetTypeUrl(), "/")
	if name == "" {
		return nil, fmt.Errorf("no message: the type URL is %q", a.GetTypeUrl())
	}
	if _, known := fields()[name]; !known {
		return nil, fmt.Errorf("reactord does not know the type %s", name)
	}
	of, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		return nil, fmt.Errorf("reactord does not know the type %s", name)
	}
	m := of.New().Interface()
	if err := proto.Unmarshal(a.GetValue(), m); err != nil {
		return nil, fmt.Errorf("these bytes are no %s: %w", name, err)
	}
	return m, nil
}
