package discovery

import (
	"reflect"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Every list of config.Discovery has a source, which is another one when its settings change.
func TestEveryKindHasASource(t *testing.T) {
	var d config.Discovery
	lists := reflect.ValueOf(&d).Elem()
	for _, list := range lists.Fields() {
		list.Set(reflect.MakeSlice(list.Type(), 2, 2))
		list.Index(1).Field(0).SetString("other")
	}
	all := d.Finders()
	if len(all) != 2*lists.NumField() {
		t.Fatalf("%d finders of %d lists: config.Discovery.lists has no row for one", len(all), lists.NumField())
	}
	var m Maker
	c := config.New()
	for i := 0; i < len(all); i += 2 {
		one, other := m.Spec(all[i], c), m.Spec(all[i+1], c)
		if one.New() == nil || !one.Same(m.Spec(all[i], c)) || one.Same(other) {
			t.Errorf("%s: its source does not depend on its settings alone", all[i].Kind())
		}
		if name := other.New().Name(); !strings.Contains(name, "other") {
			t.Errorf("%s: the name of a source of %q is %q", all[i].Kind(), all[i+1].Key(), name)
		}
	}
}
