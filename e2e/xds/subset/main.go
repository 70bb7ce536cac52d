// Command subset generates cmd/reactord/internal/source/xds/envoypb from Envoy's descriptors, as go-control-plane has
// them, and from subset.txt there, which says which messages and fields are wanted. It needs no protoc: it cuts the
// descriptors and gives them to protoc-gen-go.
//
//	go run ./subset
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	log.SetFlags(0)
	from := flag.String("from", filepath.Join("../..", directory, "subset.txt"), "the list")
	to := flag.String("to", "../..", "the root of the repository to write to")
	flag.Parse()
	if err := generate(*from, *to); err != nil {
		log.Fatal(err)
	}
}

// generate writes what is generated, and removes what a former list made.
func generate(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	list, err := ReadList(bytes.NewReader(text))
	if err != nil {
		return err
	}
	cut, err := Cut(list)
	if err != nil {
		return err
	}
	code, err := compile(cut)
	if err != nil {
		return err
	}
	code[filepath.Join(directory, "fields.txt")] = Table(list)
	code["docs/xds.md"] = Documentation(list)
	old, err := filepath.Glob(filepath.Join(to, directory, "*", "*.pb.go"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	for name, text := range code {
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compile returns the Go code of the subset's files, by name.
func compile(files []*descriptorpb.FileDescriptorProto) (map[string]string, error) {
	request := &pluginpb.CodeGeneratorRequest{Parameter: new("module=" + module)}
	known := map[string]bool{}
	var add func(file *descriptorpb.FileDescriptorProto)
	add = func(file *descriptorpb.FileDescriptorProto) { // what a file imports comes before it
		if known[file.GetName()] {
			return
		}
		known[file.GetName()] = true
		for _, name := range file.Dependency {
			if d, err := protoregistry.GlobalFiles.FindFileByPath(name); err == nil {
				add(protodesc.ToFileDescriptorProto(d)) // a well-known type
			}
			for _, of := range files {
				if of.GetName() == name {
					add(of)
				}
			}
		}
		request.ProtoFile = append(request.ProtoFile, file)
	}
	for _, file := range files {
		request.FileToGenerate = append(request.FileToGenerate, file.GetName())
		add(file)
	}
	input, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	plugin := exec.Command("go", "tool", "protoc-gen-go")
	plugin.Stdin, plugin.Stderr = bytes.NewReader(input), os.Stderr
	output, err := plugin.Output()
	if err != nil {
		return nil, fmt.Errorf("protoc-gen-go: %w", err)
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output, &response); err != nil {
		return nil, err
	}
	if response.Error != nil {
		return nil, fmt.Errorf("protoc-gen-go: %s", response.GetError())
	}
	code := map[string]string{}
	for _, file := range response.File {
		code[file.GetName()] = file.GetContent()
	}
	return code, nil
}
