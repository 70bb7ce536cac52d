package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Discovery is the lists of a backend whose entries find servers: one list for each kind of source.
type Discovery struct {
	// DNS discovers servers by name. Names are looked up again when the TTL of their records expires.
	DNS []DNS
	// Files discovers servers in files of Prometheus's file_sd format, which are read again when they change.
	Files []FileDiscovery
	// HTTP discovers servers at URLs of Prometheus's http_sd format, which are polled.
	HTTP []HTTPDiscovery
	// Kubernetes discovers servers in the endpoints of Services.
	Kubernetes []KubernetesDiscovery
}

// Finder is an entry of a list of [Discovery].
type Finder interface {
	// Kind returns the kind of lookup.
	Kind() string
	// Key returns the name that is looked up, which identifies the entry among those of its kind and backend.
	Key() string

	// check finds settings that contradict each other or the configuration. All entries of the list share twice.
	check(v *validator, at *step, twice seen, c *Config)
}

// finderList is a list of [Discovery].
type finderList struct {
	key     string // in the file
	finders []Finder
}

// lists returns the lists in the order in which their servers are merged.
func (d *Discovery) lists() []finderList {
	return []finderList{
		{"dns", finders(d.DNS)},
		{"files", finders(d.Files)},
		{"http", finders(d.HTTP)},
		{"kubernetes", finders(d.Kubernetes)},
	}
}

func finders[T any, F interface {
	*T
	Finder
}](list []T) []Finder {
	all := make([]Finder, len(list))
	for i := range list {
		all[i] = F(&list[i])
	}
	return all
}

// Finders returns the entries of all lists in the order in which their servers are merged. They refer to d.
func (d *Discovery) Finders() (all []Finder) {
	for _, l := range d.lists() {
		all = append(all, l.finders...)
	}
	return all
}

func (v *validator) discovery(at *step, d *Discovery, c *Config) {
	for _, l := range d.lists() {
		twice := seen{}
		for i, f := range l.finders {
			f.check(v, at.of(l.key).nth(i), twice, c)
		}
	}
}

// discoveryKeys returns the keys of the lists.
func discoveryKeys() (keys []string) {
	for _, l := range new(Discovery).lists() {
		keys = append(keys, l.key)
	}
	return keys
}

// discoveryDefaults is the defaults of entries: see fresh.
var discoveryDefaults = map[reflect.Type]any{
	reflect.TypeFor[DNS]():                 NewDNS(),
	reflect.TypeFor[FileDiscovery]():       FileDiscovery{},
	reflect.TypeFor[HTTPDiscovery]():       NewHTTPDiscovery(),
	reflect.TypeFor[KubernetesDiscovery](): NewKubernetesDiscovery(),
}

// discoveryRules is the rules of entries: see rules.
var discoveryRules = map[string]rule{
	"DNS.Name":        {needed: "no name: write the name whose addresses are servers", form: isDNSName},
	"DNS.Type":        {oneOf: newWords(DNSTypes)},
	"DNS.Port":        port,
	"DNS.MinInterval": timeout,
	"DNS.MaxInterval": timeout,
	"DNS.Weight":      {max: 1000},
	"DNS.Priority":    {max: 1000},
	"DNS.Locality":    {form: isName, name: true},

	"FileDiscovery.Path": {needed: "no path: write the path of the file", form: isPattern},

	"HTTPDiscovery.URL":       {needed: "no URL: write http://HOST/PATH or https://HOST/PATH", form: isURL},
	"HTTPDiscovery.Interval":  timeout,
	"HTTPDiscovery.Timeout":   timeout,
	"HTTPDiscovery.TokenFile": filePath,
	"HTTPDiscovery.CAFile":    filePath,

	"KubernetesDiscovery.Service":     {needed: "no service: write the name of the Service", form: isServiceName},
	"KubernetesDiscovery.Namespace":   {form: isNamespace},
	"KubernetesDiscovery.AddressType": {oneOf: newWords(AddressTypes)},
}

// DNS discovers the servers behind a name. When a lookup fails, the last good answer stays in use.
type DNS struct {
	// Name is the name to look up, without search domains.
	Name string
	// Type selects the records: "ip" (default, A and AAAA), "A", "AAAA", "A_or_AAAA" (AAAA if there is no A),
	// "AAAA_or_A" or "SRV".
	Type DNSType
	// Port is the port of the servers. SRV records bring their own.
	Port int
	// MinInterval is the shortest time between two lookups, whatever the TTL. Default: 1 s.
	MinInterval time.Duration
	// MaxInterval is the longest. Default: 5 min.
	MaxInterval time.Duration
	// Weight is the weight of each server, from 0 (none) to 1000. SRV records bring their own. Default: 1.
	Weight int
	// Priority is the priority of the servers, as [Server.Priority]. That of an SRV record is added to it. Default:
	// 0.
	Priority int
	// Locality is the location of the servers, as [Server.Locality].
	Locality string
}

// NewDNS returns a DNS discovery with default settings, without a name.
func NewDNS() DNS {
	return DNS{Type: DNSIP, MinInterval: time.Second, MaxInterval: 5 * time.Minute, Weight: 1}
}

