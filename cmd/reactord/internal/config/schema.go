package config

import (
	"encoding/json"
	"io"
	"reflect"
	"time"
)

// node is a JSON Schema of draft 2020-12, as far as it is used here.
type node struct {
	Schema      string           `json:"$schema,omitempty"`
	Ref         string           `json:"$ref,omitempty"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Type        string           `json:"type,omitempty"`
	Enum        []string         `json:"enum,omitempty"`
	Pattern     string           `json:"pattern,omitempty"`
	Minimum     *int64           `json:"minimum,omitempty"`
	Maximum     *int64           `json:"maximum,omitempty"`
	MultipleOf  int64            `json:"multipleOf,omitempty"`
	Default     any              `json:"default,omitempty"`
	AnyOf       []*node          `json:"anyOf,omitempty"`
	Items       *node            `json:"items,omitempty"`
	MinLength   int              `json:"minLength,omitempty"`
	Properties  map[string]*node `json:"properties,omitempty"`
	Additional  *bool            `json:"additionalProperties,omitempty"`
	Required    []string         `json:"required,omitempty"`
	Defs        map[string]*node `json:"$defs,omitempty"`
}

// Schema writes the configuration's JSON Schema, draft 2020-12. [Parse] refuses whatever it refuses, and more: the
// schema has no ranges of durations and no rules across settings. The error is one of w.
func Schema(w io.Writer) error {
	top := schemaOf(root)
	top.Schema = "https://json-schema.org/draft/2020-12/schema"
	top.Title = "The configuration of reactord"
	top.Defs = map[string]*node{
		"variable": {
			Description: "Text with an environment variable: ${NAME} or ${NAME:-DEFAULT}.",
			Type:        "string", Pattern: `\$\{`,
		},
	}
	eachShape(root, func(s *shape) {
		if s != root {
			top.Defs[snake(s.typ.Name())] = schemaOf(s)
		}
	})
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(top)
}

// schemaOf returns the schema of a mapping.
func schemaOf(s *shape) *node {
	closed := false
	n := &node{
		Description: documentation(s, nil), Type: "object", Properties: map[string]*node{}, Additional: &closed,
	}
	for _, f := range s.fields {
		n.Properties[f.key] = schemaOfField(s, f)
		if f.rule.needed != "" {
			n.Required = append(n.Required, f.key)
		}
	}
	if s.typ == reflect.TypeFor[Backend]() {
		for _, one := range append([]string{"servers"}, discoveryKeys()...) {
			n.AnyOf = append(n.AnyOf, &node{Required: []string{one}})
		}
	}
	return n
}

func schemaOfField(s *shape, f *field) *node {
	var n *node
	switch {
	case f.isList():
		n = &node{Type: "array", Items: schemaOfValue(f)}
	default:
		n = schemaOfValue(f)
	}
	n.Description = documentation(s, f)
	if n.Type == "" && n.Ref == "" {
		n.Description += " Values: " + f.values() + "."
	}
	if value, ok := s.defaultOf(f); ok && f.rule.needed == "" {
		n.Default = value
	}
	return n
}

// schemaOfValue returns the schema of a scalar or a mapping.
func schemaOfValue(f *field) *node {
	if f.shape != nil {
		ref := &node{Ref: "#/$defs/" + snake(f.shape.typ.Name())}
		if f.shape.scalar != nil {
			return &node{AnyOf: []*node{ref, {Type: "string", MinLength: 1}}}
		}
		return ref
	}
	either := func(all ...*node) *node {
		return &node{AnyOf: append(all, &node{Ref: "#/$defs/variable"})}
	}
	r := &f.rule
	zero := int64(0)
	switch element(f.typ) {
	case reflect.TypeFor[int]():
		n := &node{Type: "integer", MultipleOf: r.step}
		if r.max != 0 {
			n.Minimum, n.Maximum = &r.min, &r.max
		}
		if r.zero {
			return either(n, &node{Type: "integer", Minimum: &zero, Maximum: &zero})
		}
		return either(n)
	case reflect.TypeFor[bool]():
		return either(&node{Type: "boolean"})
	case reflect.TypeFor[time.Duration]():
		return either(&node{Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`},
			&node{Type: "integer", Minimum: &zero, Maximum: &zero})
	case reflect.TypeFor[Size]():
		return either(&node{Type: "string", Pattern: `^[0-9]+( ?(B|kB|MB|GB|KiB|MiB|GiB))?$`},
			&node{Type: "integer", Minimum: &zero, Maximum: &r.max})
	case reflect.TypeFor[ServicePort]():
		one, most := int64(1), int64(maxPort)
		return either(&node{Type: "string"}, &node{Type: "integer", Minimum: &one, Maximum: &most})
	case reflect.TypeFor[FileMode]():
		return either(&node{Type: "string", Pattern: `^(0o)?[0-7]{1,4}$`}, &node{Type: "integer", Minimum: &zero})
	}
	n := &node{Type: "string"}
	if r.oneOf != nil {
		n = &node{Enum: r.oneOf.all}
	}
	if r.needed != "" {
		n.MinLength = 1
	}
	return either(n)
}

// defaultOf returns the default of a setting in its JSON form. Lists and mappings have none: ok is false.
func (s *shape) defaultOf(f *field) (value any, ok bool) {
	v, ok := defaults()[s]
	if !ok || f.shape != nil || f.isList() {
		return nil, false
	}
	switch x := f.of(v).Interface().(type) {
	case int, bool:
		return x, true
	case time.Duration:
		return formatDuration(x), true
	case interface{ String() string }:
		return x.String(), true
	}
	if x := f.of(v); x.Kind() == reflect.String {
		return x.String(), true
	}
	return nil, false
}
