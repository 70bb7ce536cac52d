// Command recorded turns recordings of control planes, which have resources as JSON, into what these have sent, in
// bytes. The tests of the root module read that without Envoy's whole API.
//
//	go run ./recorded -from DIRECTORY [-to DIRECTORY]
//
// A recording NAME.json has {"meta": {"title": …}, "resources": {TYPE: {NAME: RESOURCE}}}, with "@type" in each
// resource and Any. The file written has {"title": …, "resources": {TYPE: {NAME: BASE64}}}: the value of the
// resource's Any. What is inside an Any of a type that go-control-plane does not have is left empty.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
)

func main() {
	log.SetFlags(0)
	from := flag.String("from", "", "the directory of the recordings")
	to := flag.String("to", "../../cmd/reactord/internal/xds/testdata/recorded", "where to write")
	flag.Parse()
	names, err := filepath.Glob(filepath.Join(*from, "*.json"))
	if err != nil || len(names) == 0 {
		log.Fatalf("no recordings in %q", *from)
	}
	for _, name := range names {
		if err := convert(name, filepath.Join(*to, filepath.Base(name))); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
	}
}

type recording struct {
	Meta struct {
		Title string `json:"title"`
	} `json:"meta"`
	Resources map[string]map[string]json.RawMessage `json:"resources"`
}

type written struct {
	Title     string                       `json:"title"`
	Resources map[string]map[string][]byte `json:"resources"`
}

func convert(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var r recording
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	if len(r.Resources) == 0 {
		return nil // nothing was sent
	}
	w := written{Title: r.Meta.Title, Resources: map[string]map[string][]byte{}}
	for of, resources := range r.Resources {
		w.Resources[of] = map[string][]byte{}
		for name, resource := range resources {
			var a anypb.Any
			options := protojson.UnmarshalOptions{Resolver: types{}, DiscardUnknown: true}
			if err := options.Unmarshal(resource, &a); err != nil {
				return fmt.Errorf("%s %q: %w", of, name, err)
			}
			w.Resources[of][name] = a.GetValue()
		}
	}
	out, err := json.MarshalIndent(w, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, append(out, '\n'), 0o644)
}

// types resolves all types: one that is not linked has no fields.
type types struct{}

func (types) FindMessageByName(name protoreflect.FullName) (protoreflect.MessageType, error) {
	if found, err := protoregistry.GlobalTypes.FindMessageByName(name); err == nil {
		return found, nil
	}
	log.Printf("the type %s is not linked", name)
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name:        new(string(name)),
		Package:     new(string(name.Parent())),
		MessageType: []*descriptorpb.DescriptorProto{{Name: new(string(name.Name()))}},
	}, nil)
	if err != nil {
		return nil, err
	}
	return dynamicpb.NewMessageType(file.Messages().Get(0)), nil
}

func (t types) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	return t.FindMessageByName(protoreflect.FullName(url[strings.LastIndex(url, "/")+1:]))
}

func (types) FindExtensionByName(name protoreflect.FullName) (protoreflect.ExtensionType, error) {
	return protoregistry.GlobalTypes.FindExtensionByName(name)
}

func (types) FindExtensionByNumber(
	of protoreflect.FullName, number protoreflect.FieldNumber,
) (protoreflect.ExtensionType, error) {
	return protoregistry.GlobalTypes.FindExtensionByNumber(of, number)
}
