package bootstrap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// number is an integer, which JSON of protobuf may also have as text.
type number int64

// UnmarshalJSON reads it.
func (n *number) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(text, 64)
		if ferr != nil || f != float64(int64(f)) {
			return fmt.Errorf("%s is no integer", data)
		}
		v = int64(f)
	}
	*n = number(v)
	return nil
}

// duration is a duration such as "0.25s".
type duration time.Duration

// UnmarshalJSON reads it.
func (d *duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("%s is no duration: write it as \"5s\"", data)
	}
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		return fmt.Errorf("%q is no duration: write it as \"5s\"", text)
	}
	*d = duration(v)
	return nil
}

// many is a list, of which the one item may be written without it.
type many[T any] []T

// UnmarshalJSON reads it.
func (m *many[T]) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		data = append(append([]byte("["), data...), ']')
	}
	var all []T
	err := json.Unmarshal(data, &all)
	*m = all
	return err
}

// typed is a message of any type, with what is read of it later.
type typed struct {
	Type string `json:"@type"`
	raw  json.RawMessage
}

// UnmarshalJSON reads it.
func (t *typed) UnmarshalJSON(data []byte) error {
	type plain typed
	t.raw = bytes.Clone(data)
	return json.Unmarshal(data, (*plain)(t))
}

// is reports whether it is of a type: "UpstreamTlsContext".
func (t *typed) is(name string) bool { return strings.HasSuffix(t.Type, "."+name) }

// into reads it.
func (t *typed) into(v any) error {
	if len(t.raw) == 0 {
		return nil
	}
	return json.Unmarshal(t.raw, v)
}
