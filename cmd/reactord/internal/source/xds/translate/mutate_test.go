package translate

import (
	"flag"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// mutator changes messages at random, so that they stay messages.
type mutator struct{ *rand.Rand }

// interesting values of fields.
var (
	someTexts = []string{
		"", "*", "a.example", "*.a.example", "192.0.2.1", "::", "0.0.0.0", "127.0.0.1", "spiffe://a/b", "tls", "\x01", "h2",
	}
	someNumbers = []int64{
		0, 1, 2, 3, 6, 9, 15, 25, 32, 80, 128, 255, 1000, 65535, 65536, 1 << 31, 1<<32 - 1, 1 << 40, -1,
	}
)

// change changes a field of m, or of a message within, which is not deeper than depth.
func (u mutator) change(m protoreflect.Message, depth int) {
	if a, ok := m.Interface().(*anypb.Any); ok {
		u.packed(a, depth)
		return
	}
	fields := m.Descriptor().Fields()
	if fields.Len() == 0 {
		return
	}
	fd := fields.Get(u.IntN(fields.Len()))
	for range 4 { // those that are set are more interesting
		if m.Has(fd) {
			break
		}
		fd = fields.Get(u.IntN(fields.Len()))
	}
	switch {
	case u.IntN(10) == 0:
		m.Clear(fd)
	case fd.IsMap():
		m.Mutable(fd).Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
			if fd.MapValue().Message() != nil && depth > 0 {
				u.change(v.Message(), depth-1)
			}
			return u.IntN(2) == 0
		})
	case fd.IsList():
		u.list(m.Mutable(fd).List(), fd, depth)
	case fd.Message() != nil:
		if depth > 0 {
			u.change(m.Mutable(fd).Message(), depth-1)
		}
	default:
		m.Set(fd, u.value(fd))
	}
}

func (u mutator) list(l protoreflect.List, fd protoreflect.FieldDescriptor, depth int) {
	switch n := l.Len(); {
	case n > 0 && u.IntN(4) == 0:
		l.Truncate(u.IntN(n))
	case n > 0 && u.IntN(4) == 0: // one is there twice
		if fd.Message() != nil {
			l.Append(protoreflect.ValueOfMessage(proto.Clone(l.Get(u.IntN(n)).Message().Interface()).ProtoReflect()))
		} else {
			l.Append(l.Get(u.IntN(n)))
		}
	case fd.Message() == nil:
		l.Append(u.value(fd))
	case depth > 0:
		if n == 0 || u.IntN(4) == 0 {
			l.AppendMutable()
			n++
		}
		u.change(l.Get(u.IntN(n)).Message(), depth-1)
	}
}

// packed changes what is in an Any.
func (u mutator) packed(a *anypb.Any, depth int) {
	m, err := envoypb.Unpack(a)
	if err != nil || depth == 0 {
		return
	}
	u.change(m.ProtoReflect(), depth-1)
	if value, err := proto.Marshal(m); err == nil {
		a.Value = value
	}
}

func (u mutator) value(fd protoreflect.FieldDescriptor) protoreflect.Value {
	n := someNumbers[u.IntN(len(someNumbers))]
	text := someTexts[u.IntN(len(someTexts))]
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n%2 == 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(int32(n % 12)))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(n)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(n))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(n))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(n))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(text))
	default:
		return protoreflect.ValueOfString(text)
	}
}

// typeURL is the prefix of type URLs, and messages the types of resources.
const typeURL = "type.googleapis.com/"

var messages = map[string]string{
	"Listener":              "envoy.config.listener.v3.Listener",
	"Cluster":               "envoy.config.cluster.v3.Cluster",
	"ClusterLoadAssignment": "envoy.config.endpoint.v3.ClusterLoadAssignment",
	"Secret":                "envoy.extensions.transport_sockets.tls.v3.Secret",
}

// mutated is the resources of a recording with some changes.
func mutated(all []recorded, seed uint64, changes int) []recorded {
	u := mutator{rand.New(rand.NewPCG(seed, 7))}
	out := append([]recorded{}, all...)
	for range changes {
		r := &out[u.IntN(len(out))]
		a := &anypb.Any{TypeUrl: typeURL + messages[r.Type], Value: r.Body}
		u.packed(a, 14)
		r.Body = a.Value
	}
	return out
}

// byRecording is the resources of each recording.
func byRecording(t testing.TB) (all [][]recorded) {
	index := map[string]int{}
	for _, r := range recordings(t) {
		for _, name := range r.Recordings {
			i, known := index[name]
			if !known {
				i = len(all)
				index[name] = i
				all = append(all, nil)
			}
			all[i] = append(all[i], r)
		}
	}
	return all
}

var changed = flag.Int("changed", 150, "how many recordings TestChanged changes")

// TestChanged does the same as [FuzzResources] with recordings of which some fields are changed.
func TestChanged(t *testing.T) {
	all := byRecording(t)
	for seed := range *changed {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			judged(t, mutated(all[seed%len(all)], uint64(seed), 1+seed%20))
		})
	}
}
