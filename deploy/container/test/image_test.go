package container

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// maxImage returns the limit of README.md for the layers of the image, in bytes, uncompressed.
func maxImage(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	limit := regexp.MustCompile(`less than (\d+) MB`).FindSubmatch(text)
	if limit == nil {
		t.Fatal("README.md does not say how large the image may be")
	}
	megabytes, err := strconv.ParseInt(string(limit[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return megabytes * 1_000_000
}

// An image is what the Dockerfile makes.
type image struct {
	root   string // where its files are
	Config struct {
		User        string
		Env         []string
		Entrypoint  []string
		Cmd         []string
		StopSignal  string
		Labels      map[string]string
		Healthcheck struct{ Test []string }
	} `json:"config"`
}

// need skips the test if a program is missing, and fails it in CI.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err == nil {
			continue
		}
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is missing", p)
		}
		t.Skipf("%s is missing: apt install buildah runc", p)
	}
	if os.Getuid() != 0 {
		t.Skip("containers without a daemon need root")
	}
}

// build builds the image by the Dockerfile. In place of the image golang, which is not there without a registry, this
// machine's own compiler builds, with its caches.
func build(t *testing.T) *image {
	t.Helper()
	need(t, "buildah", "runc", "go")
	b := newBuilder(t)
	var i image
	b.run("bud", "--isolation", "chroot", "--format", "docker", "--pull-never", "--from", b.compiler(),
		"--volume", "/usr:/usr:ro", "--build-arg", "TARGETARCH="+goenv(t, "GOARCH"),
		"--build-arg", "VERSION=v1.2.3", "--build-arg", "REVISION=abcdef",
		"-f", "../Dockerfile", "-t", "localhost/reactord", "../../..")
	var about struct{ Docker *image }
	about.Docker = &i
	if err := json.Unmarshal(b.run("inspect", "--type", "image", "localhost/reactord"), &about); err != nil {
		t.Fatal(err)
	}
	container := strings.TrimSpace(string(b.run("from", "--pull-never", "localhost/reactord")))
	i.root = strings.TrimSpace(string(b.run("mount", container)))
	t.Cleanup(func() { b.run("umount", container) })
	return &i
}

// A builder is buildah with a store of its own.
type builder struct {
	t   *testing.T
	dir string
}

// newBuilder makes one, whose cache mounts are the caches of this machine's compiler.
func newBuilder(t *testing.T) *builder {
	b := &builder{t, t.TempDir()}
	for mount, variable := range map[string]string{"/go/pkg/mod": "GOMODCACHE", "/root/.cache/go-build": "GOCACHE"} {
		at := filepath.Join(b.dir, "tmp/buildah-cache", mount)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(goenv(t, variable), at); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// run runs buildah, and returns what it prints.
func (b *builder) run(args ...string) []byte {
	b.t.Helper()
	at := []string{"--root", b.dir + "/store", "--runroot", b.dir + "/run", "--storage-driver", "vfs"}
	c := exec.CommandContext(context.Background(), "buildah", append(at, args...)...)
	var failed strings.Builder
	c.Stderr = &failed
	c.Env = append(os.Environ(), "TMPDIR="+b.dir+"/tmp")
	out, err := c.Output()
	if err != nil {
		b.t.Fatalf("buildah %s: %v\n%s%s", strings.Join(args, " "), err, out, failed.String())
	}
	return out
}

// compiler makes an image with the environment of golang, and the directories of Debian, into which /usr is mounted.
func (b *builder) compiler() string {
	b.t.Helper()
	root := filepath.Join(b.dir, "golang")
	for _, dir := range []string{"usr", "tmp", "etc/ssl/certs"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			b.t.Fatal(err)
		}
	}
	for _, dir := range []string{"bin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+dir, filepath.Join(root, dir)); err != nil {
			b.t.Fatal(err)
		}
	}
	const authorities = "etc/ssl/certs/ca-certificates.crt"
	text, err := os.ReadFile("/" + authorities)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, authorities), text, 0o644); err != nil {
		b.t.Fatal(err)
	}
	container := strings.TrimSpace(string(b.run("from", "scratch")))
	b.run("copy", container, root, "/")
	b.run("config", "--env", "PATH="+goenv(b.t, "GOROOT")+"/bin:/bin", "--env", "GOPATH=/go", container)
	const name = "localhost/golang"
	b.run("commit", "-q", container, name)
	return name
}

func goenv(t *testing.T, name string) string {
	t.Helper()
	value, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(value))
}

// size is how many bytes the files of the image have.
func (i *image) size(t *testing.T) (total int64) {
	t.Helper()
	err := filepath.WalkDir(i.root, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// TestImage builds the image, and runs it as Docker does: as its user, without capabilities, with a root that cannot
// be written to, and under the seccomp profiles that a container has.
func TestImage(t *testing.T) {
	i := build(t)
	size, limit := i.size(t), maxImage(t)
	t.Logf("the image has %d bytes", size)
	if size >= limit {
		t.Errorf("the image has %d bytes; %d are too many", size, limit)
	}
	c := i.Config
	if check := c.Healthcheck.Test; len(check) < 2 || check[0] != "CMD" {
		t.Fatalf("the image has the health check %q", check)
	}
	if c.User != "65532:65532" || c.StopSignal != "SIGTERM" {
		t.Errorf("the image has user %q and stop signal %q", c.User, c.StopSignal)
	}
	for label, want := range map[string]string{"title": "reactord", "version": "v1.2.3", "revision": "abcdef"} {
		if got := c.Labels["org.opencontainers.image."+label]; got != want {
			t.Errorf("label %s is %q, want %q", label, got, want)
		}
	}
	check := exec.Command(i.root+"/reactord", "check", "--config", "../compose/reactord/reactord.yaml")
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("the file of the compose example: %v\n%s", err, out)
	}
	t.Run("with the default profile", func(t *testing.T) {
		d := i.start(t, standardProfile(t))
		d.await("running on epoll")
		d.serves("epoll")
	})
	t.Run("with io_uring", func(t *testing.T) {
		d := i.start(t, fileProfile(t))
		d.serves("io_uring")
		if d.has("running on epoll") {
			t.Error("it runs on epoll")
		}
	})
}
