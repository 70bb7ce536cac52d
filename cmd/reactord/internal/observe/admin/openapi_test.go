package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
)

// document is the OpenAPI document.
var document = func() openAPI {
	var d openAPI
	if err := json.Unmarshal(admin.OpenAPI(), &d); err != nil {
		panic(err)
	}
	return d
}()

type object = map[string]any

type openAPI object

// at is what is found by a path of keys, or nil.
func at(from object, keys ...string) any {
	var v any = from
	for _, k := range keys {
		o, ok := v.(object)
		if !ok {
			return nil
		}
		v = o[k]
	}
	return v
}

func (d openAPI) schema(name string) object {
	o, _ := at(object(d), "components", "schemas", name).(object)
	return o
}

// paths is the methods of each path.
func (d openAPI) paths() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for path, item := range d["paths"].(object) {
		out[path] = map[string]bool{}
		for method := range item.(object) {
			out[path][strings.ToUpper(method)] = true
		}
	}
	return out
}

// answer is the schema of an answer, or nil.
func (d openAPI) answer(method, path string, code int) object {
	path, _, _ = strings.Cut(path, "?")
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var found string
	for template := range d.paths() {
		pattern := regexp.MustCompile("^" + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(template, `[^/]+`) + "$")
		if pattern.MatchString(path) && (found == "" || !strings.Contains(template, "{")) {
			found = template
		}
	}
	s, _ := at(object(d), "paths", found, strings.ToLower(method), "responses", fmt.Sprint(code),
		"content", "application/json", "schema").(object)
	return s
}

// validate compares a value with a schema: with the keywords that the document uses.
func (d openAPI) validate(schema object, value any) error {
	if ref, ok := schema["$ref"].(string); ok {
		return d.validate(d.schema(strings.TrimPrefix(ref, "#/components/schemas/")), value)
	}
	if err := typed(schema, value); err != nil {
		return err
	}
	switch value := value.(type) {
	case object:
		properties, _ := schema["properties"].(object)
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, ok := value[name.(string)]; !ok {
				return fmt.Errorf("%s is missing", name)
			}
		}
		for name, v := range value {
			property, ok := properties[name].(object)
			if !ok {
				if properties != nil {
					return fmt.Errorf("%s is not in the schema", name)
				}
				continue
			}
			if err := d.validate(property, v); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	case []any:
		for i, v := range value {
			if err := d.validate(schema["items"].(object), v); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
	}
	return nil
}

// typed compares a value with the keywords for single values.
func typed(schema object, value any) error {
	ok := false
	switch schema["type"] {
	case nil:
		ok = true
	case "object":
		_, ok = value.(object)
	case "array":
		_, ok = value.([]any)
	case "string":
		_, ok = value.(string)
	case "boolean":
		_, ok = value.(bool)
	case "number":
		_, ok = value.(float64)
	case "integer":
		n, number := value.(float64)
		ok = number && n == float64(int64(n))
	}
	if !ok {
		return fmt.Errorf("%v is no %v", value, schema["type"])
	}
	if values, has := schema["enum"].([]any); has && !slices.Contains(values, value) {
		return fmt.Errorf("%v is none of %v", value, values)
	}
	if n, is := value.(float64); is {
		if least, has := schema["minimum"].(float64); has && n < least {
			return fmt.Errorf("%v is less than %v", n, least)
		}
		if most, has := schema["maximum"].(float64); has && n > most {
			return fmt.Errorf("%v is more than %v", n, most)
		}
	}
	if schema["format"] == "date-time" {
		_, err := time.Parse(time.RFC3339Nano, value.(string))
		return err
	}
	return nil
}

// TestDocumentIsValid checks the structure that OpenAPI 3.1 requires.
func TestDocumentIsValid(t *testing.T) {
	d := object(document)
	if v, _ := d["openapi"].(string); !strings.HasPrefix(v, "3.1.") {
		t.Errorf("openapi: %v", d["openapi"])
	}
	for _, keys := range [][]string{{"info", "title"}, {"info", "version"}} {
		if s, ok := at(d, keys...).(string); !ok || s == "" {
			t.Errorf("no %v", keys)
		}
	}
	ids := map[string]bool{}
	for path, item := range d["paths"].(object) {
		if !strings.HasPrefix(path, "/v1/") {
			t.Errorf("%s has no version", path)
		}
		for method, op := range item.(object) {
			if !slices.Contains([]string{"get", "put", "post", "delete", "patch"}, method) {
				t.Errorf("%s: method %q", path, method)
			}
			where := method + " " + path
			checkOperation(t, where, path, op.(object))
			id, _ := op.(object)["operationId"].(string)
			if ids[id] || id == "" {
				t.Errorf("%s: operationId %q is not the only one", where, id)
			}
			ids[id] = true
		}
	}
	checkReferences(t, "#", d)
}

func checkOperation(t *testing.T, where, path string, op object) {
	t.Helper()
	var inPath []string
	names := map[string]bool{}
	parameters, _ := op["parameters"].([]any)
	for _, p := range parameters {
		p := p.(object)
		name, in := p["name"].(string), p["in"].(string)
		if names[in+name] {
			t.Errorf("%s: parameter %s twice", where, name)
		}
		names[in+name] = true
		if p["schema"] == nil || p["description"] == "" {
			t.Errorf("%s: parameter %s has no schema or description", where, name)
		}
		switch in {
		case "path":
			inPath = append(inPath, "{"+name+"}")
			if p["required"] != true {
				t.Errorf("%s: parameter %s of the path is not required", where, name)
			}
		case "query":
		default:
			t.Errorf("%s: parameter %s in %q", where, name, in)
		}
	}
	template := regexp.MustCompile(`\{\w+\}`).FindAllString(path, -1)
	slices.Sort(template)
	slices.Sort(inPath)
	if !slices.Equal(template, inPath) {
		t.Errorf("%s: parameters of the path %v, described %v", where, template, inPath)
	}
	if op["summary"] == "" || op["description"] == "" {
		t.Errorf("%s says nothing", where)
	}
	responses, _ := op["responses"].(object)
	if len(responses) != 2 {
		t.Errorf("%s: responses %v", where, responses)
	}
	for code, r := range responses {
		if code != "default" && at(r.(object), "description") == nil {
			t.Errorf("%s: %s has no description", where, code)
		}
	}
}

// checkReferences resolves every $ref, and finds values that JSON Schema does not have.
func checkReferences(t *testing.T, where string, v any) {
	t.Helper()
	switch v := v.(type) {
	case object:
		if ref, ok := v["$ref"].(string); ok {
			if at(object(document), strings.Split(strings.TrimPrefix(ref, "#/"), "/")...) == nil {
				t.Errorf("%s refers to %s, which is not there", where, ref)
			}
		}
		for k, inner := range v {
			checkReferences(t, where+"/"+k, inner)
		}
	case []any:
		for i, inner := range v {
			checkReferences(t, fmt.Sprintf("%s/%d", where, i), inner)
		}
	case nil:
		t.Errorf("%s is null", where)
	}
}
