package plan

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Lines returns the changes for people, one per line: "listener web: max_connections 0 → 100", "backend app:
// +10.0.0.3:80 -10.0.0.1:80". If there are more than most, the last line says how many.
func (d *Diff) Lines(most int) []string {
	var l lines
	if d.Old != nil {
		l.addSettings("limits", d.Old.Limits, d.New.Limits)
		l.addSettings("drain", d.Old.Drain, d.New.Drain)
		l.addSettings("upgrade", d.Old.Upgrade, d.New.Upgrade)
		l.addSettings("access_log", d.Old.AccessLog, d.New.AccessLog)
	}
	for _, c := range d.Listeners {
		l.listener(c)
	}
	for _, c := range d.Backends {
		l.backend(c)
	}
	if len(l) > most {
		return append(l[:most:most], fmt.Sprintf("and %d more", len(l)-most))
	}
	return l
}

type lines []string

func (l *lines) add(of, what string) {
	if what != "" {
		*l = append(*l, of+": "+what)
	}
}

// addSettings adds the fields of a struct that differ.
func (l *lines) addSettings(of string, old, next any) {
	l.add(of, strings.Join(formatChanges("", reflect.ValueOf(old), reflect.ValueOf(next)), ", "))
}

func (l *lines) listener(c ListenerChange) {
	switch {
	case c.Old == nil:
		l.add("listener "+c.New.Name, "added on "+c.New.Place())
	case c.New == nil:
		l.add("listener "+c.Old.Name, "removed from "+c.Old.Place())
	default:
		l.addSettings("listener "+c.Old.Name, c.Old.Listener, c.New.Listener)
		l.add("listener "+c.New.Name, c.New.Keys.Changes(c.Old.Keys))
		for i := range min(len(c.Old.RouteKeys), len(c.New.RouteKeys)) {
			l.add(fmt.Sprintf("listener %s: route %d", c.New.Name, i+1), c.New.RouteKeys[i].Changes(c.Old.RouteKeys[i]))
		}
	}
}

func (l *lines) backend(c BackendChange) {
	if c.New == nil {
		l.add("backend "+c.Old.Name(), "removed")
		return
	}
	of := "backend " + c.New.Name()
	if c.Old == nil {
		l.add(of, fmt.Sprintf("added with %d servers", len(c.New.Servers)))
		return
	}
	if c.Settings {
		l.addSettings(of, *c.Old.Settings, *c.New.Settings)
		l.add(of, c.New.Keys.Changes(c.Old.Keys))
	}
	l.servers(of, c.Servers)
}

// maxListed limits the added and removed servers that one line lists.
const maxListed = 16

func (l *lines) servers(of string, changes []ServerChange) {
	var listed []string
	for _, c := range changes {
		switch {
		case c.Old == nil:
			listed = append(listed, "+"+c.New.Name)
		case c.New == nil:
			listed = append(listed, "-"+c.Old.Name)
		}
	}
	if n := len(listed); n > maxListed {
		listed = append(listed[:maxListed], fmt.Sprintf("and %d more", n-maxListed))
	}
	l.add(of, strings.Join(listed, " "))
	for _, c := range changes {
		if c.Old != nil && c.New != nil {
			l.addSettings(fmt.Sprintf("%s: server %s", of, c.Old.Name), c.Old.unexplained(), c.New.unexplained())
		}
	}
}

// formatChanges returns "setting old → new" for each field that differs, in the order of the struct.
func formatChanges(prefix string, old, next reflect.Value) (all []string) {
	for i := range old.NumField() {
		a, b := old.Field(i), next.Field(i)
		if reflect.DeepEqual(a.Interface(), b.Interface()) {
			continue
		}
		field := old.Type().Field(i).Name
		name := prefix + config.Key(field)
		if config.IsSecret(old.Type(), field) || a.Kind() == reflect.Pointer {
			all = append(all, name+" changed")
			continue
		}
		if _, text := reflect.TypeAssert[fmt.Stringer](a); a.Kind() == reflect.Struct && !text {
			all = append(all, formatChanges(name+".", a, b)...)
			continue
		}
		all = append(all, fmt.Sprintf("%s %s → %s", name, formatValue(a), formatValue(b)))
	}
	return all
}

func formatValue(v reflect.Value) string {
	if v.Kind() == reflect.String {
		return fmt.Sprintf("%q", v.String())
	}
	return fmt.Sprint(v.Interface())
}
