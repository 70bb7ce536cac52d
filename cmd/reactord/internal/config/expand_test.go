package config

import (
	"testing"
	"time"
)

func TestExpand(t *testing.T) {
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{"A": "a", "EMPTY": "", "_1": "${A}"}[name]
		return v, ok
	}
	for text, want := range map[string]string{
		"${A}": "a", "x${A}${A}y": "xaay", "${B:-b}": "b", "${EMPTY:-b}": "b", "${EMPTY}": "", "${B:-}": "",
		"$${A}": "${A}",
		"${_1}": "${A}", "$A": "$A", "$": "$", "${B:-a:-b}": "a:-b", "$$$${A}": "$$${A}", "${B:-$A}": "$A",
	} {
		if got, _, err := expand(text, lookup); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"${B}":     "the environment variable B is not set: set it, or write ${B:-DEFAULT}",
		"a${A":     `"${A" has no closing brace: write ${NAME}, or $${ for the text ${`,
		"${}":      `"" is not the name of a variable: write ${NAME} or ${NAME:-DEFAULT}, or $${ for the text ${`,
		"${1A}":    `"1A" is not the name of a variable: write ${NAME} or ${NAME:-DEFAULT}, or $${ for the text ${`,
		"${A-b}":   `"A-b" is not the name of a variable: write ${NAME} or ${NAME:-DEFAULT}, or $${ for the text ${`,
		"${A}${B}": "the environment variable B is not set: set it, or write ${B:-DEFAULT}",
	} {
		if got, _, err := expand(text, lookup); err == nil || err.Error() != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"${", "$${", "a$${${b}", "$$$${"} {
		if got, _, err := expand(literal(text), lookup); err != nil || got != text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// Variables stand for values of every type, and errors are at their places.
func TestEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"TEST_INT": "7", "TEST_BOOL": "true", "TEST_TIME": "5s", "TEST_SIZE": "8KiB", "TEST_HOST": "Example.Org",
		"TEST_MODE": "0660",
		"TEST_IP":   "192.0.2.7", "TEST_BAD": "x: [y\n", "TEST_WORD": "warn", "TEST_EMPTY": "",
	} {
		t.Setenv(name, value)
	}
	c, _, err := Parse("a.yaml", []byte(`loops: ${TEST_INT}
pin: ${TEST_BOOL}
metrics: ${TEST_EMPTY}
log: {level: "${TEST_WORD}"}
admin: {mode: "${TEST_MODE}"}
drain: {timeout: "${TEST_TIME}", delay: "${TEST_NONE:-1}s"}
listeners:
  - {name: "web-${TEST_INT}", address: "tcp://127.0.0.1:808${TEST_INT}", backend: app}
backends:
  - name: app
    servers: ["${TEST_HOST}:9000"]
    buffer: ${TEST_SIZE}
    source_addresses: ["${TEST_IP}"]
    check: {interval: 1s, send: "${TEST_BAD}"}
`))
	if err != nil {
		t.Fatal(err)
	}
	b := c.Backends[0]
	if c.Loops != 7 || !c.Pin || !c.Metrics.Address.IsZero() || c.Log.Level != "warn" || c.Admin.Mode != 0o660 ||
		c.Drain.Timeout != 5*time.Second || c.Drain.Delay != time.Second ||
		c.Listeners[0].Name != "web-7" || c.Listeners[0].Address != at("127.0.0.1", 8087) ||
		b.Servers[0].Address != at("example.org", 9000) || b.Buffer != 8*KiB ||
		b.SourceAddresses[0].String() != "192.0.2.7" ||
		b.Check.Send != "x: [y\n" {
		t.Errorf("%+v", c)
	}
	expect(t, "loops: ${TEST_BOOL}\npin: ${TEST_INT}\nmin_wait: ${TEST_NONE}\nring: ${TEST_WORD}\nloop: \"${\"\n"+valid,
		`a.yaml:1:8: loops is a whole number, not "true"
a.yaml:2:6: pin is true or false, not "7"
a.yaml:3:11: the environment variable TEST_NONE is not set: set it, or write ${TEST_NONE:-DEFAULT}
a.yaml:4:7: ring "warn" is unknown: write one of "auto", "io_uring" and "epoll"
a.yaml:5:1: key "loop" is unknown: did you mean "loops"?`)
}
