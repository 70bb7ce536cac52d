package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// maxBody limits the body of a request, in bytes.
const maxBody = 64 << 10

// bodyOf returns the field of an input type that is the body of the request.
func bodyOf(t reflect.Type) (reflect.StructField, bool) { return t.FieldByName("Body") }

// decodeBody decodes the body of r, a JSON object, into the struct v.
func decodeBody(w http.ResponseWriter, r *http.Request, v reflect.Value) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return problem(http.StatusUnsupportedMediaType, "the body must be JSON: send Content-Type: application/json")
	}
	text, err := readBody(w, r)
	if err != nil {
		return err
	}
	return decodeJSON(text, v)
}

// refuseBody returns an error if r has a body.
func refuseBody(w http.ResponseWriter, r *http.Request) error {
	text, err := readBody(w, r)
	if err == nil && len(text) > 0 {
		err = problem(http.StatusBadRequest, "this request takes no body")
	}
	return err
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, problem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", maxBody))
	}
	if err != nil {
		return nil, problem(http.StatusBadRequest, "cannot read the body: "+err.Error())
	}
	return text, nil
}

// decodeJSON decodes an object without unknown or duplicate fields, and checks its values.
func decodeJSON(text []byte, v reflect.Value) error {
	bad := func(format string, args ...any) error {
		return problem(http.StatusBadRequest, "the body "+fmt.Errorf(format, args...).Error())
	}
	fields := jsonFields(v.Type())
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return bad("must be a JSON object with %s", fieldNames(fields))
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return bad("is not JSON: %v", err)
		}
		name, _ := token.(string)
		i := slices.IndexFunc(fields, func(f jsonField) bool { return f.name == name })
		switch {
		case i < 0:
			return bad("has the unknown field %q: it may have %s", clip(name), fieldNames(fields))
		case seen[name]:
			return bad("repeats the field %s", name)
		}
		seen[name] = true
		if err := fields[i].decode(d, v); err != nil {
			return bad("%w", err)
		}
	}
	if _, err := d.Token(); err != nil {
		return bad("is not JSON: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return bad("continues after the object")
	}
	for _, f := range fields {
		if !f.optional && !seen[f.name] {
			return bad("has no %s, which is %s", f.name, want(f.field))
		}
	}
	return nil
}

// jsonField is a field of a struct in JSON.
type jsonField struct {
	name     string
	optional bool
	field    reflect.StructField
}

// jsonFields lists the fields of a struct.
func jsonFields(t reflect.Type) (all []jsonField) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			all = append(all, jsonField{name, strings.Contains(options, "omit"), f})
		}
	}
	return all
}

// decode decodes the next value of d into the field of the struct v.
func (f jsonField) decode(d *json.Decoder, v reflect.Value) error {
	var text json.RawMessage
	if err := d.Decode(&text); err != nil {
		return fmt.Errorf("is not JSON: %w", err)
	}
	into := v.FieldByIndex(f.field.Index)
	err := json.Unmarshal(text, into.Addr().Interface())
	if err == nil && string(text) == "null" {
		err = errors.New("null")
	}
	if err == nil {
		err = check(into, f.field.Tag)
	}
	if err != nil {
		return fmt.Errorf("has the %s %s; it is %s", f.name, clip(string(text)), want(f.field))
	}
	return nil
}

func fieldNames(fields []jsonField) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return strings.Join(names, " and ")
}
