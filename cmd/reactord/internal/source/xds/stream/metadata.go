package stream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// Metadata is a header of requests.
type Metadata struct {
	// Key is its name in lower case, such as "x-consul-token" or "authorization".
	Key string
	// Value is its value. If it is empty, and there is no File and no Read, the header is not sent.
	Value string
	// File is a file with the rest of the value, read for each stream and trimmed. It follows Value, such as "Bearer
	// ".
	File string
	// Read returns the rest of the value instead of a file. It may block briefly.
	Read func() (string, error)
}

// maxToken limits the file of a token, in bytes.
const maxToken = 64 << 10

// errEmptyToken reports an empty token file.
var errEmptyToken = errors.New("the file is empty: write the token into it")

// Check reports a header that cannot be sent because the protocol reserves it.
func (m *Metadata) Check() error {
	key := strings.ToLower(m.Key)
	switch {
	case key == "":
		return errors.New("metadata without a key")
	case strings.HasPrefix(key, ":"), strings.HasPrefix(key, "grpc-"),
		key == "content-type", key == "te", key == "user-agent", key == "host", key == "connection", key == "trailer",
		key == "content-length", key == "transfer-encoding", key == "upgrade", key == "accept-encoding",
		key == "keep-alive", key == "proxy-connection":
		return fmt.Errorf("metadata %q: the key is reserved for gRPC: leave it out", m.Key)
	case strings.HasSuffix(key, "-bin"):
		return fmt.Errorf("metadata %q: binary values are not supported", m.Key)
	}
	for _, r := range key {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.' {
			return fmt.Errorf("metadata %q: use a-z, 0-9, '-', '_' and '.' only", m.Key)
		}
	}
	if !printable(m.Value) {
		return fmt.Errorf("metadata %q: the value must be printable ASCII", m.Key)
	}
	return nil
}

// add adds the metadata to a header. Errors contain no values, which may be secret.
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

// ReadToken returns the trimmed content of a token file.
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
		return "", fmt.Errorf("%s: a token is limited to %d bytes", path, maxToken)
	case token == "":
		return "", fmt.Errorf("%s: %w", path, errEmptyToken)
	case !printable(token):
		return "", fmt.Errorf("%s: the token must be printable ASCII", path)
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
