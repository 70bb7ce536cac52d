package bootstrap

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Flags has the flags of Envoy that have an effect.
type Flags struct {
	ConfigPath string // --config-path, -c
	ConfigYAML string // --config-yaml: put over the file

	// Node, Cluster and Zone are those of the node that a bootstrap does not name.
	Node, Cluster, Zone string

	LogLevel         string // in reactord's words; empty: not given
	AdminAddressPath string // of the file that the address of the admin server is written to
	Concurrency      int    // loops; 0: not given
	// Drain is how long connections may take to end; negative: not given.
	Drain time.Duration
	// Validate asks to check the bootstrap only, Version to print the version only.
	Validate, Version bool
	// Ignored are the flags that were given and mean nothing here.
	Ignored []string
}

// ErrFlags is the error that every error of [ParseFlags] matches.
var ErrFlags = errors.New("wrong flags of Envoy")

// levels are the words of Envoy for levels of the log.
var levels = map[string]string{
	"trace": "debug", "debug": "debug", "info": "info", "warning": "warn", "warn": "warn", "error": "error",
	"critical": "error", "off": "error",
}

// valued are the flags that have a value. Those without a function mean nothing here.
var valued = map[string]func(f *Flags, value string) error{
	"config-path":        func(f *Flags, v string) error { f.ConfigPath = v; return nil },
	"config-yaml":        func(f *Flags, v string) error { f.ConfigYAML = v; return nil },
	"service-node":       func(f *Flags, v string) error { f.Node = v; return nil },
	"service-cluster":    func(f *Flags, v string) error { f.Cluster = v; return nil },
	"service-zone":       func(f *Flags, v string) error { f.Zone = v; return nil },
	"admin-address-path": func(f *Flags, v string) error { f.AdminAddressPath = v; return nil },
	"log-level":          setLevel,
	"concurrency":        setConcurrency,
	"drain-time-s":       setDrain,
	"mode":               setMode,
	"restart-epoch":      setEpoch,

	"base-id": nil, "base-id-path": nil, "component-log-level": nil, "disable-extensions": nil, "drain-strategy": nil,
	"file-flush-interval-msec": nil, "file-flush-min-size-kb": nil, "local-address-ip-version": nil, "log-format": nil,
	"log-path": nil, "max-obj-name-len": nil, "max-stats": nil, "parent-shutdown-time-s": nil, "socket-mode": nil,
	"socket-path": nil, "stats-tag": nil,
}

// switches are the flags without a value. Those without a function mean nothing here.
var switches = map[string]func(f *Flags){
	"version": func(f *Flags) { f.Version = true },

	"allow-unknown-fields": nil, "allow-unknown-static-fields": nil, "cpuset-threads": nil, "disable-hot-restart": nil,
	"enable-core-dump": nil, "enable-fine-grain-logging": nil, "enable-mutex-tracing": nil, "hot-restart-version": nil,
	"ignore-unknown-dynamic-fields": nil, "log-format-escaped": nil, "log-format-prefix-with-location": nil,
	"reject-unknown-dynamic-fields": nil, "skip-deprecated-logs": nil, "skip-hot-restart-on-no-parent": nil,
	"skip-hot-restart-parent-stats": nil, "use-dynamic-base-id": nil,
}

// short are the short flags, which have a value.
var short = map[string]string{"-c": "config-path", "-l": "log-level"}

// ParseFlags reads a command line without the name of the program. What follows "--" is ignored, as Envoy does. Errors
// match [ErrFlags].
func ParseFlags(args []string) (*Flags, error) {
	f := &Flags{Drain: -1}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			break
		}
		name, value, inline := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if long, ok := short[name]; ok {
			name = long
		} else if !strings.HasPrefix(arg, "--") {
			return nil, fmt.Errorf("%w: %q is unknown", ErrFlags, arg)
		}
		if set, ok := switches[name]; ok && !inline {
			f.apply(name, func() { set(f) }, set != nil)
			continue
		}
		set, ok := valued[name]
		switch {
		case !ok:
			return nil, fmt.Errorf("%w: --%s is unknown", ErrFlags, name)
		case !inline && len(args) == 0:
			return nil, fmt.Errorf("%w: --%s has no value", ErrFlags, name)
		case !inline:
			value, args = args[0], args[1:]
		}
		var err error
		f.apply(name, func() { err = set(f, value) }, set != nil)
		if err != nil {
			return nil, fmt.Errorf("%w: --%s: %w", ErrFlags, name, err)
		}
	}
	if f.ConfigPath == "" && f.ConfigYAML == "" && !f.Version {
		return nil, fmt.Errorf("%w: neither --config-path nor --config-yaml is given", ErrFlags)
	}
	return f, nil
}

func (f *Flags) apply(name string, set func(), known bool) {
	if known {
		set()
	} else {
		f.Ignored = append(f.Ignored, "--"+name)
	}
}

func setLevel(f *Flags, value string) error {
	level, ok := levels[value]
	if !ok {
		return fmt.Errorf("%q is none of trace, debug, info, warning, error, critical, off", value)
	}
	f.LogLevel = level
	return nil
}

func setConcurrency(f *Flags, value string) (err error) {
	if f.Concurrency, err = strconv.Atoi(value); err != nil || f.Concurrency < 0 {
		return fmt.Errorf("%q is no number of threads", value)
	}
	return nil
}

func setDrain(f *Flags, value string) error {
	seconds, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return fmt.Errorf("%q is no number of seconds", value)
	}
	f.Drain = time.Duration(seconds) * time.Second
	return nil
}

func setMode(f *Flags, value string) error {
	switch value {
	case "serve":
	case "validate":
		f.Validate = true
	default:
		return fmt.Errorf("%q is not supported: use serve or validate", value)
	}
	return nil
}

func setEpoch(_ *Flags, value string) error {
	if value != "0" {
		return errors.New("a hot restart by Envoy's way is not supported: use 0, and SIGUSR2 to restart")
	}
	return nil
}
