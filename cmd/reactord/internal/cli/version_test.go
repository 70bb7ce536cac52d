package cli

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func TestVersionNamesTheToolchain(t *testing.T) {
	toolchain := fmt.Sprintf("%s, %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if s := version(); !strings.HasSuffix(s, toolchain) {
		t.Errorf("got %q", s)
	}
}
