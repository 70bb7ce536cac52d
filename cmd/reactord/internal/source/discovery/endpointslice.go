package discovery

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// endpointSlice is the part of an EndpointSlice of discovery.k8s.io/v1 that matters.
type endpointSlice struct {
	Metadata struct {
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	AddressType string     `json:"addressType"`
	Endpoints   []endpoint `json:"endpoints"`
	Ports       []struct {
		Name string `json:"name"`
		Port int    `json:"port"` // 0 for any
	} `json:"ports"`
}

// endpoint is an endpoint of a slice. All its addresses belong to one pod; the first one is used.
type endpoint struct {
	Addresses  []string `json:"addresses"`
	Conditions struct {
		Ready       *bool `json:"ready"`       // nil means true
		Serving     *bool `json:"serving"`     // nil means the same as Ready
		Terminating bool  `json:"terminating"` // null means false
	} `json:"conditions"`
	Zone      string `json:"zone"`
	TargetRef struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"targetRef"`
}

// state returns the state by the conditions. ok is false if the endpoint takes no connections at all.
func (e *endpoint) state() (s plan.State, ok bool) {
	ready := e.Conditions.Ready == nil || *e.Conditions.Ready
	serving := ready
	if e.Conditions.Serving != nil {
		serving = *e.Conditions.Serving
	}
	switch {
	case ready:
		return plan.Up, true
	case serving && e.Conditions.Terminating:
		return plan.Drain, true
	}
	return 0, false
}

// part is the contribution of a slice.
type part struct {
	servers []plan.Server
	missing bool     // has endpoints, but not the port
	ports   []string // its ports, if the wanted one is not among them
	unused  string   // why its addresses are unusable, or ""
}

// sliceReader converts slices to parts.
type sliceReader struct {
	port   config.ServicePort
	family config.AddressType
	origin string
}

// part converts a slice.
func (r *sliceReader) part(s *endpointSlice) (p part, err error) {
	at := "EndpointSlice " + strconv.Quote(s.Metadata.Name)
	if s.Metadata.Name == "" {
		return p, fmt.Errorf("%w: an EndpointSlice without a name", errInvalid)
	}
	if s.AddressType != "IPv4" && s.AddressType != "IPv6" {
		p.unused = fmt.Sprintf("%s has addresses of the unused type %q", at, s.AddressType)
		return p, nil
	}
	if r.family != config.AnyAddress && string(r.family) != s.AddressType {
		return p, nil
	}
	port, found := r.find(s)
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		state, ok := e.state()
		if !ok {
			continue
		}
		if !found {
			p.missing, p.ports = true, r.describe(s)
			return p, nil
		}
		server, err := r.server(s, e, port)
		if err != nil {
			return p, fmt.Errorf("%w: %s: %w", errInvalid, at, err)
		}
		server.State = state
		p.servers = append(p.servers, server)
	}
	return p, nil
}

// find returns the wanted port's number.
func (r *sliceReader) find(s *endpointSlice) (port int, found bool) {
	number := int(r.port.Number())
	if r.port != "" && number != 0 && len(s.Ports) == 0 {
		return number, true // the Service has no ports
	}
	for _, p := range s.Ports {
		switch {
		case r.port == "":
			if found && p.Port != port {
				return 0, false // ambiguous
			}
			port, found = p.Port, p.Port != 0
		case number == 0 && p.Name == string(r.port):
			return p.Port, p.Port != 0
		case number != 0 && (p.Port == number || p.Port == 0):
			return number, true
		}
	}
	return port, found
}

// describe lists the ports of a slice for people.
func (r *sliceReader) describe(s *endpointSlice) (all []string) {
	for _, p := range s.Ports {
		text := strconv.Itoa(p.Port)
		if p.Name != "" {
			text = printable(p.Name) + " (" + text + ")"
		}
		all = append(all, text)
	}
	return all
}

func (r *sliceReader) server(s *endpointSlice, e *endpoint, port int) (plan.Server, error) {
	if len(e.Addresses) == 0 {
		return plan.Server{}, errors.New("an endpoint without an address")
	}
	ip, err := netip.ParseAddr(e.Addresses[0])
	if err != nil || ip.Is4() != (s.AddressType == "IPv4") || ip.Zone() != "" {
		return plan.Server{}, fmt.Errorf("%.60q is not an address of the type %s", e.Addresses[0], s.AddressType)
	}
	if port < 1 || port > 65535 {
		return plan.Server{}, fmt.Errorf("port %d", port)
	}
	if zone := printable(e.Zone); zone != e.Zone || len(zone) > maxWord {
		return plan.Server{}, fmt.Errorf("the zone %.60q", e.Zone)
	}
	at := serveraddr.IP(netip.AddrPortFrom(ip.Unmap(), uint16(port)))
	out := plan.Server{Name: at.String(), Address: at, Weight: 1, Locality: e.Zone, Origin: r.origin}
	if e.TargetRef.Kind == "Pod" {
		out.Origin += ", pod " + printable(e.TargetRef.Name)
	}
	return out, nil
}

// join merges the servers of all slices, sorted, and what is wrong with them. An endpoint may be in two slices for a
// while; it is ready if either says so. Without a ready endpoint, terminating ones that still serve are used, as by
// kube-proxy. The servers are nil if nothing is known.
func join(parts map[string]part, port config.ServicePort) (servers []plan.Server, err error) {
	if len(parts) == 0 {
		return nil, fmt.Errorf("%w: no EndpointSlice: check that the Service exists and has a selector", errEmpty)
	}
	servers = []plan.Server{}
	var unused []error
	var ports []string
	missing := false
	for _, p := range parts {
		servers = append(servers, p.servers...)
		if p.unused != "" {
			unused = append(unused, fmt.Errorf("%w: %s", errInvalid, p.unused))
		}
		missing, ports = missing || p.missing, append(ports, p.ports...)
	}
	if len(servers) == 0 && missing {
		return nil, noPort(port, ports)
	}
	slices.SortFunc(servers, func(a, b plan.Server) int {
		return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.State, b.State), cmp.Compare(a.Locality, b.Locality),
			cmp.Compare(a.Origin, b.Origin))
	})
	servers = slices.CompactFunc(servers, func(a, b plan.Server) bool { return a.Address == b.Address })
	if len(servers) > maxServers {
		return nil, errTooMany
	}
	if !slices.ContainsFunc(servers, func(s plan.Server) bool { return s.State == plan.Up }) {
		for i := range servers {
			servers[i].State = plan.Up
		}
	}
	if len(unused) == len(parts) {
		servers = nil
	}
	return servers, joined(unused)
}

// noPort returns the error for slices without the wanted port.
func noPort(port config.ServicePort, ports []string) error {
	slices.Sort(ports)
	ports = slices.Compact(ports)
	if len(ports) > maxErrors {
		ports = append(ports[:maxErrors], "…")
	}
	have := "they have " + strings.Join(ports, ", ")
	switch {
	case len(ports) == 0:
		return fmt.Errorf("%w: the endpoints name no port: write port, as a number", errInvalid)
	case port == "":
		return fmt.Errorf("%w: the endpoints have several ports: write port: %s", errInvalid, have)
	}
	return fmt.Errorf("%w: the endpoints have no port %s: %s", errInvalid, port, have)
}

// sliceList is a page of a list.
type sliceList struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
	Items []endpointSlice `json:"items"`
}

// sliceEvent is an event of a watch. The object of an "ERROR" event is a Status.
type sliceEvent struct {
	Type   string `json:"type"`
	Object struct {
		endpointSlice
		status
	} `json:"object"`
}

// Limits of what the API server sends, in bytes. An object in etcd has at most 1.5 MiB.
const (
	maxPage  = 16 << 20
	maxEvent = 8 << 20
)

// bounded fails beyond a number of bytes.
type bounded struct {
	from io.Reader
	most int64
	read int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.read >= b.most {
		return 0, fmt.Errorf("%w: more than %s in one piece", errInvalid, sizeText(b.most))
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.most-b.read)])
	b.read += int64(n)
	return n, err
}

// events reads the events of a watch.
type events struct {
	from    bounded
	decoder *json.Decoder
}

func newEvents(body io.Reader) *events {
	e := &events{from: bounded{from: body, most: maxEvent}}
	e.decoder = json.NewDecoder(&e.from)
	return e
}

// next returns the next event, or io.EOF at the end between two events. Invalid content is errInvalid; other errors
// are the connection's.
func (e *events) next() (*sliceEvent, error) {
	e.from.read = 0
	event := &sliceEvent{}
	err := e.decoder.Decode(event)
	if wrongJSON(err) {
		return nil, fmt.Errorf("%w: not an event: %w", errInvalid, err)
	}
	return event, err
}

// wrongJSON reports whether an error concerns the text, and not reading it.
func wrongJSON(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	return syntax || kind
}
