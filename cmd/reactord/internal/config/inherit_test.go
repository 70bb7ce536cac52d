package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const inheriting = `defaults:
  - listener: {inspect_timeout: 2s, deny: [192.0.2.0/24]}
    backend: {connect_timeout: 3s, check: {interval: 2s, send: PING}}
  - {name: database, backend: {idle_timeout: 1h, check: {rise: 5}}}
  - name: replica
    from: database
    listener: {backend: app}
    backend: {idle_timeout: 2h, check: {interval: 4s}}
listeners:
  - {name: web, address: "127.0.0.1:8080", backend: app}
  - {name: db, address: "127.0.0.1:8081", from: replica, deny: [], inspect_timeout: 7s}
backends:
  - {name: app, servers: ["127.0.0.1:9000"]}
  - {name: db, from: replica, check: {fall: 9}, servers: ["127.0.0.1:9001"]}
  - {name: off, check: {interval: 0s}, servers: ["127.0.0.1:9002"]}
  - {name: hex, check: {send_hex: "00"}, servers: ["127.0.0.1:9003"]}
`

// Entries inherit the set without a name, or the one that they name: by setting in mappings, and whole lists.
func TestInherited(t *testing.T) {
	c, places, err := Parse("f", []byte(inheriting))
	if err != nil {
		t.Fatal(err)
	}
	web, db := c.Listeners[0], c.Listeners[1]
	if web.InspectTimeout != 2*time.Second || len(web.Deny) != 1 {
		t.Errorf("web has %v, %v", web.InspectTimeout, web.Deny)
	}
	if db.InspectTimeout != 7*time.Second || len(db.Deny) != 0 || db.Backend != "app" {
		t.Errorf("db has %v, %v, %q", db.InspectTimeout, db.Deny, db.Backend)
	}
	type settings struct {
		connect, idle, interval time.Duration
		rise, fall              int
		send, hex               string
	}
	for i, want := range []settings{
		{3 * time.Second, 10 * time.Minute, 2 * time.Second, 2, 3, "PING", ""},
		{3 * time.Second, 2 * time.Hour, 4 * time.Second, 5, 9, "PING", ""},
		{3 * time.Second, 10 * time.Minute, 0, 2, 3, "", ""},
		{3 * time.Second, 10 * time.Minute, 2 * time.Second, 2, 3, "", "00"},
	} {
		b := &c.Backends[i]
		got := settings{
			b.ConnectTimeout, b.IdleTimeout, b.Check.Interval, b.Check.Rise, b.Check.Fall, b.Check.Send, b.Check.SendHex,
		}
		if got != want {
			t.Errorf("%s has %+v, want %+v", b.Name, got, want)
		}
	}
	for path, want := range map[string]string{
		"listeners[0].deny[0]":        "f:2, defaults",
		"listeners[1].deny":           "f:11",
		"backends[1].check.rise":      "f:4, defaults database",
		"backends[1].check.interval":  "f:8, defaults replica",
		"backends[1].check.fall":      "f:14",
		"backends[1].connect_timeout": "f:3, defaults",
		"backends[1].retries":         "default",
		"backends[2].check.send":      "default", // the entry has no checks
		"backends[3].check.send":      "default", // the entry has send_hex
		"backends[0].check.send":      "f:3, defaults",
	} {
		if got := places.Origin(path); got != want {
			t.Errorf("%s is from %s, want %s", path, got, want)
		}
	}
	again, _, err := Parse("f", printed(t, c, places.Origin))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, again); diff != "" {
		t.Errorf("printed, it is another configuration: %s", diff)
	}
}

