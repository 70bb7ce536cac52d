package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// pod is the Pod of a Deployment.
type pod struct {
	owner     meta // of the Deployment
	meta      meta
	spec      podSpec
	namespace string // of the network
	ip        string
	running   []*exec.Cmd
	ready     bool
	published bool   // as ready or not
	forwarded string // rules of nftables
}

// boot starts the programs of a Deployment.
func (n *node) boot(ctx context.Context, d *deployment) (*pod, error) {
	n.count++
	t := d.Spec.Template
	p := &pod{
		owner: d.Metadata, spec: t.Spec, meta: t.Metadata, namespace: fmt.Sprintf("%s-%d", bridge, n.count),
		ip: fmt.Sprintf("%s.%d", n.network, n.count%250+1),
	}
	p.meta.Namespace = d.Metadata.Namespace
	p.meta.Name = fmt.Sprintf("%.45s-5d8f7c9b6d-%05d", d.Metadata.Name, n.count)
	if err := n.network4(p); err != nil {
		return nil, err
	}
	dirs, err := n.volumes(ctx, p)
	if err != nil {
		return p, err
	}
	for i := range p.spec.Containers {
		if err := n.start(p, &p.spec.Containers[i], dirs); err != nil {
			return p, err
		}
	}
	return p, nil
}

// network4 makes the network namespace of a Pod, with an address in the bridge.
func (n *node) network4(p *pod) error {
	veth := fmt.Sprintf("v%d", n.count)
	etc := filepath.Join("/etc/netns", p.namespace)
	if err := os.MkdirAll(etc, 0o755); err != nil {
		return err
	}
	hosts, err := os.ReadFile(n.hosts)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(etc, "hosts"), hosts, 0o644); err != nil {
		return err
	}
	_ = ip("netns del " + p.namespace)
	for _, args := range []string{
		"netns add " + p.namespace,
		"link add " + veth + " type veth peer name eth0 netns " + p.namespace,
		"link set " + veth + " master " + bridge + " up",
		"-n " + p.namespace + " addr add " + p.ip + "/24 dev eth0",
		"-n " + p.namespace + " link set eth0 up",
		"-n " + p.namespace + " link set lo up",
		"-n " + p.namespace + " route add default via " + n.network + ".254",
	} {
		if err := ip(args); err != nil {
			return err
		}
	}
	return nil
}

