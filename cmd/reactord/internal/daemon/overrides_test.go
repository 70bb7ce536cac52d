package daemon

import (
	"encoding/json"
	"maps"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// What a record has is what was set, whatever was set.
func TestOverridesRecord(t *testing.T) {
	now := time.Now().UTC().Round(0)
	state, weight, limit := plan.Drain, 0, 7
	stamp := plan.Stamp{By: "ann", At: now}
	key := func(address string) plan.ServerKey {
		return plan.ServerKey{Backend: "b", Address: serveraddr.MustParse(address)}
	}
	overrides := map[plan.ServerKey]plan.Override{
		key("10.0.0.1:80"): {Added: &plan.Added{
			Name: "n", Weight: 2, MaxConnections: 3, Priority: 4, Backup: true, Locality: "z",
		}, Stamp: stamp, Name: "n"},
		key("10.0.0.2:80"): {Removed: true, Stamp: stamp},
		key("unix:///s"): {State: &state, Weight: &weight, MaxConnections: &limit, Health: plan.HealthUp,
			Until: now.Add(1)},
	}
	drains := map[plan.DrainRule]plan.Stamp{
		{Locality: "z"}: stamp,
		{Backend: "b", Network: netip.MustParsePrefix("10.0.0.0/8")}: stamp,
	}
	record := recordOverrides(overrides, drains)
	text, err := json.Marshal(&record)
	if err != nil {
		t.Fatal(err)
	}
	var back overridesRecord
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	gotOverrides, gotDrains := back.restore(now)
	if !reflect.DeepEqual(gotOverrides, overrides) || !maps.Equal(gotDrains, drains) {
		t.Errorf("%s: %+v, %+v", text, gotOverrides, gotDrains)
	}
	if later, _ := back.restore(now.Add(1)); later[key("unix:///s")].Health != plan.HealthAuto {
		t.Error("what has expired is restored")
	}
}

// A record of another version, or a file that somebody has written, is bounded and valid once it is restored.
func FuzzOverridesRecord(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"overrides":[{"backend":"b","server":"10.0.0.1:80","weight":7}]}`,
		`{"overrides":[{"backend":"b","server":"10.0.0.1:80","added":{"weight":-7}}],"drains":[{"network":"10.0.0.1/8"}]}`,
		`{"overrides":[{"backend":"b","server":"10.0.0.1:80","health":"up","until":"2020-01-01T00:00:00Z"}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var r overridesRecord
		if json.Unmarshal(text, &r) != nil {
			return
		}
		now := time.Now()
		overrides, drains := r.restore(now)
		if len(overrides) > plan.MaxOverrides || len(drains) > plan.MaxDrainRules {
			t.Errorf("%d overrides, %d drains", len(overrides), len(drains))
		}
		for key, o := range overrides {
			if err := o.Check(); err != nil || o.IsZero() || !o.Until.IsZero() && !o.Until.After(now) {
				t.Errorf("%v: %+v: %v", key, o, err)
			}
		}
		again := recordOverrides(overrides, drains)
		if o, d := again.restore(now); !reflect.DeepEqual(o, overrides) || !maps.Equal(d, drains) {
			t.Errorf("%+v is not what it was: %+v", o, overrides)
		}
	})
}
