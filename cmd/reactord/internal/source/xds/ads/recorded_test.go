package ads

import (
	"maps"
	"os"
	"strings"
	"testing"
)

// TestRecorded replays what control planes have sent, see testdata/recorded.txt.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/recorded.txt")
	if err != nil {
		t.Fatal(err)
	}
	recordings := strings.Split(string(text), "\n= ")[1:]
	if len(recordings) < 20 {
		t.Fatalf("%d recordings only", len(recordings))
	}
	for _, recording := range recordings {
		title, lines, _ := strings.Cut(recording, "\n")
		t.Run(title, func(t *testing.T) { replay(t, strings.Split(strings.TrimSpace(lines), "\n")) })
	}
}

func replay(t *testing.T, lines []string) {
	s := begin(t)
	held := map[Type]string{}
	for _, line := range lines {
		what, rest, _ := strings.Cut(line, " ")
		switch what {
		case "restore":
			kind, resources, _ := strings.Cut(rest, " ")
			s.Restore(shorts[kind], versions(resources))
		case "want":
			s.want(rest)
		case "held":
			kind, resources, _ := strings.Cut(rest, " ")
			held[shorts[kind]] = resources
		default:
			s.drain()
			s.takes(line)
			s.sends(what + " ack " + strings.Fields(rest)[0])
		}
	}
	s.drain()
	if said := s.after(DefaultSettle); said != "" {
		t.Errorf("these are taken for gone: %s", said)
	}
	for _, sub := range s.types {
		got := map[string]string{}
		for resource, n := range sub.names {
			if n.held {
				got[resource] = n.version
			}
		}
		if want := versions(held[sub.kind]); !maps.Equal(got, want) {
			t.Errorf("%s: held are\n%v, want\n%v", short(string(sub.kind)), got, want)
		}
	}
}

// versions reads "a=1 b=2".
func versions(resources string) map[string]string {
	all := map[string]string{}
	for r := range strings.FieldsSeq(resources) {
		name, version, _ := strings.Cut(r, "=")
		all[name] = version
	}
	return all
}
