package bootstrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
)

// maxDocument is the greatest bootstrap in bytes.
const maxDocument = 16 << 20

// document is a bootstrap, with the names of fields as in its .proto files.
type document = map[string]any

// readDocument reads a file once: it may be a pipe, which cannot be read again.
func readDocument(path string) (document, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err == nil && len(text) > maxDocument {
		err = fmt.Errorf("it has more than %d bytes", maxDocument)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	doc, err := parseDocument(text)
	if at, ok := errors.AsType[*yamltree.Error](err); ok {
		return nil, fmt.Errorf("%s:%w", path, at)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return doc, nil
}

// parseDocument reads YAML, or JSON.
func parseDocument(text []byte) (document, error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		var doc document
		if json.Unmarshal(text, &doc) == nil {
			return plainNames(doc), nil
		}
		// It is YAML in braces, or the parser of YAML says what is wrong.
	}
	value, err := parseYAML(text)
	if err != nil {
		return nil, err
	}
	doc, ok := value.(document)
	switch {
	case value == nil:
		return nil, errors.New("the bootstrap is empty")
	case !ok:
		return nil, errors.New("it is no mapping of fields")
	}
	return plainNames(doc), nil
}

// camel matches the name of a field in the style of JSON.
var camel = regexp.MustCompile(`^[a-z][a-z0-9]*([A-Z][A-Za-z0-9]*)+$`)

// plainNames converts the names of fields to the style of .proto files, except in the metadata of the node, whose keys
// are not names of fields.
func plainNames(doc document) document {
	out := make(document, len(doc))
	for key, value := range doc {
		name := key
		if camel.MatchString(key) {
			name = snake(key)
		}
		switch value := value.(type) {
		case document:
			if name == "metadata" || name == "static_layer" {
				out[name] = value
			} else {
				out[name] = plainNames(value)
			}
		case []any:
			out[name] = plainItems(value)
		default:
			out[name] = value
		}
	}
	return out
}

func plainItems(items []any) []any {
	out := make([]any, len(items))
	for i, item := range items {
		switch item := item.(type) {
		case document:
			out[i] = plainNames(item)
		case []any:
			out[i] = plainItems(item)
		default:
			out[i] = item
		}
	}
	return out
}

func snake(name string) string {
	var out strings.Builder
	for _, r := range name {
		if 'A' <= r && r <= 'Z' {
			out.WriteByte('_')
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}

// merge puts one document over another, as messages of protobuf are merged: values replace, lists grow, and messages
// are merged, except those of any type. Of the fields of which only one can be set, the new one stays.
func merge(under, over document) document {
	if _, typed := over["@type"]; typed {
		return over
	}
	out := make(document, len(under)+len(over))
	maps.Copy(out, under)
	for key, value := range over {
		for _, other := range alternatives[key] {
			delete(out, other)
		}
		switch value := value.(type) {
		case document:
			if was, ok := out[key].(document); ok {
				out[key] = merge(was, value)
				continue
			}
		case []any:
			if was, ok := out[key].([]any); ok {
				out[key] = append(append([]any(nil), was...), value...)
				continue
			}
		}
		out[key] = value
	}
	return out
}

// alternatives are the fields that a field replaces.
var alternatives = map[string][]string{
	"socket_address":    {"pipe"},
	"pipe":              {"socket_address"},
	"ads":               {"api_config_source", "path_config_source", "path"},
	"api_config_source": {"ads", "path_config_source", "path"},
	"port_value":        {"named_port"},
	"type":              {"cluster_type"},
	"cluster_type":      {"type"},
}
