//go:build linux

package reactor_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

func TestPaths(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		base := t.TempDir()
		root := r.open(base, os.O_RDONLY)
		dir, op := root.Dir(), new(reactor.PathOp)
		must[struct{}](r, dir.Mkdir("sub", 0o750), op)
		sub := r.must(dir.OpenFile(new(reactor.File), "sub", os.O_RDONLY, 0))
		f := r.must(sub.Dir().OpenFile(new(reactor.File), "one", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600))
		must[int](r, f.WriteAll([]byte("1")), new(reactor.WriteOp))
		must[struct{}](r, dir.Link("sub/one", sub.Dir(), "two"), op)
		must[struct{}](r, dir.Symlink("sub/one", "three"), op)
		must[struct{}](r, sub.Dir().Rename("one", dir, "four"), op)
		must[struct{}](r, r.Cwd().Rename(base+"/four", sub.Dir(), "five"), op)
		must[struct{}](r, dir.Unlink("three"), op)
		if got := tree(t, base); !slices.Equal(got, []string{"sub", "sub/five", "sub/two"}) {
			t.Errorf("the names are %q", got)
		}

		st := must[reactor.FileStat](r, sub.Dir().Stat("two"), new(reactor.StatOp))
		want, err := os.Stat(base + "/sub/two")
		if err != nil || st.Mode != want.Mode() || st.Size != 1 || st.Links != 2 ||
			!st.Modified.Equal(want.ModTime()) || f.Fd() < 0 {
			t.Errorf("%+v, want %v, %v", st, want, err)
		}
		must[struct{}](r, dir.Symlink("nowhere", "lost"), op)
		if st := must[reactor.FileStat](r, dir.Lstat("lost"), new(reactor.StatOp)); st.Mode.Type() != fs.ModeSymlink {
			t.Errorf("the link is %v", st.Mode)
		}
		for how, want := range map[string]struct {
			sender sender.Sender[struct{}, reactor.PathOp]
			error
		}{
			"rename": {dir.Rename("lost", sub.Dir(), "none/x"), fs.ErrNotExist},
			"link":   {dir.Link("none", dir, "x"), fs.ErrNotExist},
			"rmdir":  {dir.RemoveDir("none"), fs.ErrNotExist},
			"unlink": {dir.Unlink("none"), fs.ErrNotExist},
			"mkdir":  {dir.Mkdir("sub", 0o700), fs.ErrExist},
		} {
			o := finish[struct{}](r, want.sender, op)
			var link *os.LinkError
			var path *fs.PathError
			if !errors.Is(o.err, want.error) ||
				!(errors.As(o.err, &link) && link.Op == how || errors.As(o.err, &path) && path.Op == how) {
				t.Errorf("%s completed with %v", how, o)
			}
		}
		if o := finish[reactor.FileStat](r, dir.Stat("lost"), new(reactor.StatOp)); !errors.Is(o.err, fs.ErrNotExist) {
			t.Errorf("stat of a link to nowhere completed with %v", o)
		}
		if o := finish[struct{}](r, dir.Unlink("x\x00"), op); !errors.Is(o.err, syscall.EINVAL) {
			t.Errorf("a path with a zero completed with %v", o)
		}
		for _, name := range []string{"sub/five", "sub/two", "lost"} {
			must[struct{}](r, dir.Unlink(name), op)
		}
		must[struct{}](r, dir.RemoveDir("sub"), op)
		r.closeFiles(f, sub, root)
		if o := finish[struct{}](r, dir.Unlink("x"), op); !errors.Is(o.err, fs.ErrClosed) {
			t.Errorf("a path in a closed directory completed with %v", o)
		}
	})
}

// must opens a file.
func (r *running) must(s sender.Sender[*reactor.File, reactor.OpenOp]) *reactor.File {
	r.t.Helper()
	return must[*reactor.File](r, s, new(reactor.OpenOp))
}

// tree is the names below a directory.
func tree(t *testing.T, base string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(base, func(path string, _ fs.DirEntry, err error) error {
		if path != base {
			names = append(names, path[len(base)+1:])
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return names
}

func TestReadDir(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		base := t.TempDir()
		want := map[string]fs.FileMode{"link": fs.ModeSymlink, "sub": fs.ModeDir}
		if err := errors.Join(os.Symlink("x", base+"/link"), os.Mkdir(base+"/sub", 0o700)); err != nil {
			t.Fatal(err)
		}
		for i := range 300 {
			name := fmt.Sprintf("file with a long name %03d", i)
			want[name] = 0
			if err := os.WriteFile(filepath.Join(base, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f := r.open(base, os.O_RDONLY)
		buf, op, parts := make([]byte, 4096), new(reactor.ReadDirOp), 0
		for {
			entries := must[reactor.Dirents](r, f.ReadDir(buf), op)
			if entries.Len() == 0 {
				break
			}
			parts++
			for e := range entries.All() {
				if mode, ok := want[string(e.Name)]; !ok || mode != e.Type && e.Type != fs.ModeIrregular || e.Inode == 0 {
					t.Errorf("there is no %q, a %v of inode %d", e.Name, e.Type, e.Inode)
				}
				delete(want, string(e.Name))
			}
		}
		if len(want) != 0 || parts < 2 {
			t.Errorf("not found in %d parts: %v", parts, want)
		}
		r.closeFiles(f)
		f = r.open(base, os.O_RDONLY)
		if o := finish[reactor.Dirents](r, f.ReadDir(buf[:8]), op); !errors.Is(o.err, syscall.EINVAL) {
			t.Errorf("with no room: %v", o)
		}
		r.closeFiles(f)
	})
}
