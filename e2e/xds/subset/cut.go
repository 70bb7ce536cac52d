package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// The root module, and where the Go packages of the subset are in it.
const (
	module    = "github.com/reactord/reactord"
	directory = "cmd/reactord/internal/source/xds/envoypb"
)

type file = descriptorpb.FileDescriptorProto

// cutter makes the subset's files, one for each proto package.
type cutter struct {
	list   *List
	wanted map[protoreflect.FullName]*Message
	enums  map[protoreflect.FullName]bool
	files  map[string]*file // by proto package
	errs   []error
}

// Cut returns the files of the subset, sorted by name: the messages of the list with their honoured fields, and the
// enums of these. Names, numbers, types and oneofs are those of the registered descriptors.
func Cut(list *List) ([]*file, error) {
	c := &cutter{
		list:   list,
		wanted: map[protoreflect.FullName]*Message{},
		enums:  map[protoreflect.FullName]bool{},
		files:  map[string]*file{},
	}
	for _, m := range list.Messages {
		c.wanted[protoreflect.FullName(m.Name)] = m
	}
	for _, m := range list.Messages {
		c.check(m)
	}
	if err := errors.Join(c.errs...); err != nil {
		return nil, err
	}
	for _, m := range list.Messages {
		if md := find(m.Name); c.outermost(md) {
			file := c.file(md)
			file.MessageType = append(file.MessageType, c.message(file, md))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.enums)) {
		d, _ := protoregistry.GlobalFiles.FindDescriptorByName(name)
		if _, inside := d.Parent().(protoreflect.FileDescriptor); inside {
			file := c.file(d)
			file.EnumType = append(file.EnumType, c.enum(d.(protoreflect.EnumDescriptor)))
		}
	}
	for _, file := range c.files {
		slices.Sort(file.Dependency)
		file.Dependency = slices.Compact(file.Dependency)
	}
	files := slices.Collect(maps.Values(c.files))
	slices.SortFunc(files, func(a, b *file) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return files, errors.Join(c.errs...)
}

// find returns the descriptor of a message, or nil.
func find(name string) protoreflect.MessageDescriptor {
	d, _ := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	md, _ := d.(protoreflect.MessageDescriptor)
	return md
}

func (c *cutter) errorf(line int, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("subset.txt:%d: %w", line, fmt.Errorf(format, args...)))
}

// check looks at what a message's lines need.
func (c *cutter) check(m *Message) {
	md := find(m.Name)
	if md == nil {
		c.errorf(m.Line, "there is no message %s (is its Go package in imports.go?)", m.Name)
		return
	}
	if c.list.Packages[string(md.ParentFile().Package())] == "" {
		c.errorf(m.Line, "no package line has %s", md.ParentFile().Package())
	}
	for _, f := range m.Fields {
		fd := md.Fields().ByName(protoreflect.Name(f.Name))
		if fd == nil {
			c.errorf(f.Line, "%s has no field %s", m.Name, f.Name)
			continue
		}
		if f.Treatment != Honoured {
			continue
		}
		if fd.IsMap() {
			fd = fd.MapValue()
		}
		if of := fd.Message(); of != nil && c.wanted[of.FullName()] == nil && !wellKnown(of) {
			c.errorf(f.Line, "the type of %s.%s, %s, has no message line", m.Name, f.Name, of.FullName())
		}
		if of := fd.Enum(); of != nil && !wellKnown(of) {
			c.enums[of.FullName()] = true
			outer, nested := of.Parent().(protoreflect.MessageDescriptor)
			switch {
			case nested && c.wanted[outer.FullName()] == nil:
				c.errorf(f.Line, "the type of %s.%s is inside of %s, which has no message line", m.Name, f.Name, outer.FullName())
			case c.list.Packages[string(of.ParentFile().Package())] == "":
				c.errorf(f.Line, "no package line has %s", of.ParentFile().Package())
			}
		}
	}
}

// wellKnown reports whether the module google.golang.org/protobuf has the Go type.
func wellKnown(d protoreflect.Descriptor) bool { return d.ParentFile().Package() == "google.protobuf" }

