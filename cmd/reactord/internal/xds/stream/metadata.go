package stream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// Metadata is a header of the requests to a server.
type Metadata struct {
	// Key is its name in lower case, such as "x-consul-token" or "authorization".
	Key string
	// Value is what it says. If it is empty, and there is no File and no Read, the header is not sent.
	Value string
	// File is a file with the rest of the value. It is read for each stream; spaces around its text do not count. Value
	// is before it: "Bearer ".
	File string
	// Read is instead of a file: it returns the rest of the value for a stream. It may block shortly.
	Read func() (string, error)
}

// maxToken is the greatest file of a token in bytes.
const maxToken = 64 << 10

// errEmptyToken is the error of a token's file without a token.
var errEmptyToken = errors.New("the file is empty: it is to have a token")

// Check reports a header that cannot be sent: the protocol has it for itself.
func (m *Metadata) Check() error {
	key := strings.ToLower(m.Key)
	switch {
	case key == "":
		return errors.New("metadata without a key")
	case strings.HasPrefix(key, ":"), strings.HasPrefix(key, "grpc-"),
		key == "content-type", key == "te", key == "user-agent", key == "host", key == "connection", key == "trailer",
		key == "content-length", key == "transfer-encoding", key == "upgrade", key == "accept-encoding",
		key == "keep-alive", key == "proxy-connection":
		return fmt.Errorf("metadata %q: gRPC uses this key itself: leave it out", m.Key)
	case strings.HasSuffix(key, "-bin"):
		return fmt.Errorf("metadata %q: binary values are not supported", m.Key)
	}
	for _, r := range key {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.' {
			return fmt.Errorf("metadata %q: a key has a-z, 0-9, '-', '_' and '.'", m.Key)
		}
	}
	if !printable(m.Value) {
		return fmt.Errorf("metadata %q: its value has characters that are not printable ASCII", m.Key)
	}
	return nil
}

// add adds the metadata to a header. An error names no value: it may be a secret.
func add(all []Metadata, to http.Header) error {
	for i := range all {
		m := &all[i]
		if err := m.Check(); err != nil {
			return err
		}
		read := m.Read
		if m.File != "" {
			read = func() (string, error) { return ReadToken(m.File) }
		}
		value := m.Value
		if read != nil {
			token, err := read()
			if err != nil {
				return fmt.Errorf("metadata %q: %w", m.Key, err)
			}
			value += token
		}
		if value != "" {
			to.Add(m.Key, value)
		}
	}
	return nil
}

// ReadToken is the text of a file with a token, without the spaces around it.
func ReadToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	token := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return "", err
	case len(text) > maxToken:
		return "", fmt.Errorf("%s: a token has at most %d bytes", path, maxToken)
	case token == "":
		return "", fmt.Errorf("%s: %w", path, errEmptyToken)
	case !printable(token):
		return "", fmt.Errorf("%s: the token has characters that are not printable ASCII", path)
	}
	return token, nil
}

func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