// Kind returns "dns".
func (*DNS) Kind() string { return "dns" }

// Key returns the name, its port, and its type if that is not "ip".
func (d *DNS) Key() string {
	key := d.Name
	if d.Port != 0 {
		key += ":" + strconv.Itoa(d.Port)
	}
	if d.Type != DNSIP {
		key += " " + string(d.Type)
	}
	return key
}

func (d *DNS) check(v *validator, at *step, twice seen, _ *Config) {
	if d.Name != "" {
		v.unique(at.of("name"), fmt.Sprint(strings.ToLower(d.Name), " ", d.Type, " ", d.Port), twice)
	}
	switch {
	case d.Type == DNSSRV && d.Port != 0:
		v.add(at.of("port"), "port has no effect with SRV records: remove it, or write another type")
	case d.Type != DNSSRV && d.Port == 0 && slices.Contains(DNSTypes, d.Type):
		v.add(at.of("port"), "no port: write the port that the servers listen on, or type: SRV")
	}
	if d.MaxInterval < d.MinInterval {
		v.value(at.of("max_interval"), "%s is less than min_interval, %s: write at least that",
			formatDuration(d.MaxInterval), formatDuration(d.MinInterval)).Other = at.of("min_interval").String()
	}
}

// FileDiscovery reads servers from files of Prometheus's file_sd format, in JSON or YAML. The labels "weight",
// "priority", "backup", "locality", "name", "max_connections" and "state" of a target set the fields of [Server].
type FileDiscovery struct {
	// Path is the path of the file. Its last part may be a pattern of path.Match, for all files that match.
	Path string
}

// Kind returns "file".
func (*FileDiscovery) Kind() string { return "file" }

// Key returns the path.
func (f *FileDiscovery) Key() string { return f.Path }

func (f *FileDiscovery) check(v *validator, at *step, twice seen, _ *Config) {
	v.unique(at.of("path"), f.Path, twice)
}

// HTTPDiscovery polls a URL of Prometheus's http_sd format. The labels are those of [FileDiscovery].
type HTTPDiscovery struct {
	// URL is the http:// or https:// URL.
	URL string
	// Interval is the time between two requests, with a jitter of 10 %. Default: 30 s.
	Interval time.Duration
	// Timeout limits a request. Default: 10 s.
	Timeout time.Duration
	// TokenFile is a file with a bearer token, read again for each request. Empty (default): no token.
	TokenFile string
	// CAFile is a file with the certificates of trusted authorities. Empty (default): the system's.
	CAFile string
}

// NewHTTPDiscovery returns an HTTP discovery with default settings, without a URL.
func NewHTTPDiscovery() HTTPDiscovery {
	return HTTPDiscovery{Interval: 30 * time.Second, Timeout: 10 * time.Second}
}

// Kind returns "http".
func (*HTTPDiscovery) Kind() string { return "http" }

// Key returns the URL.
func (h *HTTPDiscovery) Key() string { return h.URL }

func (h *HTTPDiscovery) check(v *validator, at *step, twice seen, _ *Config) {
	v.secretURL(at, h.URL, h.TokenFile)
	v.unique(at.of("url"), h.URL, twice)
	v.authority(at, h.URL, h.CAFile)
}

// KubernetesDiscovery watches the EndpointSlices of a Service. A ready endpoint is up; a terminating one that still
// serves drains, unless no other is left; the rest is ignored. The zone of an endpoint is its locality.
type KubernetesDiscovery struct {
	// Service is the name of the Service.
	Service string
	// Namespace is the namespace of the Service. Empty (default): that of the pod that the process runs in.
	Namespace string
	// Port is the name or number of the endpoints' port, which is the targetPort of the Service and not its port.
	// Empty (default): the only one.
	Port ServicePort
	// AddressType is "ip" (default), for all addresses, "IPv4" or "IPv6". Choose one for a dual-stack Service;
	// otherwise each of its pods counts as two servers.
	AddressType AddressType
}

// NewKubernetesDiscovery returns a Kubernetes discovery with default settings, without a Service.
func NewKubernetesDiscovery() KubernetesDiscovery {
	return KubernetesDiscovery{AddressType: AnyAddress}
}

// Kind returns "kubernetes".
func (*KubernetesDiscovery) Kind() string { return "kubernetes" }

// Key returns the namespace and the Service, its port, and the type of its addresses if that is not "ip".
func (k *KubernetesDiscovery) Key() string {
	key := k.Service
	if k.Namespace != "" {
		key = k.Namespace + "/" + key
	}
	if k.Port != "" {
		key += ":" + string(k.Port)
	}
	if k.AddressType != AnyAddress {
		key += " " + string(k.AddressType)
	}
	return key
}

func (k *KubernetesDiscovery) check(v *validator, at *step, twice seen, c *Config) {
	if k.Service == "" {
		return
	}
	v.unique(at.of("service"), k.Namespace+"/"+k.Service+":"+string(k.Port)+" "+string(k.AddressType), twice)
	if k.Namespace == "" && c.Kubernetes.Address != "" {
		v.add(at.of("namespace"), "no namespace: an API server with an address has no pod to take it from: write it, "+
			"as in default").Other = "kubernetes.address"
	}
}
