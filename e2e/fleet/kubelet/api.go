package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
)

// api is the API server.
type api struct {
	server, token string
	client        *http.Client
}

func (a *api) dial(ca string) error {
	text, err := os.ReadFile(ca)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	a.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	return nil
}

// The media types of changes: a merge patch, and server-side apply.
const (
	merge = "application/merge-patch+json"
	apply = "application/apply-patch+yaml"
)

// do makes a request, and decodes its answer into out, if that is not nil. A body that is not nil is sent as JSON.
func (a *api) do(ctx context.Context, method, path, media string, body, out any) error {
	var send io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, a.server+path, send)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	r.Header.Set("Content-Type", media)
	answer, err := a.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, answer.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

func (a *api) get(ctx context.Context, path string, out any) error {
	return a.do(ctx, http.MethodGet, path, "", nil, out)
}

// patch changes an object, or, with apply, makes it.
func (a *api) patch(ctx context.Context, path, media string, body any) error {
	if media == apply {
		path += "?fieldManager=kubelet&force=true"
	}
	return a.do(ctx, http.MethodPatch, path, media, body, nil)
}

// object is any part of what the API server says.
type object = map[string]any

// meta has the metadata of an object.
type meta struct {
	Name, Namespace, UID string
	Generation           int
	Labels               map[string]string
}

type list[T any] struct{ Items []T }

type deployment struct {
	Metadata meta
	Spec     struct {
		Template struct {
			Metadata meta
			Spec     podSpec
		}
	}
	Status struct{ ObservedGeneration, AvailableReplicas int }
}

type service struct {
	Metadata meta
	Spec     struct {
		Type     string
		Selector map[string]string
		Ports    []struct {
			Name, Protocol, AppProtocol string
			Port                        int
			TargetPort                  any
		}
	}
	Status struct {
		LoadBalancer struct{ Ingress []struct{ IP string } }
	}
}

type podSpec struct {
	ServiceAccountName string
	Containers         []container
	Volumes            []struct {
		Name   string
		Secret *struct {
			SecretName string
			Items      []item
		}
		Projected *struct{ Sources []projection }
		ConfigMap *struct {
			Name  string
			Items []item
		}
	}
}

type item struct{ Key, Path string }

// projection is a part of a volume: a token of the Pod's service account.
type projection struct {
	ServiceAccountToken *struct {
		Audience, Path    string
		ExpirationSeconds int
	}
}

type container struct {
	Name, Image   string
	Command, Args []string
	Env           []struct {
		Name, Value string
		ValueFrom   struct{ FieldRef struct{ FieldPath string } }
	}
	VolumeMounts   []struct{ Name, MountPath, SubPath string }
	ReadinessProbe *struct {
		HTTPGet *struct {
			Path string
			Port any
		}
	}
	Ports []struct {
		Name          string
		ContainerPort int
	}
}