// An error is where the wrong value is written, and once. It names the entry if the value is wrong only there.
func TestErrorsOfDefaults(t *testing.T) {
	for name, test := range map[string]struct{ defaults, own, want string }{
		"a value": {
			"- backend: {retries: 101, connect_timeout: x}", "",
			"f:10:22: retries 101 is out of range: write 0 to 100\n" +
				`f:10:44: connect_timeout "x" is not a duration: write a number with its unit, as in 500ms, 5s, 10m or 1h30m`,
		},
		"a value of a set that nothing inherits": {
			"- {name: a, backend: {retries: 101}}", "", "f:10:32: retries 101 is out of range: write 0 to 100",
		},
		"a contradiction with an entry": {
			"- backend: {ejection: {time: 10m}}", "ejection: {max_time: 1m}",
			"f:6:26: max_time 1m is less than time, 10m: write at least that; see f:10:30",
		},
		"a contradiction of what an entry inherits": {
			"- backend: {ejection: {time: 10m}}", "",
			"f:10:23: max_time 5m is less than time, 10m: write at least that; see f:10:30; inherited by f:6:5",
		},
		"a default in vain in a default": {
			"- backend: {check: {send: x}}", "",
			"f:10:27: send has no effect without an interval: write interval, too, such as 5s; inherited by f:6:5",
		},
		"a name": {"- listener: {name: x}", "", `f:10:14: name is of one listener: write it there`},
		"servers": {
			"- backend: {servers: [x]}", "", `f:10:13: servers is of one backend: write it there`,
		},
		"an unknown key": {"- backend: {retires: 1}", "", `f:10:13: key "retires" is unknown: did you mean "retries"?`},
		"an unknown set": {
			"- {name: database}", "from: databse", `f:6:11: from "databse" does not exist: did you mean "database"?`,
		},
		"no set": {
			"", "from: a", `f:6:11: from "a" does not exist: write it below defaults, with name: a`,
		},
		"an unknown set of a set": {
			"- {name: a, from: x}", "", `f:10:19: from "x" does not exist: did you mean "a"?`,
		},
		"a cycle": {
			"- {name: a, from: b}\n- {name: b, from: c}\n- {name: c, from: a}", "from: b",
			`f:12:19: from "a" leads back to this set: remove one of them`,
		},
		"two with one name": {"- {name: a}\n- {name: a}", "", `f:11:3: defaults "a" is used twice; see f:10:3`},
		"two without a name": {
			"- {backend: {}}\n- {backend: {}}", "",
			"f:11:3: a second set without a name: write name, or move its settings to the first; see f:10:3",
		},
		"from without a name": {
			"- {from: a}\n- {name: a}", "",
			"f:10:10: from requires name: the set without a name is what others inherit",
		},
		"a mapping": {
			"  backend: {}", "",
			`f:10:3: defaults is a list, not a mapping: put "- " before each set, as in - backend: {connect_timeout: 3s}`,
		},
		"an anchor": {
			"- backend: {retries: &r 1}", "", "f:10:22: retries is a whole number, not an anchor or alias: write the value " +
				"itself, or what several entries share below defaults",
		},
	} {
		own := test.own
		if own == "" {
			own = "queue: {}" // so that lines are the same
		}
		text := strings.Replace(valid, "name: app", own+"\n    name: app", 1)
		if test.defaults != "" {
			text += "defaults:\n" + test.defaults + "\n"
		}
		_, _, err := Parse("f", []byte(text))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s in\n%s", name, diff, text)
		}
	}
}

// The schema has the same settings below defaults.
func TestSchemaOfDefaults(t *testing.T) {
	s := compiled(t)
	if err := s.Validate(asJSON(t, []byte(inheriting))); err != nil {
		t.Error(err)
	}
	for was, wrong := range map[string]string{
		"listener: {": "listener: {name: x, ", "backend: {conn": "backend: {servers: [x], conn",
		"interval: 2s": "intervall: 2s",
	} {
		if s.Validate(asJSON(t, []byte(strings.Replace(inheriting, was, wrong, 1)))) == nil {
			t.Errorf("the schema accepts %s", wrong)
		}
	}
}

// The number of sets is limited.
func TestManySets(t *testing.T) {
	text := valid + "defaults:\n" + strings.Repeat("- {name: a}\n", maxSets+1)
	_, _, err := Parse("f", []byte(text))
	if want := "f:9:1: 1001 sets of defaults: write at most 1000"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
