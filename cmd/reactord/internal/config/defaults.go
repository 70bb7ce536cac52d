package config

// Defaults is a set of settings that listeners and backends inherit, so that a file does not repeat them. What an entry
// sets itself takes precedence: setting by setting in mappings, and whole lists. A set enables no checks where an entry
// has check: {interval: 0s}.
type Defaults struct {
	// Name identifies the set for From of listeners, backends and other sets. Empty: the set applies to all of them; at
	// most one set has no name.
	Name string
	// From is the name of the set that this one inherits. Empty (default): the set without a name.
	From string
	// Listener has settings of listeners.
	Listener ListenerDefaults
	// Backend has settings of backends.
	Backend BackendDefaults
}

// ListenerDefaults has the same settings as [Config.Listeners], except name, address and from.
type ListenerDefaults struct{ Listener }

// BackendDefaults has the same settings as [Config.Backends], except name, from and what lists or finds servers.
type BackendDefaults struct{ Backend }

// newDefaults returns a set with the built-in defaults.
func newDefaults() Defaults {
	return Defaults{Listener: ListenerDefaults{NewListener()}, Backend: BackendDefaults{NewBackend()}}
}
