package main

import (
	"fmt"
	"strings"
)

const preface = `# What reactord knows of xDS

Envoy's API as reactord speaks it, message by message. A control plane may set every field that is *honoured*, with what
is in brackets as the limit. A field that is *ignored* changes nothing that reactord does. A field that is *refused*,
one that is newer than this page, and an extension of a type that is not on this page make reactord refuse the resource by
name with the reason (a NACK); the other resources of the same push are applied, and the resource's last good version
stays in force.

This page is generated from ` + "`cmd/reactord/internal/source/xds/envoypb/subset.txt`" + ` by ` +
	"`go generate ./cmd/reactord/internal/source/xds/envoypb`" + `.
`

// Documentation returns docs/xds.md.
func Documentation(list *List) string {
	var b strings.Builder
	b.WriteString(preface)
	section := ""
	for _, m := range list.Messages {
		if m.Section != section {
			section = m.Section
			fmt.Fprintf(&b, "\n## %s\n", section)
		}
		fmt.Fprintf(&b, "\n### `%s`\n\n", m.Name)
		fields := find(m.Name).Fields()
		if fields.Len() == 0 {
			b.WriteString("It has no fields.\n")
		}
		for _, t := range []struct {
			treatment Treatment
			title     string
		}{{Honoured, "Honoured"}, {Ignored, "Ignored"}, {Refused, "Refused"}} {
			var names []string
			for i := range fields.Len() {
				f := m.field(string(fields.Get(i).Name()))
				if f.Treatment != t.treatment {
					continue
				}
				name := "`" + f.Name + "`"
				if f.Remark != "" {
					name += " (" + f.Remark + ")"
				}
				names = append(names, name)
			}
			if len(names) > 0 {
				fmt.Fprintf(&b, "- %s: %s\n", t.title, strings.Join(names, ", "))
			}
		}
	}
	return b.String()
}
