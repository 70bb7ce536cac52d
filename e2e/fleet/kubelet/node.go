package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

// node runs the Pods of the cluster.
type node struct {
	api     api
	run     programs
	dir     string
	network string
	hosts   string
	count   int             // of Pods that there were
	pods    map[string]*pod // by the UID of their Deployment
}

// bridge is the name of the bridge that connects the Pods with the node, and the prefix of their namespaces.
const bridge = "fleet0"

func (n *node) bridge() {
	_ = ip("link add " + bridge + " type bridge")
	_ = ip("addr add " + n.network + ".254/24 dev " + bridge)
	_ = ip("link set " + bridge + " up")
}

// register makes the object of the node.
func (n *node) register(ctx context.Context) error {
	return n.api.patch(ctx, "/api/v1/nodes/"+nodeName, apply, object{
		"apiVersion": "v1", "kind": "Node", "metadata": object{"name": nodeName},
	})
}

const nodeName = "n1"

func ip(args string) error {
	out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", args, err, out)
	}
	return nil
}

// step makes the cluster as it should be, once.
func (n *node) step(ctx context.Context) error {
	var all list[deployment]
	if err := n.api.get(ctx, "/apis/apps/v1/deployments", &all); err != nil {
		return err
	}
	var errs []error
	seen := map[string]bool{}
	for i := range all.Items {
		d := &all.Items[i]
		seen[d.Metadata.UID] = true
		errs = append(errs, n.deploy(ctx, d))
	}
	for uid, p := range n.pods {
		if !seen[uid] {
			delete(n.pods, uid)
			p.end()
			errs = append(errs, n.api.do(ctx, http.MethodDelete, p.path()+"?gracePeriodSeconds=0", "", nil, nil))
		}
	}
	return errors.Join(append(errs, n.serve(ctx))...)
}

func (p *pod) path() string { return "/api/v1/namespaces/" + p.meta.Namespace + "/pods/" + p.meta.Name }

// deploy gives a Deployment its Pod, and says how it is.
func (n *node) deploy(ctx context.Context, d *deployment) error {
	p := n.pods[d.Metadata.UID]
	if p == nil {
		var err error
		if p, err = n.boot(ctx, d); err != nil {
			if p != nil {
				p.end()
			}
			return err
		}
		n.pods[d.Metadata.UID] = p
	}
	ready := p.probe(ctx)
	if !p.published || ready != p.ready {
		if err := n.publish(ctx, p, ready); err != nil {
			return err
		}
		p.published, p.ready = true, ready
	}
	available := 0
	if ready {
		available = 1
	}
	if d.Status.AvailableReplicas == available && d.Status.ObservedGeneration == d.Metadata.Generation {
		return nil
	}
	condition := object{"type": "Available", "status": truth(ready), "reason": "Probed", "message": "as its Pod"}
	return n.api.patch(ctx, "/apis/apps/v1/namespaces/"+d.Metadata.Namespace+"/deployments/"+d.Metadata.Name+"/status",
		merge, object{"status": object{
			"observedGeneration": d.Metadata.Generation, "replicas": 1, "updatedReplicas": 1, "readyReplicas": available,
			"availableReplicas": available, "conditions": []object{condition},
		}})
}

func truth(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// publish writes the Pod object.
func (n *node) publish(ctx context.Context, p *pod, ready bool) error {
	now := time.Now().UTC().Format(time.RFC3339)
	var containers, statuses, conditions []object
	for _, c := range p.spec.Containers {
		containers = append(containers, object{"name": c.Name, "image": c.Image})
		statuses = append(statuses, object{
			"name": c.Name, "ready": ready, "image": c.Image, "imageID": "", "restartCount": 0,
			"state": object{"running": object{"startedAt": now}},
		})
	}
	for _, kind := range []string{"Ready", "ContainersReady", "PodScheduled", "Initialized"} {
		status := truth(ready || kind == "PodScheduled" || kind == "Initialized")
		conditions = append(conditions, object{"type": kind, "status": status, "lastTransitionTime": now})
	}
	identity := object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"namespace": p.meta.Namespace, "name": p.meta.Name, "labels": p.meta.Labels},
	}
	identity["spec"] = object{"nodeName": nodeName, "containers": containers}
	if err := n.api.patch(ctx, p.path(), apply, identity); err != nil {
		return err
	}
	delete(identity, "spec")
	identity["status"] = object{
		"phase": "Running", "podIP": p.ip, "podIPs": []object{{"ip": p.ip}}, "conditions": conditions,
		"containerStatuses": statuses,
	}
	return n.api.patch(ctx, p.path()+"/status", apply, identity)
}