// outermost reports whether a message is not nested. It reports an error if the outer message is not in the subset.
func (c *cutter) outermost(md protoreflect.MessageDescriptor) bool {
	outer, nested := md.Parent().(protoreflect.MessageDescriptor)
	if !nested {
		return true
	}
	if c.wanted[outer.FullName()] == nil {
		c.errorf(c.wanted[md.FullName()].Line, "%s has no message line, and has %s inside", outer.FullName(), md.Name())
	}
	return false
}

// file returns the subset's file for the proto package of a descriptor.
func (c *cutter) file(d protoreflect.Descriptor) *file {
	name := string(d.ParentFile().Package())
	if c.files[name] == nil {
		goPackage := c.list.Packages[name]
		c.files[name] = &file{
			Name:    new(fileName(goPackage, name)),
			Package: new(name),
			Syntax:  new("proto3"),
			Options: &descriptorpb.FileOptions{GoPackage: new(path.Join(module, directory, goPackage))},
		}
	}
	return c.files[name]
}

// fileName returns the name of the file of a proto package: “envoy_config_core_v3.proto” in the directory of its Go
// package.
func fileName(goPackage, protoPackage string) string {
	return goPackage + "/" + strings.ReplaceAll(protoPackage, ".", "_") + ".proto"
}

// message returns what is left of a message, and of the messages and enums inside.
func (c *cutter) message(in *file, md protoreflect.MessageDescriptor) *descriptorpb.DescriptorProto {
	whole := protodesc.ToDescriptorProto(md)
	m := &descriptorpb.DescriptorProto{Name: whole.Name}
	oneofs := map[int32]int32{} // of the whole -> of the rest
	for i, f := range whole.Field {
		if c.wanted[md.FullName()].field(f.GetName()).Treatment != Honoured {
			continue
		}
		f.Options = nil
		if f.OneofIndex != nil {
			at, known := oneofs[f.GetOneofIndex()]
			if !known {
				at = int32(len(m.OneofDecl))
				oneofs[f.GetOneofIndex()] = at
				of := whole.OneofDecl[f.GetOneofIndex()]
				m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: of.Name})
			}
			f.OneofIndex = &at
		}
		m.Field = append(m.Field, f)
		c.depend(in, md.Fields().Get(i))
	}
	for i, nested := range whole.NestedType {
		inside := md.Messages().Get(i)
		switch {
		case inside.IsMapEntry():
			if slices.ContainsFunc(m.Field, func(f *descriptorpb.FieldDescriptorProto) bool {
				return f.GetTypeName() == "."+string(inside.FullName())
			}) {
				m.NestedType = append(m.NestedType, nested)
			}
		case c.wanted[inside.FullName()] != nil:
			m.NestedType = append(m.NestedType, c.message(in, inside))
		}
	}
	for i := range whole.EnumType {
		if enum := md.Enums().Get(i); c.enums[enum.FullName()] {
			m.EnumType = append(m.EnumType, c.enum(enum))
		}
	}
	return m
}

func (c *cutter) enum(ed protoreflect.EnumDescriptor) *descriptorpb.EnumDescriptorProto {
	e := protodesc.ToEnumDescriptorProto(ed)
	for _, value := range e.Value {
		value.Options = nil
	}
	if e.GetOptions().GetAllowAlias() {
		e.Options = &descriptorpb.EnumOptions{AllowAlias: new(true)}
	} else {
		e.Options = nil
	}
	e.ReservedName, e.ReservedRange = nil, nil
	return e
}

// depend adds the file of a field's type to what a file imports.
func (c *cutter) depend(in *file, fd protoreflect.FieldDescriptor) {
	if fd.IsMap() {
		fd = fd.MapValue()
	}
	var of protoreflect.Descriptor
	switch {
	case fd.Message() != nil:
		of = fd.Message()
	case fd.Enum() != nil:
		of = fd.Enum()
	default:
		return
	}
	name := of.ParentFile().Path()
	if !wellKnown(of) {
		name = c.file(of).GetName()
	}
	if name != in.GetName() {
		in.Dependency = append(in.Dependency, name)
	}
}