// volumes writes what is mounted into a Pod, and returns the directories by name.
func (n *node) volumes(ctx context.Context, p *pod) (map[string]string, error) {
	dirs := map[string]string{}
	for _, v := range p.spec.Volumes {
		dir := filepath.Join(n.dir, "volumes", p.meta.Name, v.Name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		dirs[v.Name] = dir
		var err error
		switch base := "/api/v1/namespaces/" + p.meta.Namespace; {
		case v.Secret != nil:
			err = n.fill(ctx, dir, base+"/secrets/"+v.Secret.SecretName, v.Secret.Items, true)
		case v.ConfigMap != nil:
			err = n.fill(ctx, dir, base+"/configmaps/"+v.ConfigMap.Name, v.ConfigMap.Items, false)
		case v.Projected != nil:
			err = n.project(ctx, dir, base+"/serviceaccounts/"+p.spec.ServiceAccountName, v.Projected.Sources)
		}
		if err != nil {
			return nil, err
		}
	}
	return dirs, nil
}

// fill writes the items of a secret or a ConfigMap. It waits a while until there is one.
func (n *node) fill(ctx context.Context, dir, path string, items []item, secret bool) error {
	var from struct{ Data map[string]string }
	err := n.api.get(ctx, path, &from)
	for i := 0; err != nil && i < 20; i++ {
		time.Sleep(200 * time.Millisecond)
		err = n.api.get(ctx, path, &from)
	}
	if err != nil {
		return err
	}
	if items == nil {
		for key := range from.Data {
			items = append(items, item{key, key})
		}
	}
	for _, it := range items {
		text := []byte(from.Data[it.Key])
		if secret {
			if text, err = base64.StdEncoding.DecodeString(from.Data[it.Key]); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, it.Path), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// project writes tokens of a service account. They are not renewed.
func (n *node) project(ctx context.Context, dir, account string, sources []projection) error {
	for _, s := range sources {
		token := s.ServiceAccountToken
		if token == nil {
			continue
		}
		var answer struct{ Status struct{ Token string } }
		request := object{"spec": object{"audiences": []string{token.Audience}, "expirationSeconds": 24 * 3600}}
		if err := n.api.do(ctx, http.MethodPost, account+"/token", "application/json", request, &answer); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, token.Path), []byte(answer.Status.Token), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// start starts a container: a program that sees its volumes.
func (n *node) start(p *pod, c *container, dirs map[string]string) error {
	program := n.run.of(c.Image)
	if program == "" {
		return nil
	}
	env, expand := environment(p, c)
	args := []string{
		"netns", "exec", p.namespace, "bwrap", "--die-with-parent", "--ro-bind", "/usr", "/usr",
		"--tmpfs", "/etc", "--ro-bind", "/etc/hosts", "/etc/hosts", "--ro-bind-try", "/etc/ssl", "/etc/ssl",
		"--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin",
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--ro-bind", filepath.Dir(program), "/programs",
	}
	for _, m := range c.VolumeMounts {
		if dir := dirs[m.Name]; dir != "" {
			args = append(args, "--bind", filepath.Join(dir, m.SubPath), m.MountPath)
		}
	}
	args = append(args, "--", "/programs/"+filepath.Base(program))
	for _, a := range c.Args {
		args = append(args, expand(a))
	}
	file, err := os.Create(filepath.Join(n.dir, "pod-"+p.meta.Name+"-"+c.Name+".log"))
	if err != nil {
		return err
	}
	defer file.Close()
	cmd := exec.Command("ip", args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.running = append(p.running, cmd)
	return nil
}

// environment returns the environment of a container, and a function that expands $(NAME) in its arguments.
func environment(p *pod, c *container) ([]string, func(string) string) {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/tmp"}
	var pairs []string
	for _, v := range c.Env {
		value := v.Value
		switch v.ValueFrom.FieldRef.FieldPath {
		case "metadata.name":
			value = p.meta.Name
		case "metadata.namespace":
			value = p.meta.Namespace
		case "status.podIP":
			value = p.ip
		}
		env = append(env, v.Name+"="+value)
		pairs = append(pairs, "$("+v.Name+")", value)
	}
	return env, strings.NewReplacer(pairs...).Replace
}

// probe reports whether the readiness probes of a Pod succeed. One by a name that is not an HTTP GET does.
func (p *pod) probe(ctx context.Context) bool {
	for i := range p.spec.Containers {
		c := &p.spec.Containers[i]
		if c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet == nil || i >= len(p.running) {
			continue
		}
		get := c.ReadinessProbe.HTTPGet
		port := fmt.Sprint(get.Port)
		for _, named := range c.Ports {
			if named.Name == port {
				port = fmt.Sprint(named.ContainerPort)
			}
		}
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.ip+":"+port+get.Path, nil)
		if err == nil {
			var answer *http.Response
			if answer, err = http.DefaultClient.Do(r); err == nil {
				_ = answer.Body.Close()
			}
			if err == nil && answer.StatusCode != http.StatusOK {
				err = fmt.Errorf("%s", answer.Status)
			}
		}
		cancel()
		if err != nil {
			return false
		}
	}
	return true
}

// end ends the programs of a Pod, as a node does: SIGTERM, and SIGKILL after a while.
func (p *pod) end() {
	for _, c := range p.running {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM)
	}
	for _, c := range p.running {
		late := time.AfterFunc(2*time.Second, func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
		_ = c.Wait()
		late.Stop()
	}
	_ = ip("netns del " + p.namespace)
	_ = os.RemoveAll(filepath.Join("/etc/netns", p.namespace))
}
