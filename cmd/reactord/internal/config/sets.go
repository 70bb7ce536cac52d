package config

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Set is a live set of networks or of server names. Settings that list networks or server names refer to it as
// "set=NAME". Its contents follow its sources while the process runs, without a reload; a source that fails keeps its
// last good contents.
type Set struct {
	// Name identifies the set. Settings write "set=" before it.
	Name string
	// Type is what the set has: "networks" (default), or "server_names".
	Type SetType
	// Entries lists entries: networks or addresses, or names such as "example.org" and "*.example.org".
	Entries []string
	// Files lists files of entries, which are read again when they change.
	Files []SetFile
	// HTTP lists URLs of entries, which are polled.
	HTTP []SetHTTP
	// Crowdsec lists local APIs of CrowdSec, whose bans of addresses and ranges are entries.
	Crowdsec []SetCrowdsec
	// MinEntries is the number of entries that a file or a URL must have: a version with fewer is refused, and the last
	// good one stays. 0: it may become empty. Default: 1.
	MinEntries int
	// MaxSize limits the text of a file, or of an answer. Default: 64 MiB.
	MaxSize Size
}

// SetFile is a file with one entry a line. "#" and ";" begin comments.
type SetFile struct {
	// Path is the path of the file. Replace the file by a rename, so that it is never read half-written.
	Path string
}

// SetHTTP polls a URL for a text like that of a [SetFile]. A redirect to another host is refused.
type SetHTTP struct {
	// URL is the http:// or https:// URL.
	URL string
	// Interval is the time between two requests, with a jitter of 10 %. An unchanged answer costs little if the server
	// supports ETag. Default: 5 min.
	Interval time.Duration
	// Timeout limits a request. Default: 30 s.
	Timeout time.Duration
	// TokenFile is a file with a bearer token, read again for each request. Empty (default): no token.
	TokenFile string
	// CAFile is a file with the certificates of trusted authorities. Empty (default): the system's.
	CAFile string
}

// SetCrowdsec takes the decisions of CrowdSec of the type "ban", for scopes "Ip" and "Range". A decision ends when its
// duration does, also while the API does not answer.
type SetCrowdsec struct {
	// URL is the URL of the local API. Default: http://127.0.0.1:8080.
	URL string
	// KeyFile is a file with the key of a bouncer, as "cscli bouncers add" prints it, read again for each request.
	KeyFile string
	// Interval is the time between two requests. Default: 10 s.
	Interval time.Duration
	// Timeout limits a request. Default: 30 s.
	Timeout time.Duration
	// CAFile is a file with the certificates of trusted authorities. Empty (default): the system's.
	CAFile string
}

// SetType is what a [Set] has.
type SetType string

// The values of [SetType].
const (
	NetworkSet SetType = "networks"
	NameSet    SetType = "server_names"
)

// SetTypes lists the values of [SetType].
var SetTypes = []SetType{NetworkSet, NameSet}

// NewSet returns a set with default settings, without a name.
func NewSet() Set { return Set{Type: NetworkSet, MinEntries: 1, MaxSize: 64 * MiB} }

// NewSetHTTP returns a URL of a set with default settings, without the URL.
func NewSetHTTP() SetHTTP { return SetHTTP{Interval: 5 * time.Minute, Timeout: 30 * time.Second} }

// NewSetCrowdsec returns a local API with default settings, without a key.
func NewSetCrowdsec() SetCrowdsec {
	return SetCrowdsec{URL: "http://127.0.0.1:8080", Interval: 10 * time.Second, Timeout: 30 * time.Second}
}

// setDefaults is the defaults of sets: see fresh.
var setDefaults = map[reflect.Type]any{
	reflect.TypeFor[Set]():         NewSet(),
	reflect.TypeFor[SetFile]():     SetFile{},
	reflect.TypeFor[SetHTTP]():     NewSetHTTP(),
	reflect.TypeFor[SetCrowdsec](): NewSetCrowdsec(),
}

// setRules is the rules of sets: see rules.
var setRules = map[string]rule{
	"Set.Name":       {needed: "no name: settings refer to the set by it", form: isName},
	"Set.Type":       {oneOf: newWords(SetTypes)},
	"Set.MinEntries": {max: 1 << 30},
	"Set.MaxSize":    {min: int64(KiB), max: int64(GiB)},

	"SetFile.Path": {needed: "no path: write the path of the file", form: isPath},

	"SetHTTP.URL":       {needed: "no URL: write http://HOST/PATH or https://HOST/PATH", form: isURL},
	"SetHTTP.Interval":  {min: int64(time.Second), max: maxTimeout},
	"SetHTTP.Timeout":   timeout,
	"SetHTTP.TokenFile": filePath,
	"SetHTTP.CAFile":    filePath,

	"SetCrowdsec.URL": {form: isAPIServer},
	"SetCrowdsec.KeyFile": {
		needed: "no key: write the path of a file with the key of a bouncer: cscli bouncers add", form: isPath,
	},
	"SetCrowdsec.Interval": {min: int64(time.Second), max: maxTimeout},
	"SetCrowdsec.Timeout":  timeout,
	"SetCrowdsec.CAFile":   filePath,
}

// setPrefix precedes the name of a set where it is used.
const setPrefix = "set="

// SetOf returns the name of the set that a server name of a route refers to, or "".
func SetOf(name string) string {
	set, is := strings.CutPrefix(name, setPrefix)
	if !is {
		return ""
	}
	return set
}

