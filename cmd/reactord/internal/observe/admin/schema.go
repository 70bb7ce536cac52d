package admin

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// object is a JSON object. Its fields are written in alphabetical order.
type object = map[string]any

// schemas generates JSON Schemas of types, and collects those of structs by name.
type schemas struct{ named object }

// of returns the schema of a type.
func (s *schemas) of(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[time.Duration]():
		return object{"type": "string", "examples": []string{"30s", "10m"}}
	case reflect.TypeFor[netip.Prefix]():
		return object{"type": "string", "examples": []string{"192.0.2.1", "192.0.2.0/24"}}
	case reflect.TypeFor[Settings]():
		return object{"type": "object"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		return s.ref(t)
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	}
	panic("admin: no schema for " + t.String())
}

func (s *schemas) ref(t reflect.Type) object {
	if _, ok := s.named[t.Name()]; !ok {
		s.named[t.Name()] = nil // it may refer to itself
		s.named[t.Name()] = s.structure(t)
	}
	return object{"$ref": "#/components/schemas/" + t.Name()}
}

func (s *schemas) structure(t reflect.Type) object {
	properties, required := object{}, []string{}
	for _, f := range jsonFields(t) {
		properties[f.name] = s.field(f.field)
		if !f.optional {
			required = append(required, f.name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required}
}

// field returns the schema of a field, including what its tags say.
func (s *schemas) field(f reflect.StructField) object {
	schema := s.of(f.Type)
	if doc := f.Tag.Get("doc"); doc != "" {
		schema["description"] = doc
	}
	if values := f.Tag.Get("enum"); values != "" {
		schema["enum"] = strings.Split(values, ",")
	}
	for tag, name := range map[string]string{"min": "minimum", "max": "maximum"} {
		if n, err := strconv.Atoi(f.Tag.Get(tag)); err == nil {
			schema[name] = n
		}
	}
	return schema
}

// OpenAPI returns the OpenAPI 3.1 document of the API.
func OpenAPI() []byte {
	s := &schemas{named: object{}}
	paths := object{}
	for _, r := range routes() {
		if paths[r.path] == nil {
			paths[r.path] = object{}
		}
		paths[r.path].(object)[strings.ToLower(r.method)] = s.operation(r)
	}
	s.ref(reflect.TypeFor[Problem]())
	document := object{
		"openapi": "3.1.0",
		"info": object{
			"title":   "reactord admin API",
			"version": "1",
			"description": "Inspects and controls a running reactord. Answers may gain fields: clients must ignore those that " +
				"they do not know.",
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers":    []object{{"url": "http://localhost", "description": "The unix socket, or the loopback address."}},
		"paths":      paths,
		"components": object{"schemas": s.named, "responses": object{"Problem": problemResponse()}},
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		panic(err) // all values are built here
	}
	return append(text, '\n')
}

func problemResponse() object {
	return object{
		"description": "The request failed.",
		"content":     object{problemType: object{"schema": object{"$ref": "#/components/schemas/Problem"}}},
	}
}

func (s *schemas) operation(r route) object {
	title, _, _ := strings.Cut(r.doc, ". ")
	op := object{
		"operationId": r.name,
		"summary":     strings.TrimSuffix(title, "."),
		"description": r.doc + " It requires the role " + string(r.role) + ".",
		"x-role":      r.role,
		"responses": object{
			strconv.Itoa(r.code): s.response(r),
			"default":            object{"$ref": "#/components/responses/Problem"},
		},
	}
	var parameters []object
	for _, p := range params(r.in) {
		schema := s.field(p.field)
		delete(schema, "description")
		parameters = append(parameters, object{
			"name": p.name, "in": p.in, "required": p.in == "path",
			"description": p.field.Tag.Get("doc"), "schema": schema,
		})
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	if body, ok := bodyOf(r.in); ok {
		schema := s.of(body.Type)
		s.named[body.Type.Name()].(object)["additionalProperties"] = false
		op["requestBody"] = object{
			"required": true, "content": object{"application/json": object{"schema": schema}},
		}
	}
	return op
}

func (s *schemas) response(r route) object {
	media, _, _ := strings.Cut(r.media, ";")
	content := object{}
	switch {
	case r.out != reflect.TypeFor[Raw]():
		content["schema"] = s.of(r.out)
	case media == "application/json":
		content["schema"] = object{"type": "object"}
	}
	return object{"description": "The answer.", "content": object{media: content}}
}
