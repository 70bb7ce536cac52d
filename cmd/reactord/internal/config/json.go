package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// JSON encodes a struct of settings as a JSON object, with the names and values of the file: durations and sizes are
// text. settings points to it, as a *Backend. Empty lists are left out.
func JSON(settings any) json.RawMessage {
	v := reflect.ValueOf(settings).Elem()
	text, err := json.Marshal(jsonObject(makeShape(v.Type(), map[reflect.Type]*shape{}), v))
	if err != nil {
		panic(err) // text, numbers and booleans always encode
	}
	return text
}

func jsonObject(s *shape, v reflect.Value) map[string]any {
	object := map[string]any{}
	for _, f := range s.fields {
		x := f.of(v)
		switch {
		case f.rule.resolved:
		case f.isList() && x.Len() == 0:
		case f.isList():
			list := make([]any, x.Len())
			for i := range list {
				list[i] = jsonValue(f.shape, x.Index(i))
			}
			object[f.key] = list
		default:
			object[f.key] = jsonValue(f.shape, x)
		}
	}
	return object
}

// jsonValue encodes a value that is not a list. s is the shape of a mapping, and nil for a scalar.
func jsonValue(s *shape, v reflect.Value) any {
	if s != nil {
		return jsonObject(s, v)
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return formatDuration(x)
	case fmt.Stringer: // sizes, modes, addresses
		return x.String()
	default:
		return x
	}
}
