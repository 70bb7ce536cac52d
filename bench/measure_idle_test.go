package main

import (
	"testing"
	"time"
)

// The memory of idle pairs is measured, here of the io.Copy proxy.
func TestIdleMemory(t *testing.T) {
	c := &benchCase{Name: "idle", Method: pairMemory, Conns: 200, Size: 128, Proxy: true}
	found, err := measure(t.Context(), testWorkshop(t), c, copyPeer(goCopy, "tcp"), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if found.Result.Verified != 200*128 || found.RSSBefore == 0 || found.RSSWith <= found.RSSBefore {
		t.Errorf("%+v, %+v", found, found.Result)
	}
	if want := float64(found.RSSWith-found.RSSBefore) / 1024 / 200; found.Figure != want {
		t.Errorf("figure %v, want %v", found.Figure, want)
	}
}
