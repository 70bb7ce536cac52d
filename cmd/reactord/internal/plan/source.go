package plan

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Source identifies what finds servers for a backend.
type Source struct {
	Backend string
	Kind    Kind
	Name    string // what is asked: see [DNSSource], [FileSource], [HTTPSource] and [KubernetesSource]
}

// Kind is how a [Source] finds servers.
type Kind string

// The kinds, in the order in which sources are merged.
const (
	DNS   Kind = "dns"
	Files Kind = "file"
	HTTP  Kind = "http"

	Kubernetes Kind = "kubernetes"
)

// DNSSource is the source of a name.
func DNSSource(b *config.Backend, d *config.DNS) Source {
	name := d.Name
	if d.Port != 0 {
		name += ":" + strconv.Itoa(d.Port)
	}
	if d.Type != "ip" {
		name += " " + d.Type
	}
	return Source{b.Name, DNS, name}
}

// FileSource is the source of a path.
func FileSource(b *config.Backend, f *config.FileDiscovery) Source {
	return Source{b.Name, Files, f.Path}
}

// HTTPSource is the source of a URL.
func HTTPSource(b *config.Backend, h *config.HTTPDiscovery) Source {
	return Source{b.Name, HTTP, h.URL}
}

// KubernetesSource is the source of a Service.
func KubernetesSource(b *config.Backend, k *config.KubernetesDiscovery) Source {
	name := k.Service
	if k.Namespace != "" {
		name = k.Namespace + "/" + name
	}
	if k.Port != "" {
		name += ":" + string(k.Port)
	}
	if k.AddressType != "ip" {
		name += " " + k.AddressType
	}
	return Source{b.Name, Kubernetes, name}
}

// Sources is the sources of a backend in the order in which they are merged.
func Sources(b *config.Backend) []Source {
	all := make([]Source, 0, len(b.DNS)+len(b.Files)+len(b.HTTP)+len(b.Kubernetes))
	for i := range b.DNS {
		all = append(all, DNSSource(b, &b.DNS[i]))
	}
	for i := range b.Files {
		all = append(all, FileSource(b, &b.Files[i]))
	}
	for i := range b.HTTP {
		all = append(all, HTTPSource(b, &b.HTTP[i]))
	}
	for i := range b.Kubernetes {
		all = append(all, KubernetesSource(b, &b.Kubernetes[i]))
	}
	return all
}

// String is the source for people, without the password of a URL.
func (s Source) String() string { return fmt.Sprintf("backend %s: %s", s.Backend, s.Title()) }

// Title is the same without the backend.
func (s Source) Title() string {
	name := s.Name
	if s.Kind == HTTP {
		if u, err := url.Parse(name); err == nil {
			name = u.Redacted()
		}
	}
	return string(s.Kind) + " " + name
}

func CompareSources(a, b Source) int {
	return cmp.Or(cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}
