package config

import (
	"strings"
	"testing"
)

// A server's own check fits the check of its backend.
func TestServerChecks(t *testing.T) {
	for _, c := range []struct{ check, server, want string }{
		{"{interval: 1s}", "{address: 'a:1', check: {port: 8008, send: x, expect: y}, agent: {port: 2}}", ""},
		{"{interval: 1s}", "{address: 'a:1', check: {port: 65536}}", "port 65536 is out of range"},
		{"{interval: 1s}", "{address: 'a:1', check: {disabled: true, port: 8008}}", "f:4:50: disabled and other settings"},
		{"{interval: 1s}", "{address: 'a:1', check: {send: x, steps: [{send: y}]}}", "steps take the place of send"},
		{"{interval: 1s}", "{address: 'a:1', check: {steps: [{send: y, send_hex: '00'}]}}", "are both set"},
		{"{interval: 1s, protocol: mysql}", "{address: 'a:1', check: {send: x}}", "send does not fit the protocol mysql"},
		{"{interval: 1s, protocol: mysql}", "{address: 'a:1', check: {port: 2}}", ""},
		{"{interval: 1s, protocol: udp, send: x}", "{address: 'a:1', check: {expect: x}}", "requires something to send"},
		{"{interval: 1s}", "{address: 'unix:///a', check: {port: 2}}", "port does not fit a unix socket"},
		{"{interval: 1s}", "{address: 'unix:///a', agent: {port: 2}}", "port does not fit a unix socket"},
	} {
		text := "listeners: [{name: l, address: '127.0.0.1:1', backend: b}]\nbackends:\n  - name: b\n" +
			"    servers: [" + c.server + "]\n    check: " + c.check + "\n"
		_, _, err := Parse("f", []byte(text))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, %s: %v, want %q", c.check, c.server, err, c.want)
		}
	}
}
