package xds

import (
	"fmt"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/ads"
	"google.golang.org/protobuf/proto"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/xdstest"
)

// BenchmarkEndpoints is what a push of one cluster's endpoints costs beside 200 clusters with 50 servers each,
// until the part of the plan is made and is compared with the one before.
func BenchmarkEndpoints(b *testing.B) {
	const many, servers = 200, 50
	file := &plan.File{Config: config.New()}
	file.Config.XDS.Servers = []string{"http://127.0.0.1:1"}
	var last *plan.Plan
	c := New(Config{decoder: envoyDecoder{}})
	update := func(k kind, name string, m proto.Message) {
		body, err := proto.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		c.resources.take(&ads.Update{Type: types[k], Set: []ads.Resource{{Name: name, Version: "1", Body: body}}}, time.Now())
	}
	of := func(i, n int) (all []string) {
		for j := range n {
			all = append(all, fmt.Sprintf("10.%d.%d.%d:80", i, j/250, j%250+1))
		}
		return all
	}
	for i := range many {
		name := fmt.Sprint("c", i)
		update(listeners, name, xdstest.Listener(name, fmt.Sprintf("127.0.0.1:%d", 10000+i), name))
		update(clusters, name, xdstest.Cluster(name))
		update(endpoints, name, xdstest.Endpoints(name, of(i, servers)...))
	}
	apply := func() {
		chosen, _ := c.resources.choose(time.Now())
		made, faults, err := c.resources.decoder.tryBuild(c.resources.set(&chosen))
		if err != nil || len(faults) > 0 {
			b.Fatal(err, faults)
		}
		c.resources.commit(&chosen)
		next, err := plan.Merge(plan.Parts{File: file, Control: made})
		if err != nil {
			b.Fatal(err)
		}
		_ = plan.Compare(last, next)
		last = next
	}
	apply()
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		update(endpoints, "c7", xdstest.Endpoints("c7", of(7, servers+n%2)...))
		apply()
	}
}
