package discovery

import (
	"fmt"
	"strings"
	"testing"
)

// The largest files: one target group, or one for each server.
func BenchmarkGroups(b *testing.B) {
	var json, yaml strings.Builder
	for i := range maxServers {
		fmt.Fprintf(&json, `%c{"targets": ["10.0.%d.%d:80"], "labels": {"weight": "2"}}`, "[,"[min(i, 1)], i/256, i%256)
		fmt.Fprintf(&yaml, "- targets: ['10.0.%d.%d:80']\n  labels: {weight: 2}\n", i/256, i%256)
	}
	json.WriteString("]")
	for _, test := range []struct {
		name, text string
		read       reader
	}{{"json", json.String(), parseJSON}, {"yaml", yaml.String(), parseYAML}} {
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				if servers, err := parseText(test.text, test.read); err != nil || len(servers) != maxServers {
					b.Fatal(len(servers), err)
				}
			}
		})
	}
}
