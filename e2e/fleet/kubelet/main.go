// Kubelet is what a laboratory has instead of a cluster's nodes: it gives each Deployment one Pod, as processes in a
// network namespace, without containers and images.
//
// Its API server and etcd are real, and so are the control planes. It does what they need to see: Pods with addresses
// that are ready when their readiness probes succeed, Deployments that are available, EndpointSlices, and the addresses
// of Services of type LoadBalancer (the Pod's). A Pod sees its own network namespace, and below / only system
// libraries and its volumes: secrets, ConfigMaps and empty directories.
//
// What is run is chosen by the image: see programs. It needs root, iproute2 and bubblewrap.
package main

import (
	"context"
	"flag"
	"log"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// programs has the program of each image whose name contains the key.
type programs map[string]string

// Set adds one, as IMAGE=PROGRAM.
func (p programs) Set(text string) error {
	image, program, _ := strings.Cut(text, "=")
	p[image] = program
	return nil
}

func (p programs) String() string { return "" }

// of returns the program for an image, or "".
func (p programs) of(image string) string {
	for part, program := range p {
		if strings.Contains(image, part) {
			return program
		}
	}
	return ""
}

const period = 300 * time.Millisecond // between two looks at the cluster

func main() {
	n := &node{run: programs{}, pods: map[string]*pod{}}
	flag.StringVar(&n.api.server, "server", "https://127.0.0.1:6443", "`URL` of the API server")
	flag.StringVar(&n.api.token, "token", "", "bearer token")
	ca := flag.String("ca", "", "`FILE` with the certificate of the API server")
	flag.StringVar(&n.dir, "dir", "", "`DIRECTORY` for logs and volumes")
	flag.StringVar(&n.network, "network", "10.244.9", "first three bytes of the addresses of Pods; the node is .254")
	flag.StringVar(&n.hosts, "hosts", "", "`FILE` that Pods have as /etc/hosts")
	flag.Var(n.run, "run", "`IMAGE=PROGRAM`: what is run for images whose name contains IMAGE (repeated)")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := n.api.dial(*ca); err != nil {
		log.Fatal(err)
	}
	if err := n.register(ctx); err != nil {
		log.Fatal(err)
	}
	n.bridge()
	for ctx.Err() == nil {
		if err := n.step(ctx); err != nil && ctx.Err() == nil {
			log.Print(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(period):
		}
	}
	n.close()
}
