package bootstrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/stream"
)

// Bootstrap has those parts of an Envoy bootstrap that concern a data plane of layer 4.
type Bootstrap struct {
	Node Node
	// Servers are the servers of ADS, the preferred ones first. There is at least one.
	Servers []stream.Server
	// ConnectTimeout limits the time to connect to them.
	ConnectTimeout time.Duration
	// PingInterval and PingTimeout are as in [stream.Config]; zero: the bootstrap does not say.
	PingInterval, PingTimeout time.Duration
	// InitialFetchTimeout limits how long listeners and clusters may take to arrive at first; 0 means no limit.
	InitialFetchTimeout time.Duration
	// Admin is the address of the admin server. Its network is empty without one.
	Admin Address
	// Listeners are those of the bootstrap itself that can be served: for readiness and metrics.
	Listeners []Listener
	// Warnings has what the author of the bootstrap may have overlooked.
	Warnings []string
	// Ignored are the fields that mean nothing here, by their paths.
	Ignored []string
}

// Address is one of [net.Listen].
type Address struct {
	Network string // "tcp" or "unix"
	Address string // HOST:PORT, or a path ("@NAME": an abstract one)
}

// Node describes this process to a control plane.
type Node struct {
	ID, Cluster           string
	Region, Zone, SubZone string
	Metadata              map[string]any // as in JSON
}

// connectTimeout is Envoy's default.
const connectTimeout = 5 * time.Second

// initialFetchTimeout is Envoy's default.
const initialFetchTimeout = 15 * time.Second

// Bootstrap reads the bootstrap that the flags name. Its file is read once.
func (f *Flags) Bootstrap() (*Bootstrap, error) {
	doc := document{}
	if f.ConfigPath != "" {
		var err error
		if doc, err = readDocument(f.ConfigPath); err != nil {
			return nil, err
		}
	}
	if f.ConfigYAML != "" {
		over, err := parseDocument([]byte(f.ConfigYAML))
		if err != nil {
			return nil, fmt.Errorf("--config-yaml: %w", err)
		}
		doc = merge(doc, over)
	}
	b, err := read(doc)
	if err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	or := func(to *string, flag string) {
		if *to == "" {
			*to = flag
		}
	}
	or(&b.Node.ID, f.Node)
	or(&b.Node.Cluster, f.Cluster)
	or(&b.Node.Zone, f.Zone)
	return b, nil
}

// read makes a Bootstrap of a document.
func read(doc document) (*Bootstrap, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var fields bootstrapFields
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, plain(err)
	}
	b := &Bootstrap{Ignored: unknown(doc, reflect.TypeFor[bootstrapFields](), "")}
	b.node(&fields.Node)
	if fields.Admin != nil {
		if b.Admin, err = fields.Admin.Address.address(); err != nil {
			return nil, fmt.Errorf("admin.address: %w", err)
		}
	}
	service, err := b.service(&fields.DynamicResources)
	if err != nil {
		return nil, fmt.Errorf("dynamic_resources: %w", err)
	}
	if err := b.servers(service, &fields.StaticResources); err != nil {
		return nil, err
	}
	b.listeners(fields.StaticResources.Listeners)
	return b, nil
}

// plain rewords an error of JSON for people.
func plain(err error) error {
	if of, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: %s is not what belongs here", of.Field, of.Value)
	}
	return err
}

// node notes the node. A locality that is still to be replaced is none: "$(ENVOY_SERVICE_ZONE)".
func (b *Bootstrap) node(n *nodeFields) {
	known := func(text, name string) string {
		if strings.HasPrefix(text, "$(") && strings.HasSuffix(text, ")") {
			b.warn("node.locality.%s is %s, which the starter of Envoy has not replaced: it is not told", name, text)
			return ""
		}
		return text
	}
	b.Node = Node{
		ID: n.ID, Cluster: n.Cluster, Metadata: n.Metadata, Region: known(n.Locality.Region, "region"),
		Zone: known(n.Locality.Zone, "zone"), SubZone: known(n.Locality.SubZone, "sub_zone"),
	}
}

func (b *Bootstrap) warn(format string, args ...any) {
	b.Warnings = append(b.Warnings, fmt.Sprintf(format, args...))
}

// service returns the service that listeners and clusters are asked from.
func (b *Bootstrap) service(d *dynamicFields) (*serviceFields, error) {
	b.InitialFetchTimeout = initialFetchTimeout
	api := d.ADS
	for _, s := range []struct {
		name   string
		source *sourceFields
	}{{"lds_config", d.LDS}, {"cds_config", d.CDS}} {
		switch {
		case s.source == nil:
			b.warn("dynamic_resources.%s is not set: they are asked for by ADS nevertheless", s.name)
			continue
		case s.source.API != nil:
			b.warn("dynamic_resources.%s has an API of its own: they are asked for by ADS", s.name)
			if api == nil {
				api = s.source.API
			}
		case s.source.ADS == nil:
			return nil, fmt.Errorf("%s: only ads and api_config_source are supported", s.name)
		}
		if t := s.source.InitialFetchTimeout; t != nil {
			b.InitialFetchTimeout = time.Duration(*t)
		}
	}
	if api == nil {
		return nil, errors.New("ads_config is not set: there is no control plane to ask")
	}
	return api.service()
}

// kinds are the APIs that delta ADS replaces.
var kinds = []any{
	"GRPC", "DELTA_GRPC", "AGGREGATED_GRPC", "AGGREGATED_DELTA_GRPC", float64(2), float64(3), float64(5), float64(6),
}

func (a *apiFields) service() (*serviceFields, error) {
	if !slices.Contains(kinds, a.Type) {
		return nil, fmt.Errorf("ads_config.api_type %v is not supported: use DELTA_GRPC", a.Type)
	}
	if a.Version == "V2" || a.Version == float64(1) {
		return nil, errors.New("ads_config.transport_api_version V2 is not supported: use V3")
	}
	if len(a.Services) == 0 {
		return nil, errors.New("ads_config.grpc_services is empty")
	}
	s := &a.Services[0]
	switch {
	case s.Google != nil:
		return nil, errors.New("ads_config.grpc_services: google_grpc is not supported: use envoy_grpc")
	case s.Envoy == nil || s.Envoy.Cluster == "":
		return nil, errors.New("ads_config.grpc_services: envoy_grpc.cluster_name is not set")
	case len(a.Services) > 1:
		return nil, errors.New("ads_config.grpc_services: only one is supported; its cluster may have several endpoints")
	}
	return s, nil
}

// unknown returns the paths of what no field of a type is for, in order.
func unknown(value any, of reflect.Type, path string) (all []string) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if items, list := value.([]any); list {
		if of.Kind() == reflect.Slice {
			for i, item := range items {
				all = append(all, unknown(item, of.Elem(), fmt.Sprintf("%s[%d]", path, i))...)
			}
		}
		return all
	}
	doc, message := value.(document)
	if of.Kind() == reflect.Slice && message { // one item without a list
		of = of.Elem()
	}
	if !message || of.Kind() != reflect.Struct || of == reflect.TypeFor[typed]() {
		return nil
	}
	known := map[string]reflect.Type{}
	for f := range of.Fields() {
		if f.IsExported() {
			known[f.Tag.Get("json")] = f.Type
		}
	}
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		at := strings.TrimPrefix(path+"."+key, ".")
		if next, ok := known[key]; ok {
			all = append(all, unknown(doc[key], next, at)...)
		} else if key != "@type" {
			all = append(all, at)
		}
	}
	return all
}
