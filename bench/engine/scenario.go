package engine

import (
	"bytes"
	"fmt"

	"github.com/goccy/go-yaml"
)

// ModeNames returns the names of the modes for scenarios.
func ModeNames() []string {
	return []string{"echo", "connect", "stream", "hold", "udp", "slow", "halfclose", "http", "redis"}
}

// NewMode returns the mode with this name and its default options, or nil if there is no such mode.
func NewMode(name string) Mode {
	switch name {
	case "echo", "rate":
		return &Echo{}
	case "connect":
		return &Connect{}
	case "stream":
		return &Stream{}
	case "hold":
		return &Hold{}
	case "udp":
		return &UDP{}
	case "slow":
		return &Slow{}
	case "halfclose":
		return &HalfClose{}
	case "http":
		return &HTTP{}
	case "redis":
		return &Redis{}
	}
	return nil
}

// ParseScenario parses a mixed load, which is a YAML document:
//
//	parts:
//	  - name: small          # default: the mode
//	    mode: echo
//	    weight: 9            # default: 1
//	    connections: 90      # default: a share by weight; for every part or for none
//	    options: {size: 64-256, depth: 4}
//	  - mode: connect
//	    connections: 10
//	    options: {close: rst}
//
// The options are the mode's on the command line, without the dashes. An unknown key is an error that names its line.
func ParseScenario(text []byte) ([]Part, error) {
	var doc struct {
		Parts []struct {
			Name        string        `yaml:"name"`
			Mode        string        `yaml:"mode"`
			Weight      float64       `yaml:"weight"`
			Connections int           `yaml:"connections"`
			Options     yaml.MapSlice `yaml:"options"`
		} `yaml:"parts"`
	}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&doc); err != nil {
		return nil, err
	}
	var parts []Part
	for i, d := range doc.Parts {
		p := Part{Name: d.Name, Mode: NewMode(d.Mode), Weight: d.Weight, Connections: d.Connections}
		if p.Name == "" {
			p.Name = d.Mode
		}
		if p.Mode == nil {
			return nil, fmt.Errorf("part %d: there is no mode %q; the modes are %v", i+1, d.Mode, ModeNames())
		}
		if len(d.Options) > 0 {
			options, err := yaml.Marshal(d.Options)
			if err != nil {
				return nil, err
			}
			if err := yaml.NewDecoder(bytes.NewReader(options), yaml.Strict()).Decode(p.Mode); err != nil {
				return nil, fmt.Errorf("part %d (%s): %w", i+1, p.Name, err)
			}
		}
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("the scenario has no parts")
	}
	return parts, nil
}
