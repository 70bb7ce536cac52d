package discovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
)

// parseJSON reads a JSON text.
func parseJSON(data []byte) (value, error) {
	j := jsonReader{data: data, decoder: json.NewDecoder(bytes.NewReader(data))}
	for i, b := range data {
		if b == '\n' {
			j.lines = append(j.lines, i+1)
		}
	}
	j.decoder.UseNumber()
	v, err := j.value(0)
	if err != nil {
		return value{}, err
	}
	at := j.next()
	if _, err := j.decoder.Token(); !errors.Is(err, io.EOF) {
		return value{}, j.wrong(at, "something follows the list")
	}
	return v, nil
}

// jsonReader reads values with their places.
type jsonReader struct {
	data    []byte
	decoder *json.Decoder
	lines   []int // the offsets at which the lines after the first one begin
}

// next is the offset of the next token.
func (j *jsonReader) next() int {
	at := int(j.decoder.InputOffset())
	for at < len(j.data) && bytes.IndexByte([]byte(" \t\r\n,:"), j.data[at]) >= 0 {
		at++
	}
	return at
}

func (j *jsonReader) place(at int) (line, column int) {
	line = sort.SearchInts(j.lines, at+1)
	if line > 0 {
		at -= j.lines[line-1]
	}
	return line + 1, at + 1
}

func (j *jsonReader) wrong(at int, text string) error {
	line, column := j.place(at)
	return &contentError{line: line, column: column, text: text}
}

// token reads a token; an error has the place where it begins.
func (j *jsonReader) token() (json.Token, int, error) {
	at := j.next()
	t, err := j.decoder.Token()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, at, j.wrong(len(j.data), "not JSON: it ends too early")
	}
	if err != nil {
		return nil, at, j.wrong(at, "not JSON: "+err.Error())
	}
	return t, at, nil
}

func (j *jsonReader) value(depth int) (value, error) {
	t, at, err := j.token()
	if err != nil {
		return value{}, err
	}
	v := value{kind: scalar}
	v.line, v.column = j.place(at)
	switch t := t.(type) {
	case json.Delim:
		if depth == maxDepth {
			return value{}, j.wrong(at, "nested too deep")
		}
		if t == '[' {
			v.kind = list
			return v, j.list(&v, depth)
		}
		v.kind = mapping
		return v, j.mapping(&v, depth)
	case nil:
		v.kind = null
	case string:
		v.text = t
	default:
		v.text = fmt.Sprint(t) // a number as it is written, true or false
	}
	return v, nil
}

func (j *jsonReader) list(v *value, depth int) error {
	for j.decoder.More() {
		item, err := j.value(depth + 1)
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
	}
	_, _, err := j.token()
	return err
}

func (j *jsonReader) mapping(v *value, depth int) error {
	for j.decoder.More() {
		key, _, err := j.token()
		if err != nil {
			return err
		}
		child, err := j.value(depth + 1)
		if err != nil {
			return err
		}
		if err := v.add(key.(string), child); err != nil { // the decoder takes no other key
			return err
		}
	}
	_, _, err := j.token()
	return err
}
