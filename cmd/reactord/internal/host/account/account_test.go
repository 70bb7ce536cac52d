package account

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	for _, c := range []struct {
		name, group string
		uid, gid    int
		wrong       string
	}{
		{"root", "", 0, 0, ""},
		{"0", "", 0, 0, ""},
		{"root", "7654321", 0, 7654321, ""},
		{"7654321", "root", 7654321, 0, ""},
		{"7654321", "", 0, 0, "write group, too"},
		{"no-such-user", "", 0, 0, `user "no-such-user"`},
		{"root", "no-such-group", 0, 0, `group "no-such-group"`},
	} {
		a, err := lookup(c.name, c.group)
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s:%s: %v, want %s", c.name, c.group, err, c.wrong)
			}
		case err != nil || a.uid != c.uid || a.gid != c.gid:
			t.Errorf("%s:%s: %+v, %v", c.name, c.group, a, err)
		}
	}
}

// A process that runs as the user stays as it is.
func TestAlreadyThatUser(t *testing.T) {
	own, group := strconv.Itoa(os.Getuid()), strconv.Itoa(os.Getgid())
	if err := Become(own, group); err != nil {
		t.Error(err)
	}
	if err := Check(own, group); err != nil {
		t.Error(err)
	}
	if Check("", "") != nil || Become("", "") != nil {
		t.Error("no user is any")
	}
	if Check(strconv.Itoa(os.Getuid()+1), group) == nil || Check(own, strconv.Itoa(os.Getgid()+1)) == nil {
		t.Error("it runs as another user, or group")
	}
}

// A file is opened with the user's permissions, and not with root's; the process stays root.
func TestUnreadable(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can tell")
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for i, mode := range []os.FileMode{0o600, 0o640, 0o644} {
		paths = append(paths, filepath.Join(dir, strconv.Itoa(i)))
		if err := os.WriteFile(paths[i], nil, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(paths[i], 0, 7654321); err != nil {
			t.Fatal(err)
		}
	}
	paths = append(paths, filepath.Join(dir, "none"))
	for group, want := range map[string]int{"7654321": 1, "7654322": 2} {
		found, err := Unreadable("7654320", group, paths)
		if err != nil || len(found) != want || found[paths[0]] == nil {
			t.Errorf("group %s: %v, %v", group, found, err)
		}
	}
	if found, err := Unreadable("root", "", paths); err != nil || len(found) != 0 {
		t.Errorf("root: %v, %v", found, err)
	}
	if _, err := os.ReadFile(paths[0]); err != nil {
		t.Error(err)
	}
}
