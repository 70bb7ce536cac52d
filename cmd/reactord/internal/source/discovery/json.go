package discovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// parseJSON reads a JSON text. Only one group at a time is decoded in memory: a value takes up to a hundred times its
// JSON text.
func parseJSON(data []byte, each func(group *value) error) error {
	j := jsonReader{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	j.decoder.UseNumber()
	t, at, err := j.token()
	if err != nil {
		return err
	}
	root, err := j.start(t, at, 0)
	switch {
	case err != nil:
		return err
	case root.kind != list:
		return notAList(&root)
	}
	for j.decoder.More() {
		j.count = 0
		group, err := j.value(1)
		if err == nil {
			err = each(&group)
		}
		if err != nil {
			return err
		}
	}
	if _, _, err := j.token(); err != nil {
		return err
	}
	at = j.next()
	if _, err := j.decoder.Token(); !errors.Is(err, io.EOF) {
		return j.wrong(at, "unexpected content after the list")
	}
	return nil
}

// jsonReader reads values with their places.
type jsonReader struct {
	data    []byte
	decoder *json.Decoder
	count   int // values of the group so far

	seen, line, begin int // offsets: lines are counted up to seen; begin starts the line
}

// next returns the offset of the next token.
func (j *jsonReader) next() int {
	at := int(j.decoder.InputOffset())
	for at < len(j.data) && bytes.IndexByte([]byte(" \t\r\n,:"), j.data[at]) >= 0 {
		at++
	}
	return at
}

// place returns the place of an offset. Offsets must be requested in ascending order.
func (j *jsonReader) place(at int) (line, column int) {
	for ; j.seen < at; j.seen++ {
		if j.data[j.seen] == '\n' {
			j.line, j.begin = j.line+1, j.seen+1
		}
	}
	return j.line, at - j.begin + 1
}

func (j *jsonReader) wrong(at int, text string) error {
	line, column := j.place(at)
	return &contentError{line: line, column: column, text: text}
}

// token reads a token and its offset.
func (j *jsonReader) token() (json.Token, int, error) {
	at := j.next()
	t, err := j.decoder.Token()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, at, j.wrong(len(j.data), "not JSON: unexpected end")
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
	v, err := j.start(t, at, depth)
	switch {
	case err != nil:
		return v, err
	case v.kind == list:
		return v, j.list(&v, depth)
	case v.kind == mapping:
		return v, j.mapping(&v, depth)
	}
	return v, nil
}

// start converts the first token of a value. A list or mapping is still empty.
func (j *jsonReader) start(t json.Token, at, depth int) (value, error) {
	v := value{kind: scalar}
	v.line, v.column = j.place(at)
	if j.count++; j.count > maxValues {
		return value{}, j.wrong(at, fmt.Sprintf("more than %d values in a group", maxValues))
	}
	switch t := t.(type) {
	case json.Delim:
		if depth == maxDepth {
			return value{}, j.wrong(at, "nested too deeply")
		}
		if v.kind = mapping; t == '[' {
			v.kind = list
		}
	case nil:
		v.kind = null
	case string:
		v.text = t
	default:
		v.text = fmt.Sprint(t) // a number as written, true or false
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
		if err := v.add(key.(string), child); err != nil { // the decoder accepts only string keys
			return err
		}
	}
	_, _, err := j.token()
	return err
}
