package config

import (
	"fmt"
	"slices"
)

// Section documents a mapping of the file. Its texts have settings and values in backquotes.
type Section struct {
	Key      string   // of the settings with this mapping; "" for the file itself
	Anchor   string   // the key, with a number if another section has the same
	In       []string // keys of the sections that it is in
	As       []string // keys under which they have it
	Text     string   // description
	Settings []Setting
}

// Setting documents a key of a mapping.
type Setting struct {
	Key      string
	Values   string // what may be written; "" for a mapping, or a list of them
	Section  string // the anchor of that mapping's section, or ""
	List     bool   // it is a list
	Required bool
	Default  any // nil if it has none
	Text     string
}

// Reference documents every setting, in the order of the file.
func Reference() []Section {
	parents, keys := map[*shape][]string{}, map[*shape][]string{}
	eachField(root, func(s *shape, f *field) {
		if f.shape != nil && s != root && !s.isSet() {
			parents[f.shape] = appendNew(parents[f.shape], keyOf(s.typ.Name()))
			keys[f.shape] = appendNew(keys[f.shape], f.key)
		}
	})
	links := anchors()
	var all []Section
	eachShape(root, func(s *shape) {
		section := Section{In: parents[s], As: keys[s]}
		if s != root {
			section.Key, section.Anchor, section.Text = keyOf(s.typ.Name()), links[s], documentation(s, nil)
		}
		if s.isSet() { // the settings are those of listeners or backends
			all = append(all, section)
			return
		}
		for _, f := range s.fields {
			setting := Setting{
				Key: f.key, List: f.isList(), Required: f.rule.needed != "", Text: documentation(s, f),
			}
			if f.shape != nil {
				setting.Section = links[f.shape]
			} else {
				setting.Values = f.values()
			}
			if value, ok := s.defaultOf(f); ok {
				setting.Default = value
			}
			section.Settings = append(section.Settings, setting)
		}
		all = append(all, section)
	})
	return all
}

func appendNew(all []string, s string) []string {
	if slices.Contains(all, s) {
		return all
	}
	return append(all, s)
}

// anchors returns the anchor of each shape's heading. The second of two equal headings ends in "-1".
func anchors() map[*shape]string {
	links, times := map[*shape]string{}, map[string]int{}
	eachShape(root, func(s *shape) {
		key := keyOf(s.typ.Name())
		links[s] = key
		if n := times[key]; n > 0 {
			links[s] = fmt.Sprintf("%s-%d", key, n)
		}
		times[key]++
	})
	return links
}
