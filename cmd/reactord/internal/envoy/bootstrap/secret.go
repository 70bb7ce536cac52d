package bootstrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/stream"
)

// secret returns a function that reads a secret: from the bootstrap, or from a file for each stream.
func (s *sdsFields) secret(static []secretFields) (func() (*secretFields, error), error) {
	if s.Source == nil {
		i := slices.IndexFunc(static, func(of secretFields) bool { return of.Name == s.Name })
		if i < 0 {
			return nil, fmt.Errorf("static_resources.secrets: there is no secret %q", s.Name)
		}
		return func() (*secretFields, error) { return &static[i], nil }, nil
	}
	path := s.Source.Path
	if s.Source.PathSource != nil {
		path = s.Source.PathSource.Path
	}
	if path == "" {
		return nil, fmt.Errorf("secret %q: sds_config: only path_config_source is supported for a control plane", s.Name)
	}
	return func() (*secretFields, error) { return readSecret(path, s.Name) }, nil
}

// readSecret reads a secret from a file with a DiscoveryResponse.
func readSecret(path, name string) (*secretFields, error) {
	doc, err := readDocument(path)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var response struct {
		Resources []secretFields `json:"resources"`
	}
	if err := json.Unmarshal(text, &response); err != nil {
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	for i := range response.Resources {
		if s := &response.Resources[i]; s.Name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s: there is no secret %q", path, name)
}

// pem returns the data of a source. It does not read the file.
func (s *sourceData) pem() (stream.PEM, error) {
	switch {
	case s.Filename != "":
		return stream.PEM{File: s.Filename}, nil
	case s.InlineString != "":
		return stream.PEM{Text: []byte(s.InlineString)}, nil
	case len(s.InlineBytes) > 0:
		return stream.PEM{Text: s.InlineBytes}, nil
	case s.Environment != "":
		text := os.Getenv(s.Environment)
		if text == "" {
			return stream.PEM{}, fmt.Errorf("environment variable %s is empty", s.Environment)
		}
		return stream.PEM{Text: []byte(text)}, nil
	}
	return stream.PEM{}, errors.New("it is empty: set filename, inline_string, inline_bytes or environment_variable")
}
