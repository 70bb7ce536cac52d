// Command recordings makes the test data of cmd/reactord/internal/source/xds/translate of recordings of control planes:
// each resource that one of them has sent, once, as JSON for people and in the wire format, which takes the whole
// schema to make. It is run by hand, when there is a new recording.
//
//	go run ./recordings RECORDING.json… >resources.json
//
// A recording is a JSON object; its "resources" are resources by their type and name.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// resource is a resource of one or more recordings.
type resource struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Recordings []string        `json:"recordings"`
	JSON       json.RawMessage `json:"json"`
	Body       []byte          `json:"body"`
}

func main() {
	log.SetFlags(0)
	var all []*resource
	known := map[string]*resource{}
	for _, path := range os.Args[1:] {
		if err := read(path, known, &all); err != nil {
			log.Fatalf("%s: %v", path, err)
		}
	}
	for i, r := range all {
		line, err := json.Marshal(r)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%c%s\n", "[,"[min(i, 1)], line)
	}
	fmt.Println("]")
}

// read adds the resources of a recording.
func read(path string, known map[string]*resource, all *[]*resource) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var recording struct {
		Resources map[string]map[string]json.RawMessage `json:"resources"`
	}
	if err := json.Unmarshal(text, &recording); err != nil {
		return err
	}
	from := strings.TrimSuffix(filepath.Base(path), ".json")
	for _, of := range keys(recording.Resources) {
		for _, name := range keys(recording.Resources[of]) {
			r := &resource{Type: of, Name: name}
			if err := r.convert(recording.Resources[of][name]); err != nil {
				return fmt.Errorf("%s %s: %w", of, name, err)
			}
			key := of + "\n" + name + "\n" + string(r.JSON)
			if known[key] == nil {
				known[key] = r
				*all = append(*all, r)
			}
			known[key].Recordings = append(known[key].Recordings, from)
		}
	}
	return nil
}

// convert sets both forms of the resource.
func (r *resource) convert(text []byte) error {
	var short bytes.Buffer
	if err := json.Compact(&short, text); err != nil {
		return err
	}
	r.JSON = short.Bytes()
	var a anypb.Any
	if err := protojson.Unmarshal(text, &a); err != nil {
		return err
	}
	m, err := a.UnmarshalNew()
	if err != nil {
		return err
	}
	r.Body, err = proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return err
}

func keys[V any](m map[string]V) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}