// serve gives Services the addresses and endpoints of their Pods.
func (n *node) serve(ctx context.Context) error {
	var all list[service]
	if err := n.api.get(ctx, "/api/v1/services", &all); err != nil {
		return err
	}
	var errs []error
	for i := range all.Items {
		s := &all.Items[i]
		var pods []*pod
		for _, p := range n.pods {
			if len(s.Spec.Selector) != 0 && p.meta.Namespace == s.Metadata.Namespace && p.has(s.Spec.Selector) {
				pods = append(pods, p)
			}
		}
		if len(pods) != 0 {
			errs = append(errs, n.balance(ctx, s, pods[0]), n.endpoints(ctx, s, pods))
		}
	}
	return errors.Join(errs...)
}

// has reports whether the Pod's labels are those of a selector.
func (p *pod) has(selector map[string]string) bool {
	for key, value := range selector {
		if p.meta.Labels[key] != value {
			return false
		}
	}
	return true
}

// balance gives a Service of type LoadBalancer the address of its Pod, and the Pod the ports of the Service.
func (n *node) balance(ctx context.Context, s *service, p *pod) error {
	if s.Spec.Type != "LoadBalancer" {
		return nil
	}
	if err := p.forward(s); err != nil {
		return err
	}
	if has := s.Status.LoadBalancer.Ingress; len(has) != 0 && has[0].IP == p.ip {
		return nil
	}
	return n.api.patch(ctx, "/api/v1/namespaces/"+s.Metadata.Namespace+"/services/"+s.Metadata.Name+"/status", merge,
		object{"status": object{"loadBalancer": object{"ingress": []object{{"ip": p.ip}}}}})
}

// forward redirects the ports of a Service to those of its Pod that have other numbers, in the kernel.
func (p *pod) forward(s *service) error {
	var rules strings.Builder
	rules.WriteString("table ip service\ndelete table ip service\ntable ip service {\n" +
		"chain in { type nat hook prerouting priority dstnat;\n")
	for _, port := range s.Spec.Ports {
		if to, ok := port.TargetPort.(float64); ok && int(to) != port.Port {
			fmt.Fprintf(&rules, "%s dport %d redirect to :%d\n", strings.ToLower(port.Protocol), port.Port, int(to))
		}
	}
	rules.WriteString("}\n}\n")
	if rules.String() == p.forwarded {
		return nil
	}
	cmd := exec.Command("ip", "netns", "exec", p.namespace, "nft", "-f", "-")
	cmd.Stdin = strings.NewReader(rules.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out)
	}
	p.forwarded = rules.String()
	return nil
}

// endpoints writes the EndpointSlice of a Service.
func (n *node) endpoints(ctx context.Context, s *service, pods []*pod) error {
	var ports, endpoints []object
	for _, p := range s.Spec.Ports {
		port := object{"name": p.Name, "port": p.Port, "protocol": "TCP"}
		if number, ok := p.TargetPort.(float64); ok {
			port["port"] = number
		}
		if p.Protocol != "" {
			port["protocol"] = p.Protocol
		}
		if p.AppProtocol != "" {
			port["appProtocol"] = p.AppProtocol
		}
		ports = append(ports, port)
	}
	for _, p := range pods {
		endpoints = append(endpoints, object{
			"addresses": []string{p.ip}, "conditions": object{"ready": p.ready, "serving": p.ready, "terminating": false},
			"targetRef": object{"kind": "Pod", "namespace": p.meta.Namespace, "name": p.meta.Name},
		})
	}
	name := s.Metadata.Name + "-fleet"
	return n.api.patch(ctx, "/apis/discovery.k8s.io/v1/namespaces/"+s.Metadata.Namespace+"/endpointslices/"+name, apply,
		object{
			"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
			"metadata": object{
				"namespace": s.Metadata.Namespace, "name": name, "labels": object{"kubernetes.io/service-name": s.Metadata.Name},
				"ownerReferences": []object{
					{"apiVersion": "v1", "kind": "Service", "name": s.Metadata.Name, "uid": s.Metadata.UID},
				},
			},
			"addressType": "IPv4", "ports": ports, "endpoints": endpoints,
		})
}

// close ends all Pods.
func (n *node) close() {
	for _, p := range n.pods {
		p.end()
	}
	_ = ip("link del " + bridge)
}
