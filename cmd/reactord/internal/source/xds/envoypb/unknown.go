package envoypb

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Unknown lists what a control plane has set in m, or in messages within, that must not be overlooked: fields that
// subset.txt refuses or does not have. Each entry is the path from m, the field's full name, and why it is refused,
// in the order of the messages. It does not look into an Any: the caller unpacks it.
func Unknown(m proto.Message) []string {
	var found []string
	walk(m.ProtoReflect(), "", func(path string, in protoreflect.Message) {
		of := in.Descriptor().FullName()
		seen := map[protoreflect.FieldNumber]bool{}
		each(in.GetUnknown(), func(number protoreflect.FieldNumber, _ []byte) {
			f, known := fields()[string(of)][number]
			switch {
			case seen[number] || known && f.treatment == 'i':
				return
			case !known:
				f = field{name: "field " + strconv.Itoa(int(number)), remark: "newer than this reactord"}
			}
			seen[number] = true
			if f.remark == "" {
				f.remark = "not supported"
			}
			found = append(found, fmt.Sprintf("%s (%s.%s): %s", join(path, f.name), of, f.name, f.remark))
		})
	})
	return found
}

// Forget removes all fields without a Go field from m and the messages within, so that messages that differ only in
// ignored fields are equal for proto.Equal. An Any keeps its content.
func Forget(m proto.Message) {
	walk(m.ProtoReflect(), "", func(_ string, in protoreflect.Message) {
		if len(in.GetUnknown()) > 0 {
			in.SetUnknown(nil)
		}
	})
}

// walk calls visit for m and the messages within, outer ones first, fields by number, maps by key.
func walk(m protoreflect.Message, path string, visit func(path string, m protoreflect.Message)) {
	visit(path, m)
	var set []protoreflect.FieldDescriptor
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if of := fd.Message(); of != nil && (!fd.IsMap() || fd.MapValue().Message() != nil) {
			set = append(set, fd)
		}
		return true
	})
	slices.SortFunc(set, func(a, b protoreflect.FieldDescriptor) int { return cmp.Compare(a.Number(), b.Number()) })
	for _, fd := range set {
		name, value := join(path, string(fd.Name())), m.Get(fd)
		switch {
		case fd.IsMap():
			var keys []protoreflect.MapKey
			value.Map().Range(func(key protoreflect.MapKey, _ protoreflect.Value) bool {
				keys = append(keys, key)
				return true
			})
			slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return cmp.Compare(a.String(), b.String()) })
			for _, key := range keys {
				walk(value.Map().Get(key).Message(), fmt.Sprintf("%s[%q]", name, key.String()), visit)
			}
		case fd.IsList():
			for i := range value.List().Len() {
				walk(value.List().Get(i).Message(), fmt.Sprintf("%s[%d]", name, i), visit)
			}
		default:
			walk(value.Message(), name, visit)
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// each calls visit for each field in the valid wire format of a message.
func each(raw []byte, visit func(number protoreflect.FieldNumber, value []byte)) {
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(number, kind, raw[n:])
		if size < 0 {
			return
		}
		visit(number, raw[n:n+size])
		raw = raw[n+size:]
	}
}