// ParseSetEntry returns an entry of a set in the form in which it is compared: a network, or a name in lower case.
func (t SetType) ParseSetEntry(text string) (string, error) {
	if t == NameSet {
		if fault := sniFault(text); fault != "" {
			return "", fmt.Errorf("%s %s", quote(text), fault)
		}
		return strings.ToLower(text), nil
	}
	p, err := ParseNetwork(text)
	if err != nil {
		return "", err
	}
	return p.String(), nil
}

// ParseNetwork parses a network or a single address. An IPv4-mapped network becomes one of IPv4.
func ParseNetwork(text string) (netip.Prefix, error) {
	p, err := ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, err
	case p.Set != "":
		return netip.Prefix{}, fmt.Errorf("%s is a set: write a network, as in 10.0.0.0/8", quote(text))
	case p.Addr().Is4In6() && p.Bits() >= 96:
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96), nil
	}
	return p.Prefix, nil
}

// sets checks the sets of a configuration.
func (v *validator) sets(at *step, c *Config) {
	names := seen{}
	for i := range c.Sets {
		s, at := &c.Sets[i], at.nth(i)
		v.unique(at.of("name"), s.Name, names)
		if len(s.Crowdsec) > 0 && s.Type == NameSet {
			v.add(at.of("crowdsec"), "CrowdSec bans addresses: write type: networks, or remove it")
		}
		if s.Type == NetworkSet || s.Type == NameSet {
			for j, e := range s.Entries {
				if _, err := s.Type.ParseSetEntry(e); err != nil {
					v.value(at.of("entries").nth(j), "%s", err)
				}
			}
		}
		twice := [3]seen{{}, {}, {}}
		for j := range s.Files {
			v.unique(at.of("files").nth(j).of("path"), s.Files[j].Path, twice[0])
		}
		for j := range s.HTTP {
			h, at := &s.HTTP[j], at.of("http").nth(j)
			v.secretURL(at, h.URL, h.TokenFile)
			v.unique(at.of("url"), h.URL, twice[1])
			v.authority(at, h.URL, h.CAFile)
		}
		for j := range s.Crowdsec {
			h, at := &s.Crowdsec[j], at.of("crowdsec").nth(j)
			if h.URL == "" {
				v.add(at.of("url"), "no URL: write http://HOST:PORT or https://HOST:PORT, or leave it out")
			}
			if v.sentOpenly(h.URL, h.KeyFile) {
				v.add(at.of("url"), "the key would be sent unencrypted: write an https URL")
			}
			v.unique(at.of("url"), h.URL, twice[2])
			v.authority(at, h.URL, h.CAFile)
		}
	}
	known := newSetNames(c.Sets)
	for i := range c.Listeners {
		l, at := &c.Listeners[i], (*step)(nil).of("listeners").nth(i)
		v.networks(at.of("allow"), l.Allow, known)
		v.networks(at.of("deny"), l.Deny, known)
		v.networks(at.of("proxy_protocol").of("trusted"), l.ProxyProtocol.Trusted, known)
		for j := range l.Routes {
			r, at := &l.Routes[j], at.of("routes").nth(j)
			v.networks(at.of("allow"), r.Allow, known)
			v.networks(at.of("deny"), r.Deny, known)
			v.networks(at.of("sources"), r.Sources, known)
			v.networks(at.of("destinations"), r.Destinations, known)
			for k, name := range r.SNI {
				if strings.HasPrefix(name, setPrefix) {
					v.usesSet(at.of("sni").nth(k), SetOf(name), NameSet, known)
				}
			}
		}
	}
}

// setNames is the sets that settings may refer to.
type setNames struct {
	types map[string]SetType
	names *words
}

func newSetNames(all []Set) *setNames {
	k := &setNames{types: map[string]SetType{}}
	var names []string
	for i := range all {
		k.types[all[i].Name] = all[i].Type
		names = append(names, all[i].Name)
	}
	slices.Sort(names)
	k.names = newWords(names)
	return k
}

// networks checks the sets among networks.
func (v *validator) networks(at *step, all []Prefix, known *setNames) {
	for i, p := range all {
		if p.Set != "" {
			v.usesSet(at.nth(i), p.Set, NetworkSet, known)
		}
	}
}

// usesSet checks that a set exists and has what a setting needs.
func (v *validator) usesSet(at *step, name string, want SetType, known *setNames) {
	switch has, exists := known.types[name]; {
	case !exists && len(known.types) == 0:
		v.value(at, "%s does not exist: write it below sets, as in sets: [{name: %s, files: [{path: /etc/reactord/%s}]}]",
			quote(setPrefix+name), name, name)
	case !exists:
		v.value(at, "%s does not exist: %s", quote(setPrefix+name), known.names.didYouMean(name))
	case has != want && slices.Contains(SetTypes, has):
		v.value(at, "%s has %s, and this setting needs %s: write type: %s there, or another set", quote(setPrefix+name),
			strings.ReplaceAll(string(has), "_", " "), strings.ReplaceAll(string(want), "_", " "), want)
	}
}

// authority finds a file of authorities that no TLS uses.
func (v *validator) authority(at *step, url, file string) {
	if file != "" && strings.HasPrefix(strings.ToLower(url), "http:") {
		v.add(at.of("ca_file"), "ca_file has no effect with http: write an https URL, or remove it")
	}
}
