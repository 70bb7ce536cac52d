package laboratory

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(800) // as reactord simulate does
	os.Exit(m.Run())
}
